"""Logs in JetStream: those of a shard, of its kept pages, and of its snapshots are streams.

Law: a message names the last one that its sender knew, and the server refuses it after any other.
So each message is an entry.

One stream for all logs was rejected. With a stream for each log, sequence numbers are entry
numbers, removing the first entries drops whole files, and different servers lead different logs.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from minicrawl.cluster.engine import (
    MOST_ENTRY_BYTES,
    EngineError,
    EngineUnavailable,
    Fenced,
    LogEntry,
    LogSpan,
)
from minicrawl.cluster.nats.jetstream import WRONG_SEQUENCE, JetStreamRefusal
from minicrawl.cluster.nats.streams import NatsPart, Streams

AT_ONCE = 16
"""Number of entries that are requested at the same time."""
_ELECTION_S = 1.0
"""Rough time that servers take to follow a new leader."""

_EXPECTED = "Nats-Expected-Last-Sequence"


class NatsLogs(NatsPart):
    """`ShardLogs` of one kind: a stream for each shard."""

    def __init__(self, streams: Streams, kind: str = "log") -> None:
        """`kind` is part of the names of streams."""
        super().__init__(streams)
        self._kind = kind

    async def log_span(self, shard: int) -> LogSpan:
        answer = await self._jetstream.api(f"STREAM.INFO.{await self._stream(shard)}")
        state = answer["state"]
        last = int(state["last_seq"])
        return LogSpan(int(state["first_seq"]) if state["messages"] else last + 1, last)

    async def append(self, shard: int, after: int, content: bytes) -> int:
        if len(content) > MOST_ENTRY_BYTES:
            raise ValueError(f"{len(content):,} bytes are more than an entry may have")
        await self._stream(shard)
        subject = self._streams.log_subject(shard, self._kind)
        try:
            return await self._jetstream.store(subject, content, {_EXPECTED: str(after)})
        except JetStreamRefusal as refusal:
            if refusal.error_code not in WRONG_SEQUENCE:
                raise EngineError(
                    f"{refusal}: the log of shard {shard} cannot be written"
                ) from None
        first, last = await self.log_span(shard)
        if last < after:
            await self.change_leader(shard)
            raise EngineUnavailable(f"the server that leads the log of shard {shard} lost entries")
        if last == after:
            raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        if after < first - 1 or await self._content(shard, after + 1) != content:
            raise Fenced(f"shard {shard} was taken over by another node")
        return after + 1  # our own entry, whose answer was lost

    async def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        first, last = await self.log_span(shard)
        for begin in range(max(after + 1, first), last + 1, AT_ONCE):
            numbers = range(begin, min(begin + AT_ONCE, last + 1))
            contents = await asyncio.gather(*(self._content(shard, number) for number in numbers))
            for number, content in zip(numbers, contents, strict=True):
                if content is None:
                    raise EngineUnavailable(
                        f"entry {number} of shard {shard} was removed meanwhile"
                    )
                yield LogEntry(number, content)

    async def remove_entries(self, shard: int, up_to: int) -> None:
        name = await self._stream(shard)
        await self._jetstream.api(f"STREAM.PURGE.{name}", {"seq": up_to + 1})

    async def change_leader(self, shard: int) -> None:
        """Make another server lead the log, if there is one, and give it time to take over."""
        with suppress(JetStreamRefusal):  # no other server can lead now
            await self._streams.step_down(await self._stream(shard))
        await asyncio.sleep(_ELECTION_S)

    async def _content(self, shard: int, number: int) -> bytes | None:
        """Return an entry from the leader, or None if it was removed."""
        message = await self._jetstream.message(await self._stream(shard), {"seq": number})
        if message is None and number >= (await self.log_span(shard)).first:
            raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        return message and message.content

    async def _stream(self, shard: int) -> str:
        return await self._streams.log(shard, self._kind)

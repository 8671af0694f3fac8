"""Logs in JetStream: that of each shard, and that of its kept pages, is a stream.

Laws: a message names the last message that its sender knew, and is an entry only if no other entry
lies between the two. The last removed message was an entry. The log of a shard has one writer, and
the server refuses a message whose sender did not know the last one. In a log with many writers the
server accepts everything, and readers find out which messages are entries.

One stream for all logs was rejected. With a stream for each log, sequence numbers are entry
numbers, removing the first entries drops whole files, and different servers lead different logs.
"""

import asyncio
import re
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
from minicrawl.cluster.nats.streams import NatsPart

AT_ONCE = 16
"""Number of entries that are requested at the same time."""
_ELECTION_S = 1.0
"""Rough time that servers take to follow a new leader."""

_AFTER, _EXPECTED = "Minicrawl-After", "Nats-Expected-Last-Sequence"
_IN_HEADERS = re.compile(rb"\r\n%s: ([0-9]{1,19})\r\n" % _AFTER.encode())


class NatsLogs(NatsPart):
    """`ShardLogs` of one kind: a stream for each shard."""

    _kind = "log"  # part of the names of streams

    async def log_span(self, shard: int) -> LogSpan:
        answer = await self._jetstream.api(f"STREAM.INFO.{await self._stream(shard)}")
        state = answer["state"]
        last = int(state["last_seq"])
        return LogSpan(int(state["first_seq"]) if state["messages"] else last + 1, last)

    async def append(
        self, shard: int, after: int, content: bytes, *, is_shared: bool = False
    ) -> int:
        if len(content) > MOST_ENTRY_BYTES:
            raise ValueError(f"{len(content):,} bytes are more than an entry may have")
        headers = {_AFTER: str(after)} | ({} if is_shared else {_EXPECTED: str(after)})
        await self._stream(shard)
        subject = self._streams.log_subject(shard, self._kind)
        number = None
        try:
            number = await self._jetstream.store(subject, content, headers)
        except JetStreamRefusal as refusal:
            if refusal.error_code not in WRONG_SEQUENCE:
                raise EngineError(
                    f"{refusal}: the log of shard {shard} cannot be written"
                ) from None
        if number is not None and (not is_shared or number == after + 1):
            return number
        # Other messages lie between, or ours was refused (None) because there is a later one.
        first, last = await self.log_span(shard)
        end = last + 1 if number is None else number
        if end <= after:
            await self.change_leader(shard)
            raise EngineUnavailable(f"the server that leads the log of shard {shard} lost entries")
        if after < first - 1:
            raise Fenced(f"shard {shard} was taken over by another node")
        async for entry in self._entries_of(shard, after, range(after + 1, end)):
            if entry.content == content:
                return entry.number  # our own entry, whose answer was lost
            raise Fenced(f"shard {shard} was taken over by another node")
        if number is None:
            raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        return number

    async def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        first, last = await self.log_span(shard)
        after = max(after, first - 1)
        async for entry in self._entries_of(shard, after, range(after + 1, last + 1)):
            yield entry

    async def _entries_of(
        self, shard: int, after: int, numbers: range
    ) -> AsyncGenerator[LogEntry, None]:
        """Yield those of these messages that are entries; `after` is the entry before them."""
        for begin in range(0, len(numbers), AT_ONCE):
            part = numbers[begin : begin + AT_ONCE]
            messages = await asyncio.gather(*(self._message(shard, number) for number in part))
            for number, message in zip(part, messages, strict=True):
                if message is None:
                    raise EngineUnavailable(
                        f"entry {number} of shard {shard} was removed meanwhile"
                    )
                content, after_message = message
                if after <= after_message < number:
                    after = number
                    yield LogEntry(number, content)

    async def remove_entries(self, shard: int, up_to: int) -> None:
        name = await self._stream(shard)
        await self._jetstream.api(f"STREAM.PURGE.{name}", {"seq": up_to + 1})

    async def change_leader(self, shard: int) -> None:
        """Make another server lead the log, if there is one, and give it time to take over."""
        with suppress(JetStreamRefusal):  # no other server can lead now
            await self._streams.step_down(await self._stream(shard))
        await asyncio.sleep(_ELECTION_S)

    async def _message(self, shard: int, number: int) -> tuple[bytes, int] | None:
        """Return a message from the leader, or None if it was removed.

        The second value is the number of the last message that its sender knew.
        """
        message = await self._jetstream.message(await self._stream(shard), {"seq": number})
        if message is None:
            if number < (await self.log_span(shard)).first:
                return None
            raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        after = _IN_HEADERS.search(message.headers)
        return message.content, int(after[1]) if after else number - 1

    async def _stream(self, shard: int) -> str:
        return await self._streams.log(shard, self._kind)


class NatsPages(NatsLogs):
    _kind = "pages"

"""The logs of shards, and those of their kept pages: a stream for each.

A stream for each and not one for all: its numbers are those of its shard, removing its first
entries drops whole files, and the servers share the work of leading them.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator

from minicrawl.cluster.engine import (
    MOST_ENTRY_BYTES,
    EngineError,
    EngineUnavailable,
    Fenced,
    LogEntry,
    LogSpan,
)
from minicrawl.cluster.nats.asking import NOT_FOUND, WRONG_SEQUENCE, JetStreamRefusal
from minicrawl.cluster.nats.parts import NatsPart
from minicrawl.cluster.nats.streams import LogKind

_AT_ONCE = 16
"""Entries that are asked for at the same time."""


class NatsLogs(NatsPart):
    """The logs of one kind."""

    _kind = LogKind.STORE

    async def log_span(self, shard: int) -> LogSpan:
        """What the log has now."""
        answer = await self._asking.api(f"STREAM.INFO.{await self._stream(shard)}")
        state = answer["state"]
        last = int(state["last_seq"])
        return LogSpan(int(state["first_seq"]) if state["messages"] else last + 1, last)

    async def append(self, shard: int, after: int, content: bytes) -> int:
        """Append behind entry `after`, which must be the last one; the number of the new entry."""
        if len(content) > MOST_ENTRY_BYTES:
            raise ValueError(f"{len(content):,} bytes are more than an entry may have")
        await self._stream(shard)
        subject = self._streams.log_subject(shard, self._kind)
        try:
            return await self._asking.store(subject, content, Nats_Expected_Last_Sequence=after)
        except JetStreamRefusal as refusal:
            if refusal.error_code != WRONG_SEQUENCE:
                raise EngineError(
                    f"{refusal}: the log of shard {shard} cannot be written"
                ) from None
        found = await self._entry(shard, after + 1)
        if found == content:
            return after + 1  # an answer was lost
        if found is None:
            first, last = await self.log_span(shard)
            if first <= after + 1 and last >= after:
                raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        raise Fenced(f"shard {shard} was taken over by another node")

    async def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        """The entries behind `after`, or behind what was removed, up to the last one as of now."""
        first, last = await self.log_span(shard)
        for begin in range(max(first, after + 1), last + 1, _AT_ONCE):
            numbers = range(begin, min(begin + _AT_ONCE, last + 1))
            found = await asyncio.gather(*(self._present(shard, number) for number in numbers))
            for number, content in zip(numbers, found, strict=True):
                yield LogEntry(number, content)

    async def remove_entries(self, shard: int, up_to: int) -> None:
        """Remove the first entries, up to and with this one. Numbers stay as they are."""
        name = await self._stream(shard)
        await self._asking.api(f"STREAM.PURGE.{name}", {"seq": up_to + 1})

    async def _present(self, shard: int, number: int) -> bytes:
        content = await self._entry(shard, number)
        if content is None:
            raise EngineUnavailable(f"entry {number} of shard {shard} was removed meanwhile")
        return content

    async def _entry(self, shard: int, number: int) -> bytes | None:
        """As the leader has it; None if it is not there."""
        name = await self._stream(shard)
        try:
            answer = await self._asking.api(f"STREAM.MSG.GET.{name}", {"seq": number})
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise
            return None
        return base64.b64decode(answer["message"].get("data", ""))

    async def _stream(self, shard: int) -> str:
        return await self._streams.log(shard, self._kind)


class NatsPages(NatsLogs):
    """The logs of kept pages."""

    _kind = LogKind.PAGES

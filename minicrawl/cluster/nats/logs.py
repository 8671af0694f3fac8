"""The logs of shards, and those of their kept pages: a stream for each.

Laws: a message says which one its sender knew as the last one, and is an entry if no other entry is
between them. What is removed ends with an entry. The log of a shard has one writer, and the server
refuses what comes behind another message. A log that many write is judged by readers alone, and the
server takes all: servers before 2.10.5 count what they refused of a stream, lose count when they
are started again, and then drop as many later messages (nats-server pull requests 4365 and 4777).

A stream for each and not one for all: its numbers are those of its shard, removing its first
entries drops whole files, and the servers share the work of leading them.
"""

import asyncio
import base64
import re
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import NamedTuple

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
_CHOOSES_S = 1.0
"""Servers take about that long to follow the one that leads after another has given up."""

_AFTER, _EXPECTED = "Minicrawl-After", "Nats-Expected-Last-Sequence"
_IN_HEADERS = re.compile(rb"\r\n%s: ([0-9]{1,19})\r\n" % _AFTER.encode())


class _RefusedError(Exception):
    """The server has a later message than the sender knew."""


class _Message(NamedTuple):
    """A message in the stream of a log."""

    content: bytes
    after: int
    """The last one that its sender knew."""


class NatsLogs(NatsPart):
    """The logs of one kind."""

    _kind = LogKind.STORE

    async def log_span(self, shard: int) -> LogSpan:
        """What the log has now."""
        answer = await self._asking.api(f"STREAM.INFO.{await self._stream(shard)}")
        state = answer["state"]
        last = int(state["last_seq"])
        return LogSpan(int(state["first_seq"]) if state["messages"] else last + 1, last)

    async def append(
        self, shard: int, after: int, content: bytes, *, is_shared: bool = False
    ) -> int:
        """Append behind entry `after`, which must be the last one; the number of the new entry."""
        if len(content) > MOST_ENTRY_BYTES:
            raise ValueError(f"{len(content):,} bytes are more than an entry may have")
        if is_shared:
            number = await self._sent(shard, content, {_AFTER: str(after)})
            return await self._judged(shard, after, number, content)
        try:
            return await self._sent(shard, content, {_AFTER: str(after), _EXPECTED: str(after)})
        except _RefusedError:
            return await self._judged(shard, after, None, content)

    async def _sent(self, shard: int, content: bytes, headers: dict[str, str]) -> int:
        name, subject = await self._stream(shard), self._streams.log_subject(shard, self._kind)
        try:
            return await self._asking.store(subject, content, headers, name)
        except JetStreamRefusal as refusal:
            if refusal.error_code == WRONG_SEQUENCE:
                raise _RefusedError from None
            raise EngineError(f"{refusal}: the log of shard {shard} cannot be written") from None

    async def _judged(self, shard: int, after: int, number: int | None, content: bytes) -> int:
        """The entry that this content is behind `after`. Its message has the number, or was refused
        as there is a later one.
        """
        if number == after + 1:
            return number
        first, last = await self.log_span(shard)
        end = last + 1 if number is None else number
        if end <= after:
            await self.distrust(shard)
            raise EngineUnavailable(f"the server that leads the log of shard {shard} lost a part")
        if after < first - 1:
            raise Fenced(f"shard {shard} was taken over by another node")
        judged: dict[int, bool] = {}
        for between in range(after + 1, end):
            if await self._counts(shard, between, judged):
                found = await self._found(shard, between)
                if found is not None and found.content == content:
                    return between  # an answer was lost
                raise Fenced(f"shard {shard} was taken over by another node")
        if number is None:
            raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        return number

    async def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        """The entries behind `after`, or behind what was removed, up to the last one as of now."""
        first, last = await self.log_span(shard)
        for begin in range(max(first, after + 1), last + 1, _AT_ONCE):
            numbers = range(begin, min(begin + _AT_ONCE, last + 1))
            found = await asyncio.gather(*(self._found(shard, number) for number in numbers))
            for number, message in zip(numbers, found, strict=True):
                if message is None:
                    raise EngineUnavailable(
                        f"entry {number} of shard {shard} was removed meanwhile"
                    )
                if message.after == number - 1 or await self._counts(shard, number, {}):
                    yield LogEntry(number, message.content)

    async def remove_entries(self, shard: int, up_to: int) -> None:
        """Remove the first entries, up to and with this one. Numbers stay as they are."""
        name = await self._stream(shard)
        await self._asking.api(f"STREAM.PURGE.{name}", {"seq": up_to + 1})

    async def distrust(self, shard: int) -> None:
        """Let another server lead the log, if there is one; who asked waits for a moment."""
        with suppress(JetStreamRefusal):  # nobody else can lead now
            await self._streams.step_down(await self._stream(shard))
        await asyncio.sleep(_CHOOSES_S)

    async def _counts(self, shard: int, number: int, judged: dict[int, bool]) -> bool:
        """Whether the message is an entry. Of what was removed the last one was."""
        if number not in judged:
            message, counts = await self._found(shard, number), True
            if message is not None:
                counts = message.after < number
                for between in range(number - 1, message.after, -1):
                    if await self._counts(shard, between, judged):
                        counts = False
                        break
            judged[number] = counts
        return judged[number]

    async def _found(self, shard: int, number: int) -> _Message | None:
        """A message as the leader has it; None if it was removed."""
        name = await self._stream(shard)
        try:
            answer = await self._asking.api(f"STREAM.MSG.GET.{name}", {"seq": number})
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise
            if number < (await self.log_span(shard)).first:
                return None
            raise EngineUnavailable(
                f"a new leader does not know the log of shard {shard} yet"
            ) from None
        message = answer["message"]
        after = _IN_HEADERS.search(base64.b64decode(message.get("hdrs", "")))
        content = base64.b64decode(message.get("data", ""))
        return _Message(content, int(after[1]) if after else number - 1)

    async def _stream(self, shard: int) -> str:
        return await self._streams.log(shard, self._kind)


class NatsPages(NatsLogs):
    """The logs of kept pages."""

    _kind = LogKind.PAGES

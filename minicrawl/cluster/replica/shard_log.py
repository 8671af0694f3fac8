"""One of the logs of a shard: taken over, read, and written.

Laws: reading changes nothing in the engine, and disturbs no writer. No node writes an empty entry,
so it is skipped. An entry that may have been a commit is never skipped. When another node has the
log, `append` raises Fenced for ever.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from secrets import token_bytes

from minicrawl.cluster.engine import EngineError, EngineUnavailable, Fenced, ShardLogs
from minicrawl.cluster.replica.entries import Entry, EntryKind, pack, unpack

Read = Callable[[Entry, int], None]
"""Function of an entry and its number, called in a thread. Raises EngineError for a wrong entry."""

_TAKE_TRIES = 100
_UNREADABLE = (
    "It may hold cash, so it is not skipped: restore an earlier copy of the servers' files, or "
    "start a new crawl under another name, as with --cluster nats://host:4222/again"
)


class Overtaken(Exception):  # not an error: read again
    """Entries were removed while they were read."""


async def replay(
    logs: ShardLogs,
    shard: int,
    after: int,
    read: Read,
    *,
    log: str = "log",
    until: int | None = None,
) -> tuple[int, int]:
    """Call `read` with all entries after `after`, up to `until`; return the last, and their size.

    Skips empty entries, which no node writes. Raises Overtaken if the writer has removed some.
    """
    last, size = after, 0
    try:
        async with aclosing(logs.entries(shard, after)) as entries:
            async for number, content in entries:
                if until is not None and number > until:
                    break
                if number != last + 1:
                    raise Overtaken
                try:
                    if content:
                        await asyncio.to_thread(_read, read, content, number)
                except EngineError as error:
                    of = f"entry {number} of the {log} of shard {shard}"
                    raise EngineError(f"{of}: {error}. {_UNREADABLE}") from error
                last, size = number, size + len(content)
    except EngineUnavailable:
        if (await logs.log_span(shard)).first > last + 1:
            raise Overtaken from None
        raise
    if (await logs.log_span(shard)).first > last + 1:
        raise Overtaken
    return last, size


def _read(read: Read, content: bytes, number: int) -> None:
    read(unpack(content), number)


async def mark_taken(logs: ShardLogs, shard: int) -> int:
    """Append a mark that fences off all earlier writers of the log, and return its number.

    The holder appends all the time, so the mark is refused until it happens to come between two of
    the holder's entries. From then on the holder is refused.
    """
    mark = pack(Entry(EntryKind.TAKEN, content=token_bytes(16)))
    for _ in range(_TAKE_TRIES):
        last = (await logs.log_span(shard)).last
        with suppress(Fenced):  # the holder has just appended
            return await logs.append(shard, last, mark)
    raise EngineUnavailable(f"shard {shard} cannot be taken over: its holder appends without end")


class LogWriter:
    """Writing end of a log that was taken over with entry `last`."""

    def __init__(self, logs: ShardLogs, shard: int, last: int) -> None:
        self._logs, self._shard, self.last = logs, shard, last
        self._fenced: Fenced | None = None
        self._doubted: bytes | None = None  # appended without an answer

    async def append(self, entry: Entry) -> int:
        """Append an entry, and return its number. An entry in doubt is repeated first."""
        packed = pack(entry)
        if self._doubted is not None and self._doubted != packed:
            await self._append(self._doubted)
        await self._append(packed)
        return self.last

    async def _append(self, packed: bytes) -> None:
        if self._fenced is not None:
            raise self._fenced
        self._doubted = packed
        try:
            self.last = await self._logs.append(self._shard, self.last, packed)
        except Fenced as error:
            self._fenced = error
            raise
        self._doubted = None

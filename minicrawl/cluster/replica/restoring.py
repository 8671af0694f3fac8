"""A store made of its last snapshot and the log behind it; and who takes a shard over.

Laws: restoring changes nothing in the engine, and disturbs nobody who writes. An empty entry has no
commit, is none of ours and is skipped; one that may have been a commit is never skipped.
"""

from asyncio import to_thread
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple

from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable, Fenced, LogEntry
from minicrawl.cluster.replica.entries import (
    EntryKind,
    ReplicaEntry,
    WalDecompressor,
    pack_entry,
    unpack_entry,
)
from minicrawl.cluster.replica.snapshots import last_snapshot, load_snapshot
from minicrawl.store.beside import wal

WHAT_TO_DO = (
    "What it had may count, so it is not skipped: put a copy of the servers' files back that was "
    "made before, or crawl anew under another name, as with --cluster nats://host:4222/again"
)
"""Where an entry of a log cannot be read."""

_TRIES = 5
_TAKES = 100
_LEADERS = 10


class Restored(NamedTuple):
    """What was restored."""

    entry: int
    """The last one that is in the store."""
    log_bytes: int
    """That were read behind the snapshot."""


def ignore(_line: str) -> None:
    """Nobody is told."""


async def restore(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    until: int | None = None,
    tell: Callable[[str], None] = ignore,
) -> Restored:
    """Write the store of a shard to `path`, instead of what was there.

    A shard without a log gives a file without tables. The log has entry `until`, and those behind
    it are left out, unless a snapshot has them.
    """
    for _ in range(_TRIES):
        try:
            restored = await _restore(engine, shard, path, until, tell)
        except _OvertakenError:
            continue  # a newer snapshot has come, and what it has was removed from the log
        if until is None or restored.entry >= until:
            return restored
        await engine.distrust(shard)
    raise EngineUnavailable(f"the log of shard {shard} changes faster than it can be read")


async def take_over(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    *,
    least: int = 0,
    tell: Callable[[str], None] = ignore,
) -> Restored:
    """Refuse all who wrote the shard so far, and restore its store.

    Whoever takes over later refuses us in turn. The log has `least` entries, as its holder told: a
    server that knows fewer has lost some, and is not believed.
    """
    mark = pack_entry(ReplicaEntry(EntryKind.TAKEN, 0, 0, token_bytes(16)))
    await find_end(engine, shard, least)
    for _ in range(_TAKES):
        last = (await engine.log_span(shard)).last
        try:
            taken = await engine.append(shard, last, mark)
        except Fenced:
            continue  # the holder has just appended
        restored = await restore(engine, shard, path, tell=tell)
        if restored.entry != taken:
            raise Fenced(f"shard {shard} was taken over by another node at the same time")
        return restored
    raise EngineUnavailable(f"shard {shard} cannot be taken over: its holder appends without end")


async def find_end(engine: ClusterEngine, shard: int, least: int) -> int:
    """The last entry of a log that has `least` entries: a server that knows fewer leads no more."""
    for _ in range(_LEADERS):
        last = (await engine.log_span(shard)).last
        if last >= least:
            return last
        await engine.distrust(shard)
    raise EngineUnavailable(
        f"the log of shard {shard} ends with entry {last}, and {least} were confirmed: the servers "
        "have lost some, or one that has them is down; it is tried again"
    )


class _OvertakenError(Exception):
    """Entries were removed while they were read."""


async def _restore(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    until: int | None,
    tell: Callable[[str], None],
) -> Restored:
    path.parent.mkdir(parents=True, exist_ok=True)
    snapshot = await last_snapshot(engine, shard)
    wal.remove(path)
    if snapshot is None:
        await to_thread(wal.make_empty, path)
    else:
        try:
            await load_snapshot(engine, snapshot, path)
        except EngineError as error:
            if snapshot == await last_snapshot(engine, shard):
                raise
            raise _OvertakenError from error
    last, size, folding = snapshot.entry if snapshot else 0, 0, _Folding(path)
    try:
        async with aclosing(engine.entries(shard, last)) as entries:
            async for number, content in entries:
                if until is not None and number > until:
                    break
                if number != last + 1:  # what nobody counts was there, or something was removed
                    await _check_cut(engine, shard, last)
                await _add(folding, LogEntry(number, content), shard, tell)
                last, size = number, size + len(content)
    except EngineUnavailable as error:
        await _check_cut(engine, shard, last)
        raise error from None
    await _check_cut(engine, shard, last)
    await to_thread(folding.finish)
    return Restored(last, size)


async def _add(
    folding: "_Folding", entry: LogEntry, shard: int, tell: Callable[[str], None]
) -> None:
    if not entry.content:
        tell(f"entry {entry.number} of the log of shard {shard} is empty: it was skipped")
        return
    try:
        await to_thread(folding.add, unpack_entry(entry.content))
    except EngineError as error:
        raise EngineError(
            f"entry {entry.number} of the log of shard {shard}: {error}. {WHAT_TO_DO}"
        ) from error


async def _check_cut(engine: ClusterEngine, shard: int, last: int) -> None:
    """Whether entries that were not read are gone."""
    if (await engine.log_span(shard)).first > last + 1:
        raise _OvertakenError


class _Folding:
    """One write-ahead log after the other is laid beside the file and folded into it."""

    def __init__(self, path: Path) -> None:
        self._path, self._log = path, wal.log_of(path)
        self._stream: WalDecompressor | None = None
        self._size = 0

    def add(self, entry: ReplicaEntry) -> None:
        """The next entry."""
        if entry.kind is not EntryKind.MORE:
            self.finish()
        if entry.kind is EntryKind.TAKEN:
            return
        if entry.kind is EntryKind.FIRST:
            self._stream = WalDecompressor()
        if self._stream is None or entry.offset != self._size:
            raise EngineError(
                f"the log is damaged: byte {self._size:,} is due, and byte {entry.offset:,} comes"
            )
        with self._log.open("ab") as log:
            log.write(self._stream.decompress(entry))
        self._size += entry.size

    def finish(self) -> None:
        """What came is in the file."""
        if self._stream is not None:
            wal.fold(self._path)
        self._stream, self._size = None, 0

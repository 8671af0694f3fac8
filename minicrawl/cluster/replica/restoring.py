"""Builds a store from the last snapshot and the log after it, and takes a shard over.

Laws: restoring changes no data in the engine, and disturbs no writer. No node writes an empty
entry, so it is skipped. An entry that may have been a commit is never skipped.
"""

from asyncio import to_thread
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple

from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable, Fenced, ignore
from minicrawl.cluster.log_writer import mark_taken, read_entry
from minicrawl.cluster.replica.entries import (
    EntryKind,
    ReplicaEntry,
    WalDecompressor,
    pack_entry,
    unpack_entry,
)
from minicrawl.cluster.replica.snapshots import last_snapshot, load_snapshot
from minicrawl.store import wal
from minicrawl.store.reader import LOG, file_beside

_TRIES = 5
_LEADERS = 10


class Restored(NamedTuple):
    entry: int
    """The last log entry that the store includes."""
    log_bytes: int
    """Size of the entries that were read after the snapshot."""


async def restore(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    until: int | None = None,
    emit: Callable[[str], None] = ignore,
) -> Restored:
    """Write the store of a shard to `path`, in place of any older file.

    A shard without a log gives a file without tables. The log must have the entry `until`; later
    entries are left out unless the snapshot includes them.
    """
    for _ in range(_TRIES):
        try:
            restored = await _restore(engine, shard, path, until, emit)
        except _OvertakenError:
            continue  # a newer snapshot has replaced entries of the log
        if until is None or restored.entry >= until:
            return restored
        await engine.change_leader(shard)
    raise EngineUnavailable(f"the log of shard {shard} changes faster than it can be read")


async def take_over(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    *,
    least: int = 0,
    emit: Callable[[str], None] = ignore,
) -> Restored:
    """Fence off all earlier writers of the shard, and restore its store.

    A later `take_over` fences this one in turn.
    """
    taken = await fence(engine, shard, least)
    restored = await restore(engine, shard, path, emit=emit)
    if restored.entry != taken:
        raise Fenced(f"shard {shard} was taken over by another node at the same time")
    return restored


async def fence(engine: ClusterEngine, shard: int, least: int) -> int:
    """Fence off all earlier writers of the shard, and return the last entry of its log, a mark.

    Earlier holders told that the log has at least `least` entries, so a server that knows fewer has
    lost some and is not believed.
    """
    await find_end(engine, shard, least)
    mark = pack_entry(ReplicaEntry(EntryKind.TAKEN, 0, 0, token_bytes(16)))
    return await mark_taken(engine, shard, mark)


async def find_end(engine: ClusterEngine, shard: int, least: int) -> int:
    """Return the last entry of a log that has at least `least` entries.

    A leader that knows fewer entries is made to step down.
    """
    for _ in range(_LEADERS):
        last = (await engine.log_span(shard)).last
        if last >= least:
            return last
        await engine.change_leader(shard)
    raise EngineUnavailable(
        f"the log of shard {shard} ends with entry {last}, and {least} were confirmed: the servers "
        "have lost some, or one that has them is down; trying again"
    )


class _OvertakenError(Exception):
    """Entries were removed during the read."""


async def _restore(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    until: int | None,
    emit: Callable[[str], None],
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
            async for entry in entries:
                if until is not None and entry.number > until:
                    break
                if entry.number != last + 1:  # a refused message lies between, or some were removed
                    await _check_cut(engine, shard, last)
                await read_entry(entry, f"the log of shard {shard}", folding.add, emit)
                last, size = entry.number, size + len(entry.content)
    except EngineUnavailable as error:
        await _check_cut(engine, shard, last)
        raise error from None
    await _check_cut(engine, shard, last)
    await to_thread(folding.finish)
    return Restored(last, size)


async def _check_cut(engine: ClusterEngine, shard: int, last: int) -> None:
    """Raise _OvertakenError if unread entries are gone."""
    if (await engine.log_span(shard)).first > last + 1:
        raise _OvertakenError


class _Folding:
    """Folds one WAL after another into the file of a store."""

    def __init__(self, path: Path) -> None:
        self._path, self._log = path, file_beside(path, LOG)
        self._stream: WalDecompressor | None = None
        self._size = 0

    def add(self, packed: bytes) -> None:
        entry = unpack_entry(packed)
        if entry.kind is not EntryKind.MORE:
            self.finish()
        if entry.kind is EntryKind.TAKEN:
            return
        if entry.kind is EntryKind.FIRST:
            self._stream = WalDecompressor()
        if self._stream is None or entry.offset != self._size:
            raise EngineError(
                f"the log is damaged: expected byte {self._size:,}, found byte {entry.offset:,}"
            )
        with self._log.open("ab") as log:
            log.write(self._stream.decompress(entry))
        self._size += entry.size

    def finish(self) -> None:
        if self._stream is not None:
            wal.fold(self._path)
        self._stream, self._size = None, 0

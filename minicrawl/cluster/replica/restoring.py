"""Builds a store from the last snapshot and the log after it, and takes a shard over."""

from asyncio import to_thread
from pathlib import Path
from typing import NamedTuple

import zstandard

from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable, Fenced
from minicrawl.cluster.replica.entries import PIECE_BYTES, Entry, EntryKind
from minicrawl.cluster.replica.shard_log import Overtaken, mark_taken, replay
from minicrawl.cluster.replica.snapshots import MOST_WINDOW, load_snapshot
from minicrawl.store.disk import wal
from minicrawl.store.reader import LOG, file_beside

_TRIES = 5
_LEADERS = 10
_SLICE_BYTES = 1 << 10
"""Compressed bytes expanded at a time, which bounds the expanded size."""


class Restored(NamedTuple):
    entry: int = 0
    """The last log entry that the store includes."""
    log_bytes: int = 0
    """Size of the entries that were read after the snapshot."""
    snapshot: int = 0
    """The last log entry that the snapshot includes."""
    snapshots: int = 0
    """The last entry in the log of snapshots."""


async def restore(
    engine: ClusterEngine, shard: int, path: Path, until: int | None = None
) -> Restored:
    """Write the store of a shard to `path`, in place of any older file.

    A shard without a log gives a file without tables. The log must have the entry `until`; later
    entries are left out unless the snapshot includes them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(_TRIES):
        wal.remove(path)
        try:
            snapshot, last = await load_snapshot(engine, shard, path)
            if snapshot is None:
                await to_thread(wal.make_empty, path)
            before, folding = snapshot.entry if snapshot else 0, Folding(path)
            end, size = await replay(engine, shard, before, folding.add, until=until)
        except Overtaken:
            continue
        await to_thread(folding.finish)
        if until is None or end >= until:
            return Restored(end, size, before, last)
        await engine.change_leader(shard)
    raise EngineUnavailable(f"the log of shard {shard} changes faster than it can be read")


async def take_over(engine: ClusterEngine, shard: int, path: Path, *, least: int = 0) -> Restored:
    """Fence off all earlier writers of the shard, and restore its store.

    A later `take_over` fences this one in turn.
    """
    taken = await fence(engine, shard, least)
    restored = await restore(engine, shard, path)
    if restored.entry != taken:
        raise Fenced(f"shard {shard} was taken over by another node at the same time")
    return restored


async def fence(engine: ClusterEngine, shard: int, least: int) -> int:
    """Fence off all earlier writers of the shard, and return the last entry of its log, a mark.

    Earlier holders told that the log has at least `least` entries, so a server that knows fewer has
    lost some and is not believed.
    """
    await find_end(engine, shard, least)
    taken = await mark_taken(engine, shard)
    await mark_taken(engine.snapshots, shard)
    return taken


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


class Folding:
    """Folds one WAL after another into the file of a store.

    All entries of one WAL form one compressed stream. Successive commits write the same pages
    again, which then cost next to nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._log = path, file_beside(path, LOG)
        self._stream: zstandard.ZstdDecompressionObj | None = None
        self._size = 0

    def add(self, entry: Entry, _number: int) -> None:
        if entry.kind is not EntryKind.MORE:
            self.finish()
        if entry.kind is EntryKind.TAKEN:
            return
        if entry.kind is EntryKind.FIRST:
            decompressor = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
            self._stream = decompressor.decompressobj()
        if self._stream is None or entry.place != self._size:
            raise EngineError(
                f"the log is damaged: expected byte {self._size:,}, found byte {entry.place:,}"
            )
        piece = bytearray()
        try:
            for begin in range(0, len(entry.content), _SLICE_BYTES):
                piece += self._stream.decompress(entry.content[begin : begin + _SLICE_BYTES])
                if len(piece) > PIECE_BYTES:
                    raise EngineError("the log is damaged: an entry exceeds its largest size")
        except zstandard.ZstdError as error:
            raise EngineError(f"the log is damaged: {error}") from error
        with self._log.open("ab") as log:
            log.write(piece)
        self._size += len(piece)

    def finish(self) -> None:
        if self._stream is not None:
            wal.fold(self._path)
        self._stream, self._size = None, 0

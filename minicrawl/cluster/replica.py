"""The replica of a shard's store: its SQLite write-ahead log, shipped to the engine.

A shard can move to another machine because its store exists twice: as a SQLite file on the node's
disk, and as a *snapshot* of that file plus a *log* in the engine. A log entry has the bytes that
SQLite appended to its write-ahead log (WAL), compressed. A commit counts when its entry is
confirmed. Bytes are shipped, not rows or SQL: the restored file cannot differ from the original,
and new tables need no code here.

    node A                            engine: log of shard 3
    commit, WAL bytes 0-8192          1  FIRST  offset 0
    commit, WAL bytes 8192-12288      2  MORE   offset 8192
    SQLite folds the WAL into the file; a snapshot of the file goes to the object store as of
    entry 2, and entries 1 and 2 are removed
    commit, WAL bytes 0-4096          3  FIRST  offset 0
    (A is cut off)                    4  TAKEN  appended by node B
    A appends after entry 3           refused, since the last entry is 4: A raises Fenced and stops

    node B                            loads the snapshot, lays entry 3 beside it as a WAL, and folds
                                      it into the file: the store as of A's last confirmed commit

So the log itself fences. Each append names the entry that its writer knows as the last one, so a
node that has lost the shard without knowing it cannot write. Leases and clocks decide only when B
tries.

Laws: an entry is appended only after the last one. A restored store is what its writer had after
its last confirmed commit; a later commit that was cut off does not count.

entries    format of a log entry
snapshots  the file of a store in the object store, and the entry up to which it goes
restoring  builds a store from snapshot and log, and takes a shard over
shipping   sends the commits of a `StoreWriter` to the engine
"""

import struct
from asyncio import to_thread
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import NamedTuple

import zstandard

from minicrawl.cluster.engine import (
    ClusterEngine,
    Connect,
    EngineError,
    EngineFull,
    EngineThread,
    EngineUnavailable,
    Fenced,
    KeyTaken,
    LogWriter,
    ignore,
    mark_taken,
    pack_frame,
    read_entry,
    unpack_frame,
)
from minicrawl.cluster.kept_pages import KeptPagesLog, TakenPages
from minicrawl.cluster.records import SnapshotRecord
from minicrawl.errors import NoRoom
from minicrawl.store import files as wal
from minicrawl.store.files import WalPiece, WalTail
from minicrawl.store.reader import LOG, file_beside
from minicrawl.store.writer import SAFE

# ================================================================ entries
#
# Format of an entry in the log of a shard.
#
# Law: nothing from the engine is trusted. An entry that no replica writes is refused, and no entry
# takes more memory than its size allows.
#
# All entries of one WAL form one compressed stream. Successive commits write the same pages again,
# which then cost next to nothing.

PIECE_BYTES = 3 << 17
"""WAL bytes in one entry. Incompressible bytes still fit after zstd has added its overhead."""

_HEAD = struct.Struct(">QI")
"""Offset, size."""
_LEVEL = 3
_MOST_WINDOW = 1 << 23
_SLICE_BYTES = 1 << 10
"""Compressed bytes expanded at a time, which bounds the expanded size."""


class EntryKind(IntEnum):
    """Kind of a log entry."""

    MORE = 0
    """The next bytes of the current WAL."""
    FIRST = 1
    """The first bytes of a new WAL; all before it has been folded into the file."""
    TAKEN = 2
    """No bytes: another node has taken the shard over. The next entry is FIRST."""


class ReplicaEntry(NamedTuple):
    """An entry of the log."""

    kind: EntryKind
    offset: int
    """Position in the WAL, before compression."""
    size: int
    """Size before compression."""
    content: bytes


def pack_entry(entry: ReplicaEntry) -> bytes:
    return pack_frame(entry.kind, _HEAD.pack(entry.offset, entry.size), entry.content)


def unpack_entry(packed: bytes) -> ReplicaEntry:
    """Decode an entry; its content stays compressed."""
    kind, (offset, size), content = unpack_frame(packed, _HEAD)
    if kind not in tuple(EntryKind):
        raise EngineError(f"it is of the unknown kind {kind}")
    if size > PIECE_BYTES:
        raise EngineError(f"it has {size:,} bytes, more than the limit of {PIECE_BYTES:,}")
    return ReplicaEntry(EntryKind(kind), offset, size, content)


class WalCompressor:
    """Compressor of the pieces of one WAL."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdCompressor(level=_LEVEL).compressobj()

    def compress(self, piece: bytes) -> bytes:
        """Return bytes that restore this piece, given all pieces before it."""
        compressed = self._stream.compress(piece)
        return compressed + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class WalDecompressor:
    """Decompressor of the pieces of one WAL."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).decompressobj()

    def decompress(self, entry: ReplicaEntry) -> bytes:
        piece, content = bytearray(), entry.content
        try:
            for begin in range(0, len(content), _SLICE_BYTES):
                piece += self._stream.decompress(content[begin : begin + _SLICE_BYTES])
                if len(piece) > entry.size:
                    break
        except zstandard.ZstdError as error:
            raise EngineError(f"the log is damaged: {error}") from error
        if len(piece) != entry.size:
            raise EngineError("the log is damaged: an entry does not have the size that it states")
        return bytes(piece)


# ================================================================ snapshots
#
# A snapshot is the file of a store in the object store, and the log entry up to which it goes.
#
# Laws: the key of a shard names a snapshot only when that is complete. A later snapshot replaces an
# earlier one, never the reverse, no matter which node made it. Entries are removed only up to the
# named snapshot.

_LEVEL_SNAPSHOTS = 1
_COPIED_BYTES = 1 << 20


def snapshot_key(shard: int) -> str:
    return f"snapshot.{shard}"


async def last_snapshot(engine: ClusterEngine, shard: int) -> SnapshotRecord | None:
    return SnapshotRecord.of(await engine.get(snapshot_key(shard)))


async def store_snapshot(
    engine: ClusterEngine, shard: int, file: Path, entry: int
) -> SnapshotRecord:
    """Store a snapshot as of this entry, and remove older snapshots and log entries.

    Returns the current snapshot, which another node may have made.
    """
    name = f"shard-{shard}-{entry}-{token_hex(8)}"
    compressed = file.with_name(f"{file.name}-snapshot")
    try:
        await to_thread(_compress, file, compressed)
        snapshot = SnapshotRecord(object=name, entry=entry, size=file.stat().st_size)
        await engine.put_object(name, compressed)
    finally:
        compressed.unlink(missing_ok=True)
    current = await _make_current(engine, shard, snapshot)
    await engine.remove_entries(shard, current.entry)
    await _remove_older(engine, shard, current)
    return current


async def load_snapshot(engine: ClusterEngine, snapshot: SnapshotRecord, file: Path) -> None:
    """Write the store in the snapshot to `file`."""
    compressed = file.with_name(f"{file.name}-snapshot")
    try:
        await engine.get_object(snapshot.object, compressed)
        await to_thread(_decompress, compressed, file, snapshot.size)
    finally:
        compressed.unlink(missing_ok=True)


async def _make_current(
    engine: ClusterEngine, shard: int, snapshot: SnapshotRecord
) -> SnapshotRecord:
    """Make the key name this snapshot, unless it names a later one. Return the named snapshot."""
    value = snapshot.pack()
    while True:
        found = await engine.get(snapshot_key(shard))
        known = SnapshotRecord.of(found)
        if known is not None and known.entry >= snapshot.entry:
            return known
        with suppress(KeyTaken):
            await engine.update(snapshot_key(shard), value, found.revision if found else 0)
            return snapshot


async def _remove_older(engine: ClusterEngine, shard: int, current: SnapshotRecord) -> None:
    """Delete snapshots of earlier entries.

    A snapshot of a later entry may not have been named yet, so it is left alone.
    """
    for name in await engine.objects():
        kind, _, rest = name.partition("-")
        number, _, rest = rest.partition("-")
        entry = rest.partition("-")[0]
        is_ours = kind == "shard" and number == str(shard) and entry.isdecimal()
        if is_ours and int(entry) <= current.entry and name != current.object:
            await engine.delete_object(name)


def _compress(file: Path, to: Path) -> None:
    with file.open("rb") as source, to.open("wb") as target:
        zstandard.ZstdCompressor(level=_LEVEL_SNAPSHOTS).copy_stream(source, target)


def _decompress(file: Path, to: Path, size: int) -> None:
    """Decompress a file that must give `size` bytes: a few bytes may expand without end."""
    with file.open("rb") as source, to.open("wb") as target:
        reader = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).stream_reader(source)
        written = 0
        try:
            while written <= size and (piece := reader.read(_COPIED_BYTES)):
                target.write(piece)
                written += len(piece)
        except zstandard.ZstdError as error:
            raise EngineError(f"a snapshot is damaged: {error}") from error
    if written != size:
        raise EngineError(f"a snapshot has {written:,} bytes, and should have {size:,}")


# ================================================================ restoring
#
# Builds a store from the last snapshot and the log after it, and takes a shard over.
#
# Laws: restoring changes no data in the engine, and disturbs no writer. No node writes an empty
# entry, so it is skipped. An entry that may have been a commit is never skipped.

_TRIES = 5
_LEADERS = 10


class Restored(NamedTuple):
    """Result of `restore`."""

    entry: int
    """The last log entry that the store includes."""
    log_bytes: int
    """Size of the entries that were read after the snapshot."""


async def restore(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    until: int | None = None,
    tell: Callable[[str], None] = ignore,
) -> Restored:
    """Write the store of a shard to `path`, in place of any older file.

    A shard without a log gives a file without tables. The log must have the entry `until`; later
    entries are left out unless the snapshot includes them.
    """
    for _ in range(_TRIES):
        try:
            restored = await _restore(engine, shard, path, until, tell)
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
    tell: Callable[[str], None] = ignore,
) -> Restored:
    """Fence off all earlier writers of the shard, and restore its store.

    A later `take_over` fences this one in turn. Earlier holders told that the log has at least
    `least` entries, so a server that knows fewer has lost some and is not believed.
    """
    mark = pack_entry(ReplicaEntry(EntryKind.TAKEN, 0, 0, token_bytes(16)))
    await find_end(engine, shard, least)
    taken = await mark_taken(engine, shard, mark)
    restored = await restore(engine, shard, path, tell=tell)
    if restored.entry != taken:
        raise Fenced(f"shard {shard} was taken over by another node at the same time")
    return restored


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
            async for entry in entries:
                if until is not None and entry.number > until:
                    break
                if entry.number != last + 1:  # a refused message lies between, or some were removed
                    await _check_cut(engine, shard, last)
                await read_entry(entry, f"the log of shard {shard}", folding.add, tell)
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
        """Append the next entry to its WAL."""
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
        """Fold the current WAL into the file."""
        if self._stream is not None:
            wal.fold(self._path)
        self._stream, self._size = None, 0


# ================================================================ shipping


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLimits:
    """Sizes at which the log of a shard is shortened."""

    wal_bytes: int = 16 << 20
    """Size of the WAL at which it is folded into the file."""
    log_bytes: int = 32 << 20
    """Size of the log in the engine at which a snapshot is taken."""
    store_part: int = 2
    """For a large store: a snapshot waits until the log has 1 / `store_part` of the store's size.
    """
    piece_bytes: int = PIECE_BYTES
    """Size of the pieces in which kept pages are sent."""


class ShardReplica:
    """Replica of one shard's store. Close it after its `StoreWriter`."""

    def __init__(
        self,
        shard: int,
        path: Path,
        taken: Restored,
        connect: Connect,
        limits: ReplicaLimits | None = None,
        pages: TakenPages | None = None,
    ) -> None:
        """`taken` is the result of the `take_over` that wrote the store to `path`.

        `pages` is the result of `take_over_pages`, if pages are kept.
        """
        self._path, self._limits = path, limits or ReplicaLimits()
        self._thread = EngineThread(connect)
        self._log = LogWriter(self._thread, self._thread.engine, shard, taken.entry)
        self._log_bytes = taken.log_bytes
        self._queued = deque[bytes]()  # entries that are not confirmed yet
        self._compressor = WalCompressor()
        sent = self._limits.piece_bytes
        self._pages = KeptPagesLog(shard, pages, self._thread, sent) if pages else None
        self._tail = WalTail(path)
        try:
            self._snapshots = _Snapshots(shard, path, taken, self._thread)
        except BaseException:
            self._thread.close()
            raise
        # Multiple of `wal_bytes` at which the WAL is folded. It grows by 1 with each attempt that a
        # reader prevents.
        self._patience = 1

    @property
    def last(self) -> int:
        """The last entry that the engine has confirmed."""
        return self._log.last

    def committed(self) -> None:
        """Send everything committed, and wait until the engine has confirmed it."""
        with self._raising_no_room():
            self._snapshots.check()
            self._append_queued()
            for piece in self._tail.pieces(PIECE_BYTES):
                self._queue(piece)
                self._append_queued()

    def _queue(self, piece: WalPiece) -> None:
        """Queue the next WAL bytes; a new WAL gets a new compressor."""
        kind = EntryKind.MORE if piece.offset else EntryKind.FIRST
        if kind is EntryKind.FIRST:
            self._compressor = WalCompressor()
        compressed = self._compressor.compress(piece.content)
        entry = ReplicaEntry(kind, piece.offset, len(piece.content), compressed)
        self._queued.append(pack_entry(entry))

    def _append_queued(self) -> None:
        while self._queued:
            self._log.append(self._queued[0])
            self._log_bytes += len(self._queued.popleft())

    def kept(self, begin: int, end: int) -> None:
        """Send what was appended to the archive between two places, and wait for confirmation."""
        if self._pages is None:
            raise ValueError("the pages of this shard were not taken over")
        with self._raising_no_room():
            self._pages.keep(begin, end)

    @contextmanager
    def _raising_no_room(self) -> Iterator[None]:
        try:
            yield
        except EngineFull as error:
            self._snapshots.begin()  # a snapshot removes log entries
            raise NoRoom(f"{error}; {SAFE}") from error
        except EngineUnavailable as error:
            raise NoRoom(f"{error}; {SAFE}") from error

    def wants_checkpoint(self) -> bool:
        """Return whether the WAL is long enough to be folded, and may be."""
        is_long = self._tail.log_bytes >= self._patience * self._limits.wal_bytes
        return is_long and self.may_checkpoint()

    def may_checkpoint(self) -> bool:
        """Return whether no snapshot reads the file, and the engine has the whole WAL."""
        return not (self._queued or self._snapshots.is_under_way)

    def checkpointed(self, *, is_complete: bool) -> None:
        """Note that the WAL was folded into the file, or that a reader prevented it."""
        if not is_complete:
            self._patience += 1
            return
        self._patience = 1
        self._tail.forget()
        self._snapshots.folded = Restored(self._log.last, self._log_bytes)
        least = self._path.stat().st_size // self._limits.store_part
        if self._snapshots.log_bytes >= max(self._limits.log_bytes, least):
            self._snapshots.begin()

    def closing(self) -> None:
        """Cancel the snapshot: SQLite is about to fold the WAL into the file."""
        self._snapshots.cancel()

    def close(self) -> None:
        """Close the connection. The store is closed already."""
        self._snapshots.cancel()
        if self._pages is not None:
            self._pages.close()
        self._thread.close()


class _Snapshots:
    """Snapshots of the file, taken while the crawl runs."""

    def __init__(self, shard: int, path: Path, taken: Restored, thread: EngineThread) -> None:
        self._shard, self._path, self._thread = shard, path, thread
        self.folded = taken
        """State of the file itself, without the WAL."""
        kept = thread.run(last_snapshot(thread.engine, shard))
        self._entry = kept.entry if kept else 0
        self._bytes_before = 0
        self._under_way: Future[SnapshotRecord] | None = None

    @property
    def is_under_way(self) -> bool:
        """True while the file is read."""
        return self._under_way is not None and not self._under_way.done()

    @property
    def log_bytes(self) -> int:
        """Size of the log entries that a new snapshot would replace."""
        return self.folded.log_bytes - self._bytes_before

    def begin(self) -> None:
        """Begin a snapshot of the file, unless one is under way or has the same state."""
        if not self.is_under_way and self.folded.entry > self._entry:
            work = store_snapshot(self._thread.engine, self._shard, self._path, self.folded.entry)
            self._under_way = self._thread.begin(work)

    def check(self) -> None:
        """Process the result of a finished snapshot."""
        taken = self._under_way
        if taken is None or not taken.done():
            return
        self._under_way = None
        try:
            self._entry = taken.result().entry
        except (EngineUnavailable, CancelledError):
            return  # the next one is taken later
        except OSError as error:
            raise NoRoom(f"{self._path}: no snapshot: {error.strerror}; {SAFE}") from error
        self._bytes_before = self.folded.log_bytes

    def cancel(self) -> None:
        if self._under_way is not None:
            self._under_way.cancel()
            self._under_way = None

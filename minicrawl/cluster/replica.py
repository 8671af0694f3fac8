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
    A appends behind entry 3          refused, since the last entry is 4: A raises Fenced and stops

    node B                            loads the snapshot, lays entry 3 beside it as a WAL, and folds
                                      it into the file: the store as of A's last confirmed commit

So the log itself fences. An entry names the entry that its writer knows as the last one, and a node
that has lost the shard, and does not know it, cannot write. Leases and clocks decide only when B
tries.

Laws: an entry is appended only behind the last one. A restored store is what its writer had after
its last confirmed commit; a later commit that was cut off does not count.

engine thread  thread with an event loop and a connection of its own
entries        format of a log entry
snapshots      the file of a store in the object store, and the entry up to which it goes
restoring      builds a store from snapshot and log, and takes a shard over

`shipping` is the writing side.
"""

import asyncio
import json
import struct
import threading
from asyncio import to_thread
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import aclosing, suppress
from enum import IntEnum
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import zstandard

from minicrawl.cluster.engine import (
    ClusterEngine,
    EngineError,
    EngineUnavailable,
    Fenced,
    KeyEntry,
    KeyTaken,
    LogEntry,
)
from minicrawl.store import files as wal

# ================================================================ engine thread
#
# A thread with its own event loop and engine connection, so that no other work delays a commit.

T = TypeVar("T")
Connect = Callable[[], Coroutine[Any, Any, ClusterEngine]]


class EngineThread:
    """A thread with an event loop and an engine of its own."""

    def __init__(self, connect: Connect) -> None:
        """Call `connect` in the new thread, and wait for its engine."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="replica", daemon=True)
        self._thread.start()
        try:
            self.engine = self.run(connect())
        except BaseException:
            self._stop()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine in the thread, and return its result."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start the coroutine in the thread, without waiting."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Close the engine, and end the thread."""
        try:
            self.run(self.engine.close())
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


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

_VERSION = 1
_HEAD = struct.Struct(">IBBQI")
"""Checksum of all that follows, version, kind, offset, size."""
_CHECKSUM = struct.Struct(">I")
_LEVEL = 3
_MOST_WINDOW = 1 << 23
_SLICE_BYTES = 1 << 10
"""Compressed bytes that are expanded at a time: what a slice may become is bounded."""


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
    """Encode the entry."""
    head = _HEAD.pack(0, _VERSION, entry.kind, entry.offset, entry.size)
    behind = head[_CHECKSUM.size :] + entry.content
    return _CHECKSUM.pack(crc32(behind)) + behind


def unpack_entry(packed: bytes) -> ReplicaEntry:
    """Decode an entry; its content stays compressed."""
    try:
        checksum, version, kind, offset, size = _HEAD.unpack_from(packed)
        if checksum != crc32(memoryview(packed)[_CHECKSUM.size :]):
            raise ValueError("its checksum is wrong")
        entry = ReplicaEntry(EntryKind(kind), offset, size, packed[_HEAD.size :])
    except (struct.error, ValueError) as error:
        raise EngineError(f"it is damaged, or no minicrawl made it: {error}") from error
    if version != _VERSION:
        raise EngineError(
            f"it is of version {version}, and this minicrawl knows {_VERSION}: upgrade it"
        )
    if size > PIECE_BYTES:
        raise EngineError(f"it has {size:,} bytes, and {PIECE_BYTES:,} may be")
    return entry


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
        """Return the WAL bytes of an entry."""
        piece, content = bytearray(), entry.content
        try:
            for begin in range(0, len(content), _SLICE_BYTES):
                piece += self._stream.decompress(content[begin : begin + _SLICE_BYTES])
                if len(piece) > entry.size:
                    break
        except zstandard.ZstdError as error:
            raise EngineError(f"the log is damaged: {error}") from error
        if len(piece) != entry.size:
            raise EngineError("the log is damaged: an entry has not as many bytes as it says")
        return bytes(piece)


# ================================================================ snapshots
#
# A snapshot is the file of a store in the object store, and the log entry up to which it goes.
#
# Laws: the key of a shard names a snapshot only when that is complete. A later snapshot replaces an
# earlier one, never the reverse, whoever made it. The log is cut only behind the named snapshot.

_LEVEL_SNAPSHOTS = 1
_COPIED_BYTES = 1 << 20


class StoreSnapshot(NamedTuple):
    """Value of the snapshot key."""

    object: str
    entry: int
    """The last log entry that the snapshot includes."""
    size: int
    """Size of the file before compression."""


def snapshot_key(shard: int) -> str:
    """Return the name of the snapshot key."""
    return f"snapshot.{shard}"


async def last_snapshot(engine: ClusterEngine, shard: int) -> StoreSnapshot | None:
    """Return the current snapshot of the shard, or None."""
    return _read(await engine.get(snapshot_key(shard)))


async def store_snapshot(
    engine: ClusterEngine, shard: int, file: Path, entry: int
) -> StoreSnapshot:
    """Store a snapshot as of this entry, and remove older snapshots and log entries.

    Returns the current snapshot, which another node may have made.
    """
    name = f"shard-{shard}-{entry}-{token_hex(8)}"
    compressed = file.with_name(f"{file.name}-snapshot")
    try:
        await to_thread(_compress, file, compressed)
        snapshot = StoreSnapshot(name, entry, file.stat().st_size)
        await engine.put_object(name, compressed)
    finally:
        compressed.unlink(missing_ok=True)
    counts = await _name(engine, shard, snapshot)
    await engine.remove_entries(shard, counts.entry)
    await _remove_older(engine, shard, counts)
    return counts


async def load_snapshot(engine: ClusterEngine, snapshot: StoreSnapshot, file: Path) -> None:
    """Write the file of the store."""
    compressed = file.with_name(f"{file.name}-snapshot")
    try:
        await engine.get_object(snapshot.object, compressed)
        await to_thread(_decompress, compressed, file, snapshot.size)
    finally:
        compressed.unlink(missing_ok=True)


async def _name(engine: ClusterEngine, shard: int, snapshot: StoreSnapshot) -> StoreSnapshot:
    """Make the key name this snapshot, or return the later one that it names."""
    value = json.dumps(snapshot).encode()
    while True:
        found = await engine.get(snapshot_key(shard))
        there = _read(found)
        if there is not None and there.entry >= snapshot.entry:
            return there
        with suppress(KeyTaken):
            if found is None:
                await engine.create(snapshot_key(shard), value)
            else:
                await engine.update(snapshot_key(shard), value, found.revision)
            return snapshot


async def _remove_older(engine: ClusterEngine, shard: int, counts: StoreSnapshot) -> None:
    """Delete snapshots of earlier entries.

    A snapshot of a later entry may not have been named yet, so it is left alone.
    """
    for name in await engine.objects():
        kind, _, rest = name.partition("-")
        number, _, rest = rest.partition("-")
        entry = rest.partition("-")[0]
        is_ours = kind == "shard" and number == str(shard) and entry.isdecimal()
        if is_ours and int(entry) <= counts.entry and name != counts.object:
            await engine.delete_object(name)


def _read(found: KeyEntry | None) -> StoreSnapshot | None:
    if found is None or found.value is None:
        return None
    try:
        name, entry, size = json.loads(found.value)
        if not isinstance(name, str) or not all(map(_is_count, (entry, size))):
            raise ValueError("it names no snapshot")
        return StoreSnapshot(name, entry, size)
    except (TypeError, ValueError, RecursionError) as error:
        raise EngineError(f"the key {found.key} is damaged: {error}") from error


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _compress(file: Path, to: Path) -> None:
    with file.open("rb") as source, to.open("wb") as target:
        zstandard.ZstdCompressor(level=_LEVEL_SNAPSHOTS).copy_stream(source, target)


def _decompress(file: Path, to: Path, size: int) -> None:
    """Decompress at most `size` bytes: a few bytes may claim to be an endless file."""
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
# Builds a store from the last snapshot and the log behind it, and takes a shard over.
#
# Laws: restoring changes nothing in the engine, and disturbs no writer. An empty entry has no
# commit and is none of ours, so it is skipped. An entry that may have been a commit is never
# skipped.

WHAT_TO_DO = (
    "What it had may count, so it is not skipped: put a copy of the servers' files back that was "
    "made before, or crawl anew under another name, as with --cluster nats://host:4222/again"
)
"""Advice where a log entry cannot be read."""

_TRIES = 5
_TAKES = 100
_LEADERS = 10


class Restored(NamedTuple):
    """Result of `restore`."""

    entry: int
    """The last log entry that the store includes."""
    log_bytes: int
    """Size of the entries that were read behind the snapshot."""


def ignore(_line: str) -> None:
    """Discard a message."""


async def restore(
    engine: ClusterEngine,
    shard: int,
    path: Path,
    until: int | None = None,
    tell: Callable[[str], None] = ignore,
) -> Restored:
    """Write the store of a shard to `path`, in place of any older file.

    A shard without a log gives a file without tables. Entries behind `until`, which the log must
    have, are left out unless the snapshot includes them.
    """
    for _ in range(_TRIES):
        try:
            restored = await _restore(engine, shard, path, until, tell)
        except _OvertakenError:
            continue  # a newer snapshot has replaced entries of the log
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
    """Fence off all earlier writers of the shard, and restore its store.

    A later `take_over` fences this one in turn. The holder told that the log has `least` entries,
    so a server that knows fewer has lost some and is not believed.
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
    """Return the last entry of a log that has at least `least` entries.

    A leader that knows fewer entries is made to step down.
    """
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
            async for number, content in entries:
                if until is not None and number > until:
                    break
                if number != last + 1:  # a refused message lies between, or entries were removed
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
    """Raise _OvertakenError if unread entries are gone."""
    if (await engine.log_span(shard)).first > last + 1:
        raise _OvertakenError


class _Folding:
    """Folds one WAL after another into the file of a store."""

    def __init__(self, path: Path) -> None:
        self._path, self._log = path, wal.log_of(path)
        self._stream: WalDecompressor | None = None
        self._size = 0

    def add(self, entry: ReplicaEntry) -> None:
        """Append the next entry to its WAL."""
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
        """Fold the current WAL into the file."""
        if self._stream is not None:
            wal.fold(self._path)
        self._stream, self._size = None, 0

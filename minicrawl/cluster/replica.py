"""The store of a shard, kept in the engine: each commit counts when it is in the log there.

The log of a shard is the write-ahead log of its SQLite store, byte by byte. A snapshot is its file
as of the beginning of such a log; what the log has before it is removed.

entries     what an entry of the log says
snapshots   the file of a store in the object store, and up to which entry it goes
engine_thread  who waits for the engine while the crawl goes on
shipping    what `StoreWriter` tells of its commits goes to the engine
restoring   a store made of its last snapshot and the log behind it; who takes a shard over

Laws: an entry is appended only behind the last one that its writer knows, so a writer that lost the
shard is refused. A store that was restored is what its writer had after its last commit that the
engine confirmed; a later one that was cut off does not count.
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
# A thread with a loop and a connection to the engine of its own: no other work delays it.

T = TypeVar("T")
Connect = Callable[[], Coroutine[Any, Any, ClusterEngine]]


class EngineThread:
    """A thread with an event loop and an engine of its own."""

    def __init__(self, connect: Connect) -> None:
        """`connect` is called in the thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="replica", daemon=True)
        self._thread.start()
        try:
            self.engine = self.run(connect())
        except BaseException:
            self._stop()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there, and wait for what comes of it."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Do it there meanwhile."""
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
# What an entry of the log of a shard says.
#
# Law: nothing that came from the engine is trusted. An entry that no replica makes is refused, and
# none takes more memory than its size allows.
#
# The bytes of one write-ahead log are compressed as one stream, over many entries: commits that
# follow each other write the same pages again, which then cost next to nothing.

PIECE_BYTES = 3 << 17
"""Of a write-ahead log, in one entry. What zstd adds to incompressible bytes still fits."""

_VERSION = 1
_HEAD = struct.Struct(">IBBQI")
"""A checksum of all behind it, version, kind, offset, size."""
_CHECKSUM = struct.Struct(">I")
_LEVEL = 3
_MOST_WINDOW = 1 << 23
_SLICE_BYTES = 1 << 10
"""Decompressed at once: what a slice may become is bounded."""


class EntryKind(IntEnum):
    """What an entry has."""

    MORE = 0
    """The next bytes of the write-ahead log."""
    FIRST = 1
    """The first bytes of a new one; all before it is in the file."""
    TAKEN = 2
    """Nothing: another node has taken the shard over. The next one is the first of a new log."""


class ReplicaEntry(NamedTuple):
    """An entry, as it is in the log."""

    kind: EntryKind
    offset: int
    """In the write-ahead log, before compression."""
    size: int
    """Before compression."""
    content: bytes


def pack_entry(entry: ReplicaEntry) -> bytes:
    """The entry as bytes."""
    head = _HEAD.pack(0, _VERSION, entry.kind, entry.offset, entry.size)
    behind = head[_CHECKSUM.size :] + entry.content
    return _CHECKSUM.pack(crc32(behind)) + behind


def unpack_entry(packed: bytes) -> ReplicaEntry:
    """The entry; its content is still compressed."""
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
    """Compresses the pieces of one write-ahead log."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdCompressor(level=_LEVEL).compressobj()

    def compress(self, piece: bytes) -> bytes:
        """All that is needed to have this piece, if the ones before are there."""
        compressed = self._stream.compress(piece)
        return compressed + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class WalDecompressor:
    """The other way round."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).decompressobj()

    def decompress(self, entry: ReplicaEntry) -> bytes:
        """The bytes of the write-ahead log."""
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
# Snapshots: the file of a store in the object store, and up to which entry of the log it goes.
#
# Laws: a snapshot is named in the key of its shard when it is complete. A later one replaces an
# earlier one, never the other way round, whoever made it. The log is cut only behind what the key
# names.

_LEVEL_SNAPSHOTS = 1
_COPIED_BYTES = 1 << 20


class StoreSnapshot(NamedTuple):
    """What the key says."""

    object: str
    entry: int
    """The last entry of the log that is in it."""
    size: int
    """Of the file, before compression."""


def snapshot_key(shard: int) -> str:
    """The key of the snapshot of a shard."""
    return f"snapshot.{shard}"


async def last_snapshot(engine: ClusterEngine, shard: int) -> StoreSnapshot | None:
    """The snapshot of a shard, if there is one."""
    return _read(await engine.get(snapshot_key(shard)))


async def store_snapshot(
    engine: ClusterEngine, shard: int, file: Path, entry: int
) -> StoreSnapshot:
    """Keep the file as of this entry, and remove what is older; the snapshot that counts then."""
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
    """Let the key name the snapshot, unless it names a later one."""
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
    """Those of earlier entries. One of a later entry may be on its way into the key."""
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
    """No more than its size: a few bytes may say that a file is endless."""
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
# A store made of its last snapshot and the log behind it; and who takes a shard over.
#
# Laws: restoring changes nothing in the engine, and disturbs nobody who writes. An empty entry has
# no commit, is none of ours and is skipped; one that may have been a commit is never skipped.

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

"""A snapshot is the compressed file of a store, as of one entry of the shard's log.

The log of snapshots has its bytes, or with `--objects` only its name. Then a bucket has the bytes,
and a key of that name has the stub that leads there (`archive.objects.moved_file`). The key is
there first, so whoever deletes it deletes the object before, and both after the next WHOLE entry.

    1-4  FIRST, MORE  bytes of a snapshot
    5    WHOLE        it includes the shard's log up to entry 97; 1 to 97 are removed there
    6    TAKEN        by a node that reads 1 to 5
    7-8  FIRST, MORE  bytes of the next one
    9    WHOLE        1 to 6 are removed here

Laws: the last WHOLE entry counts, so bytes of a node that was killed before are never read as a
snapshot. Entries of the shard's log are removed only up to a whole snapshot.
"""

import re
from asyncio import to_thread
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from secrets import token_hex

import zstandard

from minicrawl.archive.objects import moved_file
from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable
from minicrawl.cluster.records import SnapshotRecord
from minicrawl.cluster.replica.entries import PIECE_BYTES, Entry, EntryKind
from minicrawl.cluster.replica.shard_log import LogWriter, Overtaken, replay
from minicrawl.errors import Damaged, Unnamed, Unreachable

MOST_WINDOW = 1 << 23
_LEVEL = 1
_COPIED_BYTES = 1 << 20
_MOVED_PREFIX = "moved."
_NAME = re.compile(r"shard-[0-9]+-([0-9]+)-[0-9a-f]+")


async def load_snapshot(
    engine: ClusterEngine, shard: int, file: Path
) -> tuple[SnapshotRecord | None, int]:
    """Write the last snapshot to a file, if there is one; return it, and the end of the log.

    Raises Overtaken if a later one replaces it meanwhile.
    """
    draft, compressed = file.with_name(f"{file.name}.draft"), file.with_name(f"{file.name}.zst")
    last: SnapshotRecord | None = None
    last_number = 0

    def add(entry: Entry, number: int) -> None:
        nonlocal last, last_number
        if entry.kind is EntryKind.WHOLE:
            last, last_number = SnapshotRecord.unpack("a snapshot", entry.content), number
            if not last.object:
                draft.replace(compressed)
        elif entry.kind is not EntryKind.TAKEN:
            with draft.open("wb" if entry.kind is EntryKind.FIRST else "ab") as written:
                if written.tell() != entry.place:
                    raise EngineError("bytes of a snapshot are missing")
                written.write(entry.content)

    before = (await engine.snapshots.log_span(shard)).first - 1
    try:
        end, _ = await replay(engine.snapshots, shard, before, add, log="snapshots")
        if last is not None:
            if last.object:
                try:
                    await _bring_back(engine, shard, last.object, compressed)
                except EngineUnavailable:
                    if (await engine.snapshots.log_span(shard)).first > last_number:
                        raise Overtaken from None
                    raise
            await to_thread(_decompress, compressed, file, last.size)
    finally:
        draft.unlink(missing_ok=True)
        compressed.unlink(missing_ok=True)
    return last, end


async def _bring_back(engine: ClusterEngine, shard: int, name: str, file: Path) -> None:
    """Fetch the bytes of a snapshot from its bucket."""
    if not _NAME.fullmatch(name):
        raise EngineError(f"{name!a} is no name of a snapshot")
    moved = file.with_name(name)
    stub = await engine.get(f"{_MOVED_PREFIX}{shard}.{name}")
    try:
        if stub is None:
            raise EngineUnavailable(f"the servers do not know where {name} is")
        moved_file.stub_path(moved).write_bytes(stub.value or b"")
        await to_thread(_fetch, moved)
        moved.replace(file)
    except Unnamed:
        raise
    except (Damaged, Unreachable) as error:
        raise EngineUnavailable(f"{error}; it is a snapshot") from error
    finally:
        moved.unlink(missing_ok=True)
        moved_file.stub_path(moved).unlink(missing_ok=True)


class SnapshotWriter:
    """Writing end of the log of a shard's snapshots, which was taken over with entry `last`."""

    def __init__(self, engine: ClusterEngine, shard: int, file: Path, last: int) -> None:
        self._engine, self._shard, self._file = engine, shard, file
        self._log = LogWriter(engine.snapshots, shard, last)

    async def store(self, entry: int, url: str | None = None) -> None:
        """Store a snapshot of the file as of this entry, and remove what it replaces.

        `url` is that of a bucket for it.
        """
        name, first = f"shard-{self._shard}-{entry}-{token_hex(8)}", 0
        compressed = self._file.with_name(name)
        try:
            await to_thread(_compress, self._file, compressed)
            size = self._file.stat().st_size
            if url is None:
                first, name = await self._send(compressed), ""
            else:
                stub = await to_thread(moved_file.write_stub, compressed, url)
                content = moved_file.stub_path(compressed).read_bytes()
                await self._engine.put(f"{_MOVED_PREFIX}{self._shard}.{name}", content)
                await to_thread(moved_file.put_whole, stub, compressed)
        finally:
            compressed.unlink(missing_ok=True)
            moved_file.stub_path(compressed).unlink(missing_ok=True)
        record = SnapshotRecord(object=name, entry=entry, size=size)
        last = await self._log.append(Entry(EntryKind.WHOLE, content=record.pack()))
        await self._engine.remove_entries(self._shard, entry)
        await self._engine.snapshots.remove_entries(self._shard, (first or last) - 1)
        await remove_moved(self._engine, self._shard, self._file.parent, entry, name)

    async def _send(self, compressed: Path) -> int:
        """Append the bytes, and return the number of the first entry."""
        first, kind = 0, EntryKind.FIRST
        with compressed.open("rb") as source:
            while piece := await to_thread(source.read, PIECE_BYTES):
                place = source.tell() - len(piece)
                number = await self._log.append(Entry(kind, place, piece))
                first, kind = first or number, EntryKind.MORE
        return first


async def remove_moved(
    engine: ClusterEngine, shard: int, folder: Path, until: int, other_than: str = ""
) -> None:
    """Delete what buckets have of the shard's snapshots up to an entry of its log."""
    for key in await engine.keys(f"{_MOVED_PREFIX}{shard}."):
        name = key.key.rpartition(".")[2]
        # A snapshot of a later entry may be under way, so it is left alone.
        of = _NAME.fullmatch(name)
        if of and int(of[1]) <= until and name != other_than:
            with suppress(Unreachable):  # the next snapshot deletes it
                stub = moved_file.stub_path(folder / name)
                stub.write_bytes(key.value or b"")
                with suppress(Damaged):  # no node wrote it
                    await to_thread(moved_file.delete_object, folder / name)
                stub.unlink(missing_ok=True)
                await engine.delete(key.key)


def _fetch(file: Path) -> None:
    if (stub := moved_file.stub_of(file)) is not None:
        moved_file.bring_back(file, stub.length)
        with file.open("rb") as content:
            if file_digest(content, "sha256").hexdigest() != stub.sha256:
                raise Damaged(f"{stub.url}/{stub.key} is damaged")


def _compress(file: Path, to: Path) -> None:
    with file.open("rb") as source, to.open("wb") as target:
        zstandard.ZstdCompressor(level=_LEVEL).copy_stream(source, target)


def _decompress(file: Path, to: Path, size: int) -> None:
    """Decompress a file that must give `size` bytes: a few bytes may expand without end."""
    with file.open("rb") as source, to.open("wb") as target:
        reader = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).stream_reader(source)
        written = 0
        try:
            while written <= size and (piece := reader.read(_COPIED_BYTES)):
                target.write(piece)
                written += len(piece)
        except zstandard.ZstdError as error:
            raise EngineError(f"a snapshot is damaged: {error}") from error
    if written != size:
        raise EngineError(f"a snapshot has {written:,} bytes, and should have {size:,}")

"""A snapshot is the file of a store as an object, and the log entry up to which it goes.

The servers have the object, or with `--objects` only its stub (`archive.objects.moved_file`), and a
bucket has its bytes. The stub is there first, so whoever deletes it deletes what it names before.

Laws: the key of a shard names a snapshot only when that is complete. A later snapshot replaces an
earlier one, never the reverse, no matter which node made it. Entries are removed only up to the
named snapshot.
"""

import re
from asyncio import to_thread
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from secrets import token_hex

import zstandard

from minicrawl.archive.objects import moved_file
from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable, KeyTaken
from minicrawl.cluster.records import SnapshotRecord
from minicrawl.cluster.replica.entries import MOST_WINDOW
from minicrawl.errors import Damaged, Unnamed, Unreachable

_LEVEL_SNAPSHOTS = 1
_COPIED_BYTES = 1 << 20
_NAME = re.compile(r"shard-([0-9]+)-([0-9]+)-[0-9a-f]+(?:\.object)?")


def snapshot_key(shard: int) -> str:
    return f"snapshot.{shard}"


async def last_snapshot(engine: ClusterEngine, shard: int) -> SnapshotRecord | None:
    return SnapshotRecord.of(await engine.get(snapshot_key(shard)))


async def store_snapshot(
    engine: ClusterEngine, shard: int, file: Path, entry: int, url: str | None = None
) -> SnapshotRecord:
    """Store a snapshot as of this entry, and remove older snapshots and log entries.

    `url` is that of a bucket for it. Returns the current one, which another node may have made.
    """
    name, stub = f"shard-{shard}-{entry}-{token_hex(8)}", None
    compressed = file.with_name(name)
    try:
        await to_thread(_compress, file, compressed)
        size = file.stat().st_size
        if url is None:
            await engine.put_object(name, compressed)
        else:
            stub = await to_thread(moved_file.write_stub, compressed, url)
            await engine.put_object(
                name := f"{name}{moved_file.STUB}", moved_file.stub_path(compressed)
            )
            await to_thread(moved_file.put_whole, stub, compressed)
        snapshot = SnapshotRecord(object=name, entry=entry, size=size)
    finally:
        compressed.unlink(missing_ok=True)
        moved_file.stub_path(compressed).unlink(missing_ok=True)
    while True:  # the key names this snapshot, unless it names a later one
        named = await engine.get(snapshot_key(shard))
        known = SnapshotRecord.of(named)
        current = snapshot if known is None or known.entry < entry else known
        if current is known:
            if stub is not None and current.object != name:
                await to_thread(stub.bucket.delete, stub.key)
            break
        with suppress(KeyTaken):
            revision = named.revision if named else 0
            await engine.update(snapshot_key(shard), snapshot.pack(), revision)
            break
    await engine.remove_entries(shard, current.entry)
    # A snapshot of a later entry may not have been named yet, so it is left alone.
    for name in await engine.objects():
        of = _NAME.fullmatch(name)
        is_older = of and int(of[1]) == shard and int(of[2]) <= current.entry
        if is_older and name != current.object:
            with suppress(Unreachable):  # the next snapshot deletes it
                await remove_object(engine, name, file.parent)
    return current


async def remove_object(engine: ClusterEngine, name: str, folder: Path) -> None:
    """Delete an object of a crawl; of a snapshot also what a bucket has of it."""
    if _NAME.fullmatch(name) and name.endswith(moved_file.STUB):
        try:
            await engine.get_object(name, folder / name)
            await to_thread(moved_file.delete_object, folder / name.removesuffix(moved_file.STUB))
        except EngineUnavailable:
            raise
        except (EngineError, Damaged):
            pass  # another node has deleted it, or none wrote it
    await engine.delete_object(name)


async def load_snapshot(engine: ClusterEngine, snapshot: SnapshotRecord, file: Path) -> None:
    if not _NAME.fullmatch(snapshot.object):
        raise EngineError(f"{snapshot.object!a} is no name of a snapshot")
    here = file.with_name(snapshot.object)
    compressed = here.with_name(here.name.removesuffix(moved_file.STUB))
    try:
        await engine.get_object(snapshot.object, here)
        if here != compressed:
            await to_thread(_fetch, compressed)
        await to_thread(_decompress, compressed, file, snapshot.size)
    finally:
        compressed.unlink(missing_ok=True)
        here.unlink(missing_ok=True)


def _fetch(file: Path) -> None:
    """Bring the bytes of a snapshot back from its bucket."""
    try:
        if (stub := moved_file.stub_of(file)) is not None:
            moved_file.bring_back(file, stub.length)
            with file.open("rb") as content:
                if file_digest(content, "sha256").hexdigest() != stub.sha256:
                    raise Damaged(f"{stub.url}/{stub.key} is damaged")
    except Unnamed:
        raise
    except (Damaged, Unreachable) as error:
        raise EngineUnavailable(f"{error}; it is a snapshot") from error


def _compress(file: Path, to: Path) -> None:
    with file.open("rb") as source, to.open("wb") as target:
        zstandard.ZstdCompressor(level=_LEVEL_SNAPSHOTS).copy_stream(source, target)


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

"""A snapshot is the file of a store in the object store, and the log entry up to which it goes.

Laws: the key of a shard names a snapshot only when that is complete. A later snapshot replaces an
earlier one, never the reverse, no matter which node made it. Entries are removed only up to the
named snapshot.
"""

from asyncio import to_thread
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import zstandard

from minicrawl.cluster.engine import ClusterEngine, EngineError, KeyTaken
from minicrawl.cluster.records import SnapshotRecord
from minicrawl.cluster.replica.entries import MOST_WINDOW

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
    while True:  # the key names this snapshot, unless it names a later one
        named = await engine.get(snapshot_key(shard))
        known = SnapshotRecord.of(named)
        current = snapshot if known is None or known.entry < entry else known
        if current is known:
            break
        with suppress(KeyTaken):
            revision = named.revision if named else 0
            await engine.update(snapshot_key(shard), snapshot.pack(), revision)
            break
    await engine.remove_entries(shard, current.entry)
    # A snapshot of a later entry may not have been named yet, so it is left alone.
    for name in await engine.objects():
        kind, number, last, *_ = [*name.split("-"), "", "", ""]
        is_ours = kind == "shard" and number == str(shard) and last.isdecimal()
        if is_ours and int(last) <= current.entry and name != current.object:
            await engine.delete_object(name)
    return current


async def load_snapshot(engine: ClusterEngine, snapshot: SnapshotRecord, file: Path) -> None:
    compressed = file.with_name(f"{file.name}-snapshot")
    try:
        await engine.get_object(snapshot.object, compressed)
        await to_thread(_decompress, compressed, file, snapshot.size)
    finally:
        compressed.unlink(missing_ok=True)


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

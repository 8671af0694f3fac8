"""Snapshots: the file of a store in the object store, and up to which entry of the log it goes.

Laws: a snapshot is named in the key of its shard when it is complete. A later one replaces an
earlier one, never the other way round, whoever made it. The log is cut only behind what the key
names.
"""

import json
from asyncio import to_thread
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import zstandard

from minicrawl.cluster.engine import ClusterEngine, EngineError, KeyEntry, KeyTaken

_LEVEL = 1
_COPIED_BYTES = 1 << 20
_MOST_WINDOW = 1 << 23


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
        zstandard.ZstdCompressor(level=_LEVEL).copy_stream(source, target)


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

"""Format of the entries in the three logs of a shard: of its store, its kept pages, its snapshots.

An entry has a kind, a place and bytes, and its checksum is before them.

    kind    in the log of the store  of kept pages                    of snapshots
    FIRST   bytes that begin a WAL                                    bytes that begin a snapshot
    MORE    bytes from this place    bytes from this place            bytes from this place
    TAKEN   another node has taken the shard over: earlier writers are refused
    MOVED                            stubs of segments before a place
    WHOLE                                                             a `SnapshotRecord`

Law: nothing from the engine is trusted: bytes that no node writes are refused.
"""

import struct
from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

from minicrawl.cluster.engine import EngineError

PIECE_BYTES = 3 << 17
"""Bytes in one entry. Incompressible bytes still fit after zstd has added its overhead."""

_VERSION = 2
_HEAD = struct.Struct(">IBBQ")
"""Checksum of all that follows, version, kind, place."""
_CHECKSUM = struct.Struct(">I")


class EntryKind(IntEnum):
    MORE = 0
    FIRST = 1
    TAKEN = 2
    MOVED = 3
    WHOLE = 4


class Entry(NamedTuple):
    kind: EntryKind
    place: int = 0
    """Position of the bytes, before compression, in the WAL, the archive or the snapshot."""
    content: bytes = b""


def pack(entry: Entry) -> bytes:
    checked = _HEAD.pack(0, _VERSION, entry.kind, entry.place)[_CHECKSUM.size :] + entry.content
    return _CHECKSUM.pack(crc32(checked)) + checked


def unpack(packed: bytes) -> Entry:
    """Decode an entry; its content stays compressed."""
    try:
        checksum, version, kind, place = _HEAD.unpack_from(packed)
        if checksum != crc32(memoryview(packed)[_CHECKSUM.size :]):
            raise ValueError("its checksum is wrong")
        if version == _VERSION:
            return Entry(EntryKind(kind), place, packed[_HEAD.size :])
    except (struct.error, ValueError) as error:
        raise EngineError(f"it is damaged, or no minicrawl made it: {error}") from error
    raise EngineError(
        f"it has version {version}, but this minicrawl reads {_VERSION}: upgrade minicrawl"
    )

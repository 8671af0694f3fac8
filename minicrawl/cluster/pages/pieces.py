"""A piece of the archive of a shard, as an entry of the log of its kept pages.

Laws: nothing that came from the engine is trusted: an entry that no shard makes is refused. A piece
says where it begins; what earlier pieces have from there on does not count any more.

piece   bytes that lie behind each other in one segment; records begin and end anywhere in it
"""

import struct
from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

from minicrawl.cluster.engine import EngineError

PIECE_BYTES = 3 << 17

_VERSION = 1
_HEAD = struct.Struct(">IBBQ")
"""A checksum of all behind it, version, kind, place."""
_CHECKSUM = struct.Struct(">I")


class PieceKind(IntEnum):
    """What an entry has."""

    MORE = 0
    """Bytes of the archive."""
    TAKEN = 1
    """Nothing: another node has taken the shard over."""


class ArchivePiece(NamedTuple):
    """An entry, as it is in the log."""

    kind: PieceKind
    place: int
    content: bytes


def pack_piece(piece: ArchivePiece) -> bytes:
    """The entry as bytes. Records are compressed already."""
    behind = _HEAD.pack(0, _VERSION, piece.kind, piece.place)[_CHECKSUM.size :] + piece.content
    return _CHECKSUM.pack(crc32(behind)) + behind


def unpack_piece(packed: bytes) -> ArchivePiece:
    """The entry."""
    try:
        checksum, version, kind, place = _HEAD.unpack_from(packed)
        if checksum != crc32(memoryview(packed)[_CHECKSUM.size :]):
            raise ValueError("its checksum is wrong")
        piece = ArchivePiece(PieceKind(kind), place, packed[_HEAD.size :])
    except (struct.error, ValueError) as error:
        raise EngineError(
            f"the log of kept pages has an entry that no minicrawl made: {error}"
        ) from error
    if version != _VERSION:
        raise EngineError(
            f"the log of kept pages has an entry of version {version}, and this minicrawl knows "
            f"{_VERSION}: upgrade it"
        )
    return piece

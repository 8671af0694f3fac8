"""Format of an entry in the log of a shard.

Law: nothing from the engine is trusted. An entry that no replica writes is refused, and no entry
takes more memory than its size allows.

All entries of one WAL form one compressed stream. Successive commits write the same pages again,
which then cost next to nothing.
"""

import struct
from enum import IntEnum
from typing import NamedTuple

import zstandard

from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.log_writer import pack_frame, unpack_frame

PIECE_BYTES = 3 << 17
"""WAL bytes in one entry. Incompressible bytes still fit after zstd has added its overhead."""

_HEAD = struct.Struct(">QI")
"""Offset, size."""
_LEVEL = 3
MOST_WINDOW = 1 << 23
_SLICE_BYTES = 1 << 10
"""Compressed bytes expanded at a time, which bounds the expanded size."""


class EntryKind(IntEnum):
    MORE = 0
    """The next bytes of the current WAL."""
    FIRST = 1
    """The first bytes of a new WAL; all before it has been folded into the file."""
    TAKEN = 2
    """No bytes: another node has taken the shard over. The next entry is FIRST."""


class ReplicaEntry(NamedTuple):
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
    kind, (offset, size), content = unpack_frame(packed, EntryKind, _HEAD)
    if size > PIECE_BYTES:
        raise EngineError(f"it has {size:,} bytes, more than the limit of {PIECE_BYTES:,}")
    return ReplicaEntry(kind, offset, size, content)


class WalCompressor:
    def __init__(self) -> None:
        self._stream = zstandard.ZstdCompressor(level=_LEVEL).compressobj()

    def compress(self, piece: bytes) -> bytes:
        """Return bytes that restore this piece, given all pieces before it."""
        compressed = self._stream.compress(piece)
        return compressed + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class WalDecompressor:
    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).decompressobj()

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

"""What an entry of the log of a shard says.

Law: nothing that came from the engine is trusted. An entry that no replica makes is refused, and
none takes more memory than its size allows.

The bytes of one write-ahead log are compressed as one stream, over many entries: commits that
follow each other write the same pages again, which then cost next to nothing.
"""

import struct
from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

import zstandard

from minicrawl.cluster.engine import EngineError

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

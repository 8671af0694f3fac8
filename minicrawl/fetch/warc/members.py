"""The bytes of a WARC file: plain, or decompressed, member by member.

member   a gzip member or a zstd frame: usually one record; a plain file is one member
damage   bytes that cannot be decompressed: the rest of their member is lost, and no other one

Laws: no more is held than some pieces, whatever a member swells to. A file gives at most
`MOST_SWELLING` times what was read of it, beyond the first `ALWAYS_UNPACKED` bytes: the member that
would give more is damaged there. A member that is whole is found behind any damage, if it begins
with a record.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO, NamedTuple, Protocol

import zstandard

from minicrawl.fetch.warc.files import WarcFile

BEGIN = b"WARC/"
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""Begins the frame of the dictionary with which a file is compressed."""
_GZIP_WRAPPING = 31  # zlib's number
_READ_BYTES = 1 << 16
_GIVEN_BYTES = 1 << 18
_BITE = 2048
"""Bytes; of zstd, each four of them may be a block of 128 KiB."""
_ZSTD_WINDOW = 1 << 27
_MOST_DICTIONARY_BYTES = 1 << 25
_SEARCHED_BYTES, _SEARCHED_AT_MOST = 1 << 14, 1 << 20
"""The first piece is small: files with much damage have their members close together."""
_TRIED_BYTES = 4096
_HEAD = 8
MOST_SWELLING = 100
"""Pages of real crawls swell 3 to 20 times."""
ALWAYS_UNPACKED = 1 << 24


class DamagedMember(Exception):
    """The message says what is wrong; the member ends here."""


class _Decoded(NamedTuple):
    given: bytes
    left: bytes
    """Of the input, for the next step or the next member."""
    ended: bool


class _Decoder(Protocol):
    def decode(self, piece: bytes) -> _Decoded: ...


class _Inflating:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_WRAPPING)

    def decode(self, piece: bytes) -> _Decoded:
        given = self._stream.decompress(piece, _GIVEN_BYTES)
        if self._stream.eof:
            return _Decoded(given, self._stream.unused_data, True)
        return _Decoded(given, self._stream.unconsumed_tail, False)


class _Unzstd:
    def __init__(self, dictionary: zstandard.ZstdCompressionDict | None) -> None:
        options = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_ZSTD_WINDOW)
        self._stream = options.decompressobj()

    def decode(self, piece: bytes) -> _Decoded:
        given = self._stream.decompress(piece[:_BITE])
        left = self._stream.unused_data + piece[_BITE:]
        return _Decoded(given, left, self._stream.eof)


class _Plain:
    def decode(self, piece: bytes) -> _Decoded:
        return _Decoded(piece, b"", False)


class _RawBytes:
    """The bytes of a file as they lie in it; `held` has those that were read and not used yet."""

    def __init__(self, file: WarcFile) -> None:
        self._file: BinaryIO = file.path.open("rb")
        self._begin, self.length = file.begin, file.length
        self.go_to(0)

    def close(self) -> None:
        self._file.close()

    @property
    def at(self) -> int:
        """Where the held bytes begin in the file."""
        return self._read - len(self.held)

    def hold(self, count: int) -> None:
        """Hold so many bytes, fewer if the file ends."""
        while len(self.held) < count and self.hold_more():
            pass

    def hold_more(self) -> bool:
        """Hold one more piece; False at the end of the file."""
        piece = self._file.read(min(_READ_BYTES, self.length - self._read))
        self._read += len(piece)
        self.held += piece
        return bool(piece)

    def piece(self, place: int, count: int) -> bytes:
        """So many bytes of the file; none are held any more."""
        self.go_to(place)
        return self._file.read(min(count, self.length - place))

    def go_to(self, place: int) -> None:
        self._file.seek(self._begin + place)
        self.held, self._read = b"", place


class Members:
    """The members of a file, one after the other; `buffer` has what was decoded of this one."""

    def __init__(self, file: WarcFile) -> None:
        self._raw = _RawBytes(file)
        self._allowance = ALWAYS_UNPACKED
        self.begin = 0
        """Where this member begins in the file."""
        self.buffer = bytearray()
        self.offset = 0
        """How much of the member was taken from it."""
        self._decoder: _Decoder | None = None
        self._dictionary: zstandard.ZstdCompressionDict | None = None
        self.is_plain = False

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    @property
    def share(self) -> float:
        """How much of the file was read, from 0 to 1."""
        return self._raw.at / max(self._raw.length, 1)

    @property
    def place(self) -> int:
        """Where we are: in the file, if it is plain, or where the member begins."""
        return self.begin + self.offset if self.is_plain else self.begin

    # ------------------------------------------------------------ members

    def open_next(self) -> bool:
        """Go to the next member; False at the end of the file. Raises `DamagedMember`."""
        self.buffer.clear()
        self.offset = 0
        self._decoder = None
        self._raw.hold(_HEAD)
        self.begin = self._raw.at
        if not self._raw.held:
            return False
        if self._raw.held.startswith(_ZSTD_DICTIONARY):
            self._read_dictionary()
            return self.open_next()
        self._decoder = self._decoder_of(self._raw.held)
        self.is_plain = isinstance(self._decoder, _Plain)
        return True

    def skip_damage(self) -> int:
        """Go to where the next member that begins with a record may begin; how far that was."""
        begin = self.begin
        at, count = begin + 1, _SEARCHED_BYTES
        while True:
            piece = self._raw.piece(at, count)
            found = self._first_member(piece)
            if found is not None:
                self._raw.go_to(at + found)
                return at + found - begin
            if len(piece) <= _TRIED_BYTES:
                self._raw.go_to(self._raw.length)
                return self._raw.length - begin
            at += len(piece) - _TRIED_BYTES
            count = min(4 * count, _SEARCHED_AT_MOST)

    def _first_member(self, piece: bytes) -> int | None:
        for magic in (_GZIP, _ZSTD):
            at = piece.find(magic)
            while at >= 0:
                if self._begins_record(piece[at : at + _TRIED_BYTES]):
                    return at
                at = piece.find(magic, at + 1)
        return None

    def _begins_record(self, piece: bytes) -> bool:
        try:
            return self._decoder_of(piece).decode(piece).given.startswith(BEGIN)
        except (zlib.error, zstandard.ZstdError, DamagedMember):
            return False

    def _decoder_of(self, raw: bytes) -> _Decoder:
        if raw.startswith(_GZIP):
            return _Inflating()
        if raw.startswith(_ZSTD):
            return _Unzstd(self._dictionary)
        if self.begin == 0 and (raw.startswith(BEGIN) or b"\n" + BEGIN in raw):
            return _Plain()
        raise DamagedMember("no record begins here")

    def _read_dictionary(self) -> None:
        """It may be compressed itself."""
        length = int.from_bytes(self._raw.held[4:_HEAD], "little")
        if length > _MOST_DICTIONARY_BYTES:
            raise DamagedMember(f"a dictionary of {length:,} bytes")
        self._raw.hold(_HEAD + length)
        content = self._raw.held[_HEAD : _HEAD + length]
        self._raw.held = self._raw.held[_HEAD + length :]
        try:
            if content.startswith(_ZSTD):
                content = zstandard.ZstdDecompressor().decompress(
                    content, max_output_size=_MOST_DICTIONARY_BYTES
                )
            self._dictionary = zstandard.ZstdCompressionDict(content)
        except zstandard.ZstdError as error:
            raise DamagedMember(f"its dictionary cannot be read ({error})") from error

    # ------------------------------------------------------------ bytes of a member

    def fill(self, count: int) -> bool:
        """Decode until the buffer has so many bytes; whether it has."""
        while len(self.buffer) < count and self._decode():
            pass
        return len(self.buffer) >= count

    def take(self, count: int) -> bytes:
        """The next bytes of the member, fewer if it ends."""
        self.fill(count)
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        self.offset += len(taken)
        return taken

    def skip(self, count: int) -> int:
        """Pass over so many bytes of the member; how many there were not."""
        if self.is_plain and count > len(self.buffer):
            passed = min(count, self._raw.length - self.begin - self.offset)
            self.go_to(self.offset + passed)
            return count - passed
        while count and (piece := self.take(min(count, _GIVEN_BYTES))):
            count -= len(piece)
        return count

    def go_to(self, offset: int) -> None:
        """To an offset of the member; if it is packed, all before it is decoded again."""
        self.buffer.clear()
        if self.is_plain:
            self._decoder, self.offset = _Plain(), offset
            self._raw.go_to(self.begin + offset)
        else:
            self._raw.go_to(self.begin)
            self.open_next()
            self.skip(offset)

    def _decode(self) -> bool:
        """Decode a piece; False at the end of the member."""
        if self._decoder is None:
            return False
        if not self._raw.held and not self._raw.hold_more():
            if self.is_plain:
                self._decoder = None
                return False
            raise DamagedMember("the file ends within it")
        held = len(self._raw.held)
        try:
            given, self._raw.held, ended = self._decoder.decode(self._raw.held)
        except (zlib.error, zstandard.ZstdError) as error:
            raise DamagedMember(f"it cannot be decompressed ({error})") from error
        self._count(held - len(self._raw.held), len(given))
        self.buffer += given
        if ended:
            self._decoder = None
        return True

    def _count(self, packed: int, unpacked: int) -> None:
        self._allowance += MOST_SWELLING * packed - unpacked
        if self._allowance < 0:
            self._allowance = 0
            raise DamagedMember(f"it unpacks to more than {MOST_SWELLING} times its size")

"""The bytes of a WARC file, plain or decompressed member by member.

member   a gzip member or a zstd frame, usually one record; a plain file is one member
damage   bytes that cannot be decompressed; the rest of their member is lost, and no other

Laws: only a few pieces are held in memory, whatever a member expands to. A file yields at most
`MOST_SWELLING` times the bytes read from it, beyond the first `ALWAYS_UNPACKED` bytes, and one
record for each `LEAST_PACKED` bytes read, beyond the first `ALWAYS_READ` records; a member that
exceeds this is treated as damaged there. The files in a WACZ file share these allowances. After
damage, the next intact member is found if it begins with a record.
"""

import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import zstandard

BEGIN = b"WARC/"
GZIP, ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""Magic number of the skippable frame with the dictionary of a file."""
_GZIP_WRAPPING = 31  # zlib's wbits
_READ_BYTES = 1 << 16
_GIVEN_BYTES = 1 << 18
_BITE = 2048
"""Input bytes per call; in zstd, every four may expand to a block of 128 KiB."""
_ZSTD_WINDOW = 1 << 27
_MOST_DICTIONARY_BYTES = 1 << 25
_SEARCHED_BYTES, _SEARCHED_AT_MOST = 1 << 14, 1 << 20
"""Bytes searched for the next member: few at first, as it is near in files with much damage."""
TRIED_BYTES = 4096
_HEAD_MEMBERS = 8
MOST_SWELLING = 100
"""Maximum expansion; pages of real crawls expand 3 to 20 times."""
ALWAYS_UNPACKED = 1 << 24
LEAST_PACKED = 48
"""Bytes of a record in a packed file: its id and its digest alone take 40, as they are random."""
ALWAYS_READ = 5_000


class WarcFile(NamedTuple):
    """File of records, or the part of a WACZ file that is one."""

    name: str
    path: Path
    begin: int
    length: int


class DamagedMember(Exception):
    """Damaged member, which ends here. The message says what is wrong."""


_Decode = Callable[[bytes], tuple[bytes, bytes, bool]]
"""Function of a piece of a member: its content, the rest of the piece for the next step or the next
member, and whether the member has ended.
"""


def inflating() -> _Decode:
    stream = zlib.decompressobj(_GZIP_WRAPPING)

    def decode(piece: bytes) -> tuple[bytes, bytes, bool]:
        content = stream.decompress(piece, _GIVEN_BYTES)
        return content, stream.unused_data if stream.eof else stream.unconsumed_tail, stream.eof

    return decode


def _unzstd(dictionary: zstandard.ZstdCompressionDict | None) -> _Decode:
    options = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_ZSTD_WINDOW)
    stream = options.decompressobj()

    def decode(piece: bytes) -> tuple[bytes, bytes, bool]:
        content = stream.decompress(piece[:_BITE])
        return content, stream.unused_data + piece[_BITE:], stream.eof

    return decode


def _plain(piece: bytes) -> tuple[bytes, bytes, bool]:
    return piece, b"", False


class _RawBytes:
    """Raw bytes of a file. `held` are those read and not used yet."""

    def __init__(self, file: WarcFile) -> None:
        self._file: BinaryIO = file.path.open("rb")
        self.close = self._file.close
        self._begin, self.length = file.begin, file.length
        self.go_to(0)

    @property
    def at(self) -> int:
        """Offset of the held bytes in the file."""
        return self._read - len(self.held)

    def hold(self, count: int) -> None:
        """Read until at least `count` bytes are held, or the file ends."""
        while len(self.held) < count and self.hold_more():
            pass

    def hold_more(self) -> bool:
        """Read one more piece. Return False at the end of the file."""
        piece = self._file.read(min(_READ_BYTES, self.length - self._read))
        self._read += len(piece)
        self.held += piece
        return bool(piece)

    def piece(self, place: int, count: int) -> bytes:
        """Return `count` bytes at `place`. Drops the held bytes."""
        self.go_to(place)
        return self._file.read(min(count, self.length - place))

    def go_to(self, place: int) -> None:
        self._file.seek(self._begin + place)
        self.held, self._read = b"", place


class Members:
    """Members of a file, one after another. `buffer` holds decoded bytes of the current one."""

    def __init__(self, file: WarcFile) -> None:
        self._raw = _RawBytes(file)
        self.close = self._raw.close
        # The files in a WACZ file share the allowances by their size.
        share = self._raw.length / max(file.path.stat().st_size, 1)
        self._allowance = int(ALWAYS_UNPACKED * share)
        self._for_records = int(LEAST_PACKED * ALWAYS_READ * share)  # bytes
        self._counted = 0  # offset in the file up to which bytes count for the allowances
        self.begin = 0
        """Offset of the current member in the file."""
        self.buffer = bytearray()
        self.offset = 0
        """Number of bytes taken from the current member."""
        self._decode_piece: _Decode | None = None
        self._dictionary: zstandard.ZstdCompressionDict | None = None
        self.is_plain = False

    @property
    def share(self) -> float:
        return self._raw.at / max(self._raw.length, 1)

    @property
    def place(self) -> int:
        """Position for messages: in a plain file exact, else the start of the member."""
        return self.begin + self.offset if self.is_plain else self.begin

    def open_next(self) -> bool:
        """Go to the next member. Return False at the end of the file. Raises `DamagedMember`."""
        self.buffer.clear()
        self.offset = 0
        self._decode_piece = None
        self._raw.hold(_HEAD_MEMBERS)
        self.begin = self._raw.at
        if not self._raw.held:
            return False
        if self._raw.held.startswith(ZSTD_DICTIONARY):
            self._read_dictionary()
            return self.open_next()
        self._decode_piece = self._decoder_of(self._raw.held)
        self.is_plain = self._decode_piece is _plain
        return True

    def skip_damage(self) -> int:
        """Skip to the next member that may begin with a record; return the bytes skipped."""
        begin = self.begin
        at, count = begin + 1, _SEARCHED_BYTES
        while True:
            piece = self._raw.piece(at, count)
            offset = self._first_member(piece)
            if offset is not None:
                self._raw.go_to(at + offset)
                return at + offset - begin
            if len(piece) <= TRIED_BYTES:
                self._raw.go_to(self._raw.length)
                return self._raw.length - begin
            at += len(piece) - TRIED_BYTES
            count = min(4 * count, _SEARCHED_AT_MOST)

    def _first_member(self, piece: bytes) -> int | None:
        for magic in (GZIP, ZSTD):
            at = piece.find(magic)
            while at >= 0:
                start = piece[at : at + TRIED_BYTES]
                with suppress(zlib.error, zstandard.ZstdError, DamagedMember):
                    content, _, _ = self._decoder_of(start)(start)
                    if content.startswith(BEGIN):
                        return at
                at = piece.find(magic, at + 1)
        return None

    def _decoder_of(self, raw: bytes) -> _Decode:
        if raw.startswith(GZIP):
            return inflating()
        if raw.startswith(ZSTD):
            return _unzstd(self._dictionary)
        if self.begin == 0 and (raw.startswith(BEGIN) or b"\n" + BEGIN in raw):
            return _plain
        raise DamagedMember("no record begins here")

    def _read_dictionary(self) -> None:
        """Read the dictionary frame, which may be compressed itself."""
        length = int.from_bytes(self._raw.held[4:_HEAD_MEMBERS], "little")
        if length > _MOST_DICTIONARY_BYTES:
            raise DamagedMember(f"a dictionary of {length:,} bytes")
        self._raw.hold(_HEAD_MEMBERS + length)
        content = self._raw.held[_HEAD_MEMBERS : _HEAD_MEMBERS + length]
        self._raw.held = self._raw.held[_HEAD_MEMBERS + length :]
        try:
            if content.startswith(ZSTD):
                content = zstandard.ZstdDecompressor().decompress(
                    content, max_output_size=_MOST_DICTIONARY_BYTES
                )
            self._dictionary = zstandard.ZstdCompressionDict(content)
        except zstandard.ZstdError as error:
            raise DamagedMember(f"its dictionary cannot be read ({error})") from error

    def fill(self, count: int) -> bool:
        """Decode until the buffer holds `count` bytes. Return False if the member is shorter."""
        while len(self.buffer) < count and self._decode():
            pass
        return len(self.buffer) >= count

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes of the member, fewer at its end."""
        self.fill(count)
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        self.offset += len(taken)
        return taken

    def skip(self, count: int) -> int:
        """Skip `count` bytes of the member. Return how many were missing."""
        if self.is_plain and count > len(self.buffer):
            passed = min(count, self._raw.length - self.begin - self.offset)
            self.go_to(self.offset + passed)
            return count - passed
        while count and (piece := self.take(min(count, _GIVEN_BYTES))):
            count -= len(piece)
        return count

    def go_to(self, offset: int) -> None:
        """Go to an offset of the member; a compressed member is decoded again from its start."""
        self.buffer.clear()
        if self.is_plain:
            self._decode_piece, self.offset = _plain, offset
            self._raw.go_to(self.begin + offset)
        else:
            self._raw.go_to(self.begin)
            self.open_next()
            self.skip(offset)

    def _decode(self) -> bool:
        """Decode a piece. Return False at the end of the member."""
        if self._decode_piece is None:
            return False
        if not self._raw.held and not self._raw.hold_more():
            if self.is_plain:
                self._decode_piece = None
                return False
            raise DamagedMember("the file ends within it")
        held = len(self._raw.held)
        try:
            given, self._raw.held, ended = self._decode_piece(self._raw.held)
        except (zlib.error, zstandard.ZstdError) as error:
            raise DamagedMember(f"it cannot be decompressed ({error})") from error
        if self._raw.at >= self._counted:  # else go_to() repeats a part
            packed = min(held - len(self._raw.held), self._raw.at - self._counted)
            self._counted = self._raw.at
            self._for_records += packed
            self._allowance += MOST_SWELLING * packed - len(given)
            if self._allowance < 0:
                self._allowance = 0
                raise DamagedMember(f"it unpacks to more than {MOST_SWELLING} times its size")
        self.buffer += given
        if ended:
            self._decode_piece = None
        return True

    def count_record(self) -> None:
        """Count a record, or bytes that are not a record. Raises `DamagedMember` for too many."""
        if self.is_plain:
            return
        self._for_records -= LEAST_PACKED
        if self._for_records < 0:
            self._for_records = 0
            raise DamagedMember(f"its records take less than {LEAST_PACKED} bytes each")

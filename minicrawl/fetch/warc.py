"""Recorded responses from WARC files of any origin, in place of the network.

files      where records are: in a file of their own, or in a WACZ file
members    the bytes of a file, decompressed member by member; damage is limited to its member
records    WARC records, tolerating wrong lengths
answers    the outcome of a request, from the record of its response
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import zstandard

from minicrawl.config import Network
from minicrawl.errors import UsageError
from minicrawl.fetch.body import BodyLimits, DecodeBudget
from minicrawl.fetch.fetcher import read_response, with_wire
from minicrawl.fetch.http import (
    BLANK_LINE,
    ByChunks,
    Fault,
    Head,
    failure,
    has_word,
    read_head,
    take_cookies,
)
from minicrawl.model import Failed, FailureKind, FetchResult, Request, Wire
from minicrawl.ports import Progress, unreported
from minicrawl.web.responses import is_html
from minicrawl.wording import counted

# ================================================================ files
#
# Where WARC records are: in a file of their own, or in a WACZ file.
#
# A WACZ file is a ZIP archive with WARC files in `archive/`. They are stored uncompressed, so they
# can be read in place.

_BEGIN = b"PK\x03\x04"
_HEAD, _LENGTHS = 30, struct.Struct("<2H")
"""Size of a ZIP local file header; its last two fields are the lengths of name and extra field."""
_FOLDER, _ENDINGS = "archive/", (".warc", ".warc.gz", ".warc.zst")
_ARC = b"filedesc://"


class WarcFile(NamedTuple):
    """File of records, or the part of a WACZ file that is one."""

    name: str
    path: Path
    begin: int
    length: int


def is_recorded(path: Path) -> bool:
    """Return True if this is a WARC, WACZ or ARC file, by its name or its first bytes."""
    if path.name.endswith((*_ENDINGS, ".wacz")):
        return True
    known = (BEGIN, _BEGIN, _ZSTD, _ZSTD_DICTIONARY, _ARC)
    return path.is_file() and _first_bytes(path).startswith(known)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        begin = file.read(_TRIED_BYTES)
    if begin.startswith(_GZIP):
        with suppress(zlib.error):
            return _Inflating().decode(begin).given
    return begin


def warc_files(path: Path) -> list[WarcFile]:
    """Return the WARC files in a file: itself, or the members of a WACZ file."""
    if not path.is_file():
        raise UsageError(f"{path}: not a regular file: save it to one first")
    if _first_bytes(path).startswith(_ARC):
        raise UsageError(
            f"{path}: an ARC file, the format before WARC: convert it with "
            "`warcio recompress` and import the WARC file"
        )
    with path.open("rb") as file:
        if file.read(len(_BEGIN)) != _BEGIN:
            return [WarcFile(str(path), path, 0, path.stat().st_size)]
        try:
            with ZipFile(file) as archive:
                found = list(_stored(path, file, archive))
        except (BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
            raise UsageError(f"{path}: a damaged ZIP archive ({error})") from error
    if not found:
        raise UsageError(f"{path}: a ZIP archive without WARC files in {_FOLDER}")
    if sum(one.length for one in found) > path.stat().st_size:
        raise UsageError(f"{path}: the files in it overlap")
    return found


def _stored(path: Path, file: BinaryIO, archive: ZipFile) -> Iterator[WarcFile]:
    for one in archive.infolist():
        if not one.filename.startswith(_FOLDER) or not one.filename.endswith(_ENDINGS):
            continue
        if one.compress_type != ZIP_STORED:
            raise UsageError(f"{path}: {one.filename} is compressed: unzip it and import that file")
        name = f"{path}: {one.filename}"
        yield WarcFile(name, path, _begin(file, one), one.compress_size)


def _begin(file: BinaryIO, one: ZipInfo) -> int:
    """Return the offset of a file's content in a ZIP archive."""
    file.seek(one.header_offset)
    head = file.read(_HEAD)
    if not head.startswith(_BEGIN):
        raise BadZipFile(f"{one.filename} is not where it should be")
    name, extra = _LENGTHS.unpack_from(head, _HEAD - _LENGTHS.size)
    begin: int = one.header_offset + _HEAD + name + extra
    return begin


# ================================================================ members
#
# The bytes of a WARC file, plain or decompressed member by member.
#
# member   a gzip member or a zstd frame, usually one record; a plain file is one member
# damage   bytes that cannot be decompressed; the rest of their member is lost, and no other
#
# Laws: only a few pieces are held in memory, whatever a member expands to. A file yields at most
# `MOST_SWELLING` times the bytes read from it, beyond the first `ALWAYS_UNPACKED` bytes, and one
# record for each `LEAST_PACKED` bytes read, beyond the first `ALWAYS_READ` records; a member that
# exceeds this is treated as damaged there. The files in a WACZ file share these allowances. After
# damage, the next intact member is found if it begins with a record.

BEGIN = b"WARC/"
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""Magic number of the skippable frame with the dictionary of a file."""
_GZIP_WRAPPING = 31  # zlib's wbits
_READ_BYTES = 1 << 16
_GIVEN_BYTES = 1 << 18
_BITE = 2048
"""Input bytes per call; in zstd, every four may expand to a block of 128 KiB."""
_ZSTD_WINDOW = 1 << 27
_MOST_DICTIONARY_BYTES = 1 << 25
_SEARCHED_BYTES, _SEARCHED_AT_MOST = 1 << 14, 1 << 20
"""Bytes searched for the next member.

The first piece is small, because in files with much damage the next member is near.
"""
_TRIED_BYTES = 4096
_HEAD_MEMBERS = 8
MOST_SWELLING = 100
"""Maximum expansion; pages of real crawls expand 3 to 20 times."""
ALWAYS_UNPACKED = 1 << 24
LEAST_PACKED = 48
"""Bytes of a record in a packed file: its id and its digest alone take 40, as they are random."""
ALWAYS_READ = 5_000


class DamagedMember(Exception):
    """Damaged member, which ends here. The message says what is wrong."""


class _Decoded(NamedTuple):
    given: bytes
    left: bytes
    """Rest of the input, for the next step or the next member."""
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
    """Raw bytes of a file. `held` are those read and not used yet."""

    def __init__(self, file: WarcFile) -> None:
        self._file: BinaryIO = file.path.open("rb")
        self._begin, self.length = file.begin, file.length
        self.go_to(0)

    def close(self) -> None:
        self._file.close()

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
        self._decoder: _Decoder | None = None
        self._dictionary: zstandard.ZstdCompressionDict | None = None
        self.is_plain = False

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    @property
    def share(self) -> float:
        """Fraction of the file that was read, from 0 to 1."""
        return self._raw.at / max(self._raw.length, 1)

    @property
    def place(self) -> int:
        """Position for messages: in a plain file exact, else the start of the member."""
        return self.begin + self.offset if self.is_plain else self.begin

    # ------------------------------------------------------------ members

    def open_next(self) -> bool:
        """Go to the next member. Return False at the end of the file. Raises `DamagedMember`."""
        self.buffer.clear()
        self.offset = 0
        self._decoder = None
        self._raw.hold(_HEAD_MEMBERS)
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
        """Skip to the next member that may begin with a record.

        Return the number of bytes skipped.
        """
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
        """Read the dictionary frame, which may be compressed itself."""
        length = int.from_bytes(self._raw.held[4:_HEAD_MEMBERS], "little")
        if length > _MOST_DICTIONARY_BYTES:
            raise DamagedMember(f"a dictionary of {length:,} bytes")
        self._raw.hold(_HEAD_MEMBERS + length)
        content = self._raw.held[_HEAD_MEMBERS : _HEAD_MEMBERS + length]
        self._raw.held = self._raw.held[_HEAD_MEMBERS + length :]
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
            self._decoder, self.offset = _Plain(), offset
            self._raw.go_to(self.begin + offset)
        else:
            self._raw.go_to(self.begin)
            self.open_next()
            self.skip(offset)

    def _decode(self) -> bool:
        """Decode a piece. Return False at the end of the member."""
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
        if self._raw.at >= self._counted:  # else go_to() repeats a part
            packed = min(held - len(self._raw.held), self._raw.at - self._counted)
            self._counted = self._raw.at
            self._count(packed, len(given))
        self.buffer += given
        if ended:
            self._decoder = None
        return True

    def count_record(self) -> None:
        """Count a record, or bytes that are not a record. Raises `DamagedMember` for too many."""
        if self.is_plain:
            return
        self._for_records -= LEAST_PACKED
        if self._for_records < 0:
            self._for_records = 0
            raise DamagedMember(f"its records take less than {LEAST_PACKED} bytes each")

    def _count(self, packed: int, unpacked: int) -> None:
        self._for_records += packed
        self._allowance += MOST_SWELLING * packed - unpacked
        if self._allowance < 0:
            self._allowance = 0
            raise DamagedMember(f"it unpacks to more than {MOST_SWELLING} times its size")


# ================================================================ records
#
# WARC records of any writer's files, in file order.
#
# Laws: only a limited part of a record is held, whatever length it claims. A record ends where its
# length says if the next record begins there, otherwise before the next record that can be found.
# Losses are reported in one line with file, place and URL, and damage one record only.
#
# block   content of a record; for a response, the bytes of HTTP

MOST_HEAD_BYTES = 1 << 16
_SEARCHED_AT_ONCE = 1 << 18
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(rb"\r?\n[\t ]+")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_NEXT = re.compile(rb"(?:\r?\n){1,2}(?=WARC/[01]\.[0-9]{1,2}\r?\n(?:WARC|Content)-)")
_END = b"\r\n\r\n"
_NEXT_BYTES = 32
_LINE_ENDS = re.compile(rb"[\r\n]+")
_DIGITS = re.compile(r"[0-9]{1,18}")
_BETWEEN = 16  # bytes between two records; there should be 4
_MOST_NOTES = 100
"""Maximum number of notes on one file; a last one counts those left out."""
_LONGEST_SHOWN = 2048
"""Maximum characters of a URL in messages: the limit of URLs in the crawl."""
_MOST_WRONG = 20
"""Number of wrong lengths after which all lengths of a file are ignored: each costs a search."""


_EXCHANGES = ({"request", "response"}, {"request", "revisit"})


class WarcRecord(NamedTuple):
    """WARC record. Field names are in lower case."""

    kind: str
    fields: Mapping[str, str]
    block: bytes
    is_cut: bool
    """True if the block is longer than the limit, and is cut there."""
    request: bytes = b""
    """Block of the request that the record answers, if known."""

    @property
    def url(self) -> str:
        """URL that the record is about."""
        return self.fields.get("warc-target-uri", "").strip("<> ")


def with_requests(records: Iterable[WarcRecord]) -> Iterator[WarcRecord]:
    """Yield the records, each response with the request that stands next to it.

    Some programs write the request first, others the response.
    """
    waiting: WarcRecord | None = None
    for record in records:
        other, waiting = waiting, None
        if (
            other is not None
            and {other.kind, record.kind} in _EXCHANGES
            and other.url == record.url
        ):
            answer, request = (other, record) if record.kind == "request" else (record, other)
            yield answer._replace(request=request.block)
            continue
        if other is not None:
            yield other
        waiting = record
    if waiting is not None:
        yield waiting


class _Head(NamedTuple):
    fields: dict[str, str]
    length: int | None
    place: int

    @property
    def name(self) -> str:
        kind, url = self.fields.get("warc-type", "record"), self.fields.get("warc-target-uri", "")
        kind, url = kind[:_LONGEST_SHOWN], url.strip("<> ")[:_LONGEST_SHOWN]
        return f"the {kind} of {url}" if url else f"a {kind}"


class WarcRecords:
    """Records of a file. `note` receives a message about each problem."""

    def __init__(
        self,
        file: WarcFile,
        most_bytes: int,
        note: Callable[[str], None],
        tell: Progress = unreported,
    ) -> None:
        """`most_bytes` limits the part of a block that is held; the rest is skipped."""
        self._file, self._most_bytes = file, most_bytes
        self._note, self._tell = note, tell
        self._current = ""
        self._wrong = self._notes = 0

    def __iter__(self) -> Iterator[WarcRecord]:
        yield from self._records()
        if (more := self._notes - _MOST_NOTES) > 0:
            others = counted(more, "more such line is", "more such lines are")
            self._note(f"{self._file.name}: {others} left out")

    def _records(self) -> Iterator[WarcRecord]:
        with closing(Members(self._file)) as members:
            self._members = members
            while True:
                self._current = ""
                try:
                    if not members.open_next():
                        return
                    yield from self._in_member()
                except DamagedMember as damage:
                    lost = members.skip_damage()
                    named = f" with {self._current}" if self._current else ""
                    self._warn(members.begin, f"{damage}: {_bytes_are(lost)} lost{named}")

    def _warn(self, place: int, text: str) -> None:
        self._notes += 1
        if self._notes <= _MOST_NOTES:
            self._note(f"{self._file.name}: at byte {place:,}: {text}")

    # ------------------------------------------------------------ one member

    def _in_member(self) -> Iterator[WarcRecord]:
        while self._skip_blank():
            self._members.count_record()
            head = self._head()
            if head is None:
                self._skip_to_next()
                continue
            self._current = head.name
            block, is_cut = self._block(head)
            self._current = ""
            self._tell(self._members.share)
            yield WarcRecord(head.fields.get("warc-type", "").lower(), head.fields, block, is_cut)

    def _skip_blank(self) -> bool:
        """Skip line ends before the next record. Return False at the end of the member."""
        members = self._members
        while members.fill(1):
            blank = _LINE_ENDS.match(members.buffer)  # `lstrip` would copy all that is decoded
            members.take(blank.end() if blank else 0)
            if members.buffer:
                return True
        return False

    def _head(self) -> _Head | None:
        """Return the head of a record, or None if none begins here."""
        members = self._members
        place = members.place
        members.fill(len(BEGIN))
        if not members.buffer.startswith(BEGIN):
            return None
        wanted = 1 << 10
        while (end := _BLANK_LINE.search(members.buffer, 0, MOST_HEAD_BYTES)) is None:
            if wanted > MOST_HEAD_BYTES or not members.fill(wanted):
                end = _BLANK_LINE.search(members.buffer, 0, MOST_HEAD_BYTES)
                break
            wanted *= 4
        if end is None:
            return None
        fields = _fields(members.take(end.end())[: end.start()])
        length = fields.get("content-length", "")
        return _Head(fields, int(length) if _DIGITS.fullmatch(length) else None, place)

    def _skip_to_next(self) -> None:
        """Skip to the next record of the member, past bytes that are not a record."""
        place, first = self._members.place, len(self._members.take(1))
        _, skipped = self._to_next(0)
        self._warn(place, f"{_bytes_are(first + skipped)} no record, and lost")

    def _to_next(self, room: int) -> tuple[bytes, int]:
        """Skip to the next record. Return up to `room` of the skipped bytes, and their number."""
        members, kept, count = self._members, bytearray(), 0
        is_over = False
        while not is_over:
            has_more = members.fill(_SEARCHED_AT_ONCE)
            found = _NEXT.search(members.buffer)
            is_over = found is not None or not has_more
            end = len(members.buffer) if is_over else len(members.buffer) - _NEXT_BYTES
            piece = members.take(end if found is None else found.start())
            kept += piece[: room - len(kept)]
            count += len(piece)
        return bytes(kept).removesuffix(_END), count

    # ------------------------------------------------------------ one block

    def _block(self, head: _Head) -> tuple[bytes, bool]:
        """Return the block of a record, and whether it is cut."""
        members, length = self._members, head.length
        if length is None or self._wrong >= _MOST_WRONG:
            self._warn(head.place, f"{head.name} has no length that can be trusted")
            block, count = self._to_next(self._most_bytes)
            return block, count > self._most_bytes
        begin = members.offset
        block = members.take(min(length, self._most_bytes))
        left = members.skip(length - len(block))
        is_cut = length > len(block) == self._most_bytes
        if not left and self._ends_here():
            if is_cut:
                self._warn(head.place, f"{head.name} has {length:,} bytes, and is cut")
            return block, is_cut
        self._wrong += 1
        self._warn(head.place, f"{head.name} has a wrong length, {length:,} bytes")
        return self._until_next(block, begin)

    def _ends_here(self) -> bool:
        """Return True if another record follows here, or the end."""
        members = self._members
        members.fill(_BETWEEN)
        rest = bytes(members.buffer[:_BETWEEN]).lstrip(b"\r\n")
        return not rest or rest.startswith(BEGIN)

    def _until_next(self, block: bytes, begin: int) -> tuple[bytes, bool]:
        """Return the block up to the next record, whatever its length, and whether it is cut."""
        found = _NEXT.search(block)
        end = max(len(block) - _NEXT_BYTES, 0) if found is None else found.start()
        self._members.go_to(begin + end)
        if found is not None:
            return block[:end], False
        more, count = self._to_next(self._most_bytes - end)
        return block[:end] + more, end + count > self._most_bytes


def _fields(head: bytes) -> dict[str, str]:
    """Return the named fields of a record. Its first line is the version.

    Only WARC-Protocol may be repeated; it then has a line for each value.

    Bytes that are not UTF-8 are usually in a URL, so they are percent-encoded, as browsers do.
    """
    try:
        text = _FOLD.sub(b" ", head).decode()
    except UnicodeDecodeError:
        text = _NOT_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), _FOLD.sub(b" ", head)).decode()
    fields, protocols = dict[str, str](), list[str]()
    for line in text.splitlines()[1:]:
        name, colon, value = line.partition(":")
        if (name := name.strip().lower()) == _PROTOCOL:
            protocols.append(value.strip())
        elif colon:
            fields[name] = value.strip()
    return fields | ({_PROTOCOL: "\n".join(protocols)} if protocols else {})


def _bytes_are(count: int) -> str:
    return counted(count, "byte is", "bytes are")


# ================================================================ answers
#
# Answers: the outcome of a request, from the record of its response.
#
# Laws: a recorded response has the same effect as if its server had sent it now. Some writers of
# records undo the chunks or the encoding of a body but keep the header that announces it, so the
# body itself decides. The caller passes records of responses and resources only.

_HTTP = b"HTTP/"
_PROTOCOL = "warc-protocol"
_PIECE_BYTES, _CHUNKED_BYTES = 1 << 16, 1 << 14
_CUTS = {"length": FailureKind.TOO_LARGE, "time": FailureKind.TIMEOUT}
"""Cuts by WARC-Truncated; any other value means that the connection ended."""
_OK = 200
_ENOUGH_TO_JUDGE = 1445  # bytes; the MIME Sniffing standard looks at no more


@dataclass
class RecordedStream:
    """Response whose bytes are all in memory."""

    status: int
    headers: dict[str, str]
    content: bytes
    cut: Fault | None = None
    wire: Wire | None = None
    first_byte_s: float = 0.0

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._pieces()

    def take_whole(self) -> bytes | None:
        return None  # large bodies are read in pieces

    async def aclose(self) -> None:
        """Do nothing: no resource is open."""

    async def _pieces(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), _PIECE_BYTES):
            yield self.content[start : start + _PIECE_BYTES]
        if self.cut is not None:
            raise self.cut


class RecordedAnswers:
    """Reader of response records."""

    def __init__(self, network: Network) -> None:
        self._max_codings = network.max_codings
        self._budget = DecodeBudget(network.max_bodies_bytes)

    async def read(self, request: Request, record: WarcRecord) -> FetchResult:
        """Return the outcome of the request whose response is in this record."""
        try:
            stream = _stream(record)
        except Fault as fault:
            return failure(fault)
        fetched = await self._read(request, stream)
        is_broken = isinstance(fetched, Failed) and fetched.kind is FailureKind.ENCODING
        # The writer of the record may have decoded the body and kept its Content-Encoding.
        if is_broken and is_html(None, stream.content[:_ENOUGH_TO_JUDGE]):
            del stream.headers["content-encoding"]
            fetched = await self._read(request, stream)
        return fetched if stream.wire is None else with_wire(fetched, stream.wire)

    async def _read(self, request: Request, stream: RecordedStream) -> FetchResult:
        limits = BodyLimits(self._budget)
        return await read_response(request, stream, limits, self._max_codings)


def moment_of(record: WarcRecord) -> float:
    """Return the time of a record; 0 if it has none."""
    try:
        found = datetime.fromisoformat(record.fields.get("warc-date", ""))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def head_of(record: WarcRecord) -> Head | None:
    """Return the HTTP head of a record, or None if it has none that can be parsed."""
    if not record.block.startswith(_HTTP):
        return None
    end = BLANK_LINE.search(record.block)
    try:
        return read_head(record.block[: end.start()] if end else record.block)
    except Fault:
        return None


def _stream(record: WarcRecord) -> RecordedStream:
    if record.kind == "resource":
        kind = record.fields.get("content-type", "")
        return RecordedStream(_OK, {"content-type": kind}, record.block, _cut(record))
    end = BLANK_LINE.search(record.block)
    if end is None:
        raise Fault(FailureKind.PROTOCOL, "its record has no HTTP head")
    head = read_head(record.block[: end.start()])
    take_cookies(head.headers)
    body, fault = record.block[end.end() :], None
    if has_word(head.headers, "transfer-encoding", "chunked"):
        body, fault = _without_chunks(body)
    wire = wire_of(record)
    return RecordedStream(head.status, head.headers, body, _cut(record) or fault, wire)


def wire_of(record: WarcRecord) -> Wire | None:
    """Return the heads of an exchange, and the facts of its connection; None without a head."""
    if (end := BLANK_LINE.search(record.block)) is None:
        return None
    place, cipher = (
        record.fields.get(name, "") for name in ("warc-ip-address", "warc-cipher-suite")
    )
    protocols = tuple(filter(None, record.fields.get(_PROTOCOL, "").split("\n")))
    return Wire(record.request, record.block[: end.end()], place, protocols, cipher)


def _without_chunks(body: bytes) -> tuple[bytes, Fault | None]:
    """Return the body without chunked framing, and why it is incomplete, or None.

    The writer of the record may have removed the framing already. The parser copies the bytes that
    it holds back at each call, so it gets small pieces.
    """
    chunks, parts = ByChunks(), list[bytes]()
    for start in range(0, len(body), _CHUNKED_BYTES):
        parts.append(chunks.feed(body[start : start + _CHUNKED_BYTES]))
        while chunks.has_more:
            parts.append(chunks.feed(b""))
        if chunks.ended or chunks.fault:
            break
    content = b"".join(parts)
    if not content and not chunks.ended:
        return body, None
    if chunks.ended:
        return content, None
    return content, chunks.fault or Fault(FailureKind.RESET, "its record ends before its chunks do")


def _cut(record: WarcRecord) -> Fault | None:
    """Return why the body is incomplete, by its record or our limit, or None."""
    why = record.fields.get("warc-truncated", "")
    if record.is_cut:
        return Fault(FailureKind.TOO_LARGE, "its record is too long")
    if not why:
        return None
    return Fault(_CUTS.get(why, FailureKind.RESET), f"its record is cut: {why}")

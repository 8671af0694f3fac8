"""WARC records of any writer's files, in file order.

Laws: only a limited part of a record is held, whatever length it claims. A record ends where its
length says if the next record begins there, otherwise before the next record that can be found.
Losses are reported in one line with file, place and URL, and damage one record only.

block   content of a record; for a response, the bytes of HTTP
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

from minicrawl.fetch.warc.members import BEGIN, DamagedMember, Members, WarcFile
from minicrawl.ports import Progress, unreported
from minicrawl.wording import counted

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
MOST_NOTES = 100
"""Maximum number of notes on one file; a last one counts those left out."""
_LONGEST_SHOWN = 2048
"""Maximum characters of a URL in messages: the limit of URLs in the crawl."""
MOST_WRONG = 20
"""Number of wrong lengths after which all lengths of a file are ignored: each costs a search."""


WARC_PROTOCOL = "warc-protocol"
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
    place: int = 0
    """Offset of the record in its file, or of its member if that is packed."""

    @property
    def url(self) -> str:
        return self.fields.get("warc-target-uri", "").strip("<> ")


def with_requests(records: Iterable[WarcRecord]) -> Iterator[WarcRecord]:
    """Yield the records, each response with the request before or after it."""
    waiting: WarcRecord | None = None
    for record in records:
        other, waiting = waiting, None
        if other is not None:
            if {other.kind, record.kind} in _EXCHANGES and other.url == record.url:
                answer, request = (other, record) if record.kind == "request" else (record, other)
                yield answer._replace(request=request.block)
                continue
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
        progress: Progress = unreported,
    ) -> None:
        """`most_bytes` limits the part of a block that is held; the rest is skipped."""
        self._file, self._most_bytes = file, most_bytes
        self._note, self._tell = note, progress
        self._current = ""
        self._wrong = self._notes = 0
        self.damages = 0

    def __iter__(self) -> Iterator[WarcRecord]:
        with closing(Members(self._file)) as members:
            self._members = members
            while True:
                self._current = ""
                try:
                    if not members.open_next():
                        break
                    yield from self._in_member()
                except DamagedMember as damage:
                    lost = members.skip_damage()
                    named = f" with {self._current}" if self._current else ""
                    self._warn(members.begin, f"{damage}: {_bytes_are(lost)} lost{named}")
        if (more := self._notes - MOST_NOTES) > 0:
            notice = counted(more, "more such line is", "more such lines are")
            self._note(f"{self._file.name}: {notice} left out")

    def _warn(self, place: int, text: str, *, is_damage: bool = True) -> None:
        self._notes += 1
        self.damages += is_damage
        if self._notes <= MOST_NOTES:
            self._note(f"{self._file.name}: at byte {place:,}: {text}")

    def _in_member(self) -> Iterator[WarcRecord]:
        while self._skip_blank():
            self._members.count_record()
            head = self._head()
            if head is None:
                place, first = self._members.place, len(self._members.take(1))
                _, skipped = self._to_next(0)
                self._warn(place, f"{_bytes_are(first + skipped)} no record, and lost")
                continue
            self._current = head.name
            block, is_cut = self._block(head)
            self._current = ""
            self._tell(self._members.share)
            kind = head.fields.get("warc-type", "").lower()
            yield WarcRecord(kind, head.fields, block, is_cut, place=head.place)

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
        members = self._members
        place = members.place
        members.fill(len(BEGIN))
        if not members.buffer.startswith(BEGIN):
            return None
        count = 1 << 10
        while (end := _BLANK_LINE.search(members.buffer, 0, MOST_HEAD_BYTES)) is None:
            if count > MOST_HEAD_BYTES or not members.fill(count):
                end = _BLANK_LINE.search(members.buffer, 0, MOST_HEAD_BYTES)
                break
            count *= 4
        if end is None:
            return None
        fields = _fields(members.take(end.end())[: end.start()])
        length = fields.get("content-length", "")
        return _Head(fields, int(length) if _DIGITS.fullmatch(length) else None, place)

    def _to_next(self, room: int) -> tuple[bytes, int]:
        """Skip to the next record. Return up to `room` of the skipped bytes, and their number."""
        members, block, count = self._members, bytearray(), 0
        is_over = False
        while not is_over:
            has_more = members.fill(_SEARCHED_AT_ONCE)
            match = _NEXT.search(members.buffer)
            is_over = match is not None or not has_more
            end = len(members.buffer) if is_over else len(members.buffer) - _NEXT_BYTES
            piece = members.take(end if match is None else match.start())
            block += piece[: room - len(block)]
            count += len(piece)
        return bytes(block).removesuffix(_END), count

    def _block(self, head: _Head) -> tuple[bytes, bool]:
        """Return the block of a record, and whether it is cut."""
        members, length = self._members, head.length
        if length is None or self._wrong >= MOST_WRONG:
            self._warn(head.place, f"{head.name} has no length that can be trusted")
            block, count = self._to_next(self._most_bytes)
            return block, count > self._most_bytes
        begin = members.offset
        block = members.take(min(length, self._most_bytes))
        left = members.skip(length - len(block))
        is_cut = length > len(block) == self._most_bytes
        members.fill(_BETWEEN)
        following = bytes(members.buffer[:_BETWEEN]).lstrip(b"\r\n")
        if not left and (not following or following.startswith(BEGIN)):
            if is_cut:
                text = f"{head.name} has {length:,} bytes, and is cut"
                self._warn(head.place, text, is_damage=False)
            return block, is_cut
        self._wrong += 1
        self._warn(head.place, f"{head.name} has a wrong length, {length:,} bytes")
        # The block ends before the next record, whatever its length.
        match = _NEXT.search(block)
        end = max(len(block) - _NEXT_BYTES, 0) if match is None else match.start()
        members.go_to(begin + end)
        if match is not None:
            return block[:end], False
        more, count = self._to_next(self._most_bytes - end)
        return block[:end] + more, end + count > self._most_bytes


def _fields(head: bytes) -> dict[str, str]:
    """Return the named fields of a record. Its first line is the version.

    Only WARC-Protocol may be repeated; it then has a line for each value. Bytes that are not UTF-8
    are usually in a URL, so they are percent-encoded, as browsers do.
    """
    try:
        text = _FOLD.sub(b" ", head).decode()
    except UnicodeDecodeError:
        text = _NOT_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), _FOLD.sub(b" ", head)).decode()
    fields, protocols = dict[str, str](), list[str]()
    for line in text.splitlines()[1:]:
        name, colon, value = line.partition(":")
        if (name := name.strip().lower()) == WARC_PROTOCOL:
            protocols.append(value.strip())
        elif colon:
            fields[name] = value.strip()
    return fields | ({WARC_PROTOCOL: "\n".join(protocols)} if protocols else {})


def _bytes_are(count: int) -> str:
    return counted(count, "byte is", "bytes are")

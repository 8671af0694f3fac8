"""WARC records of anybody's files, in the order in which they are there.

Laws: no more than the limit is held of a record, whatever its length says. A record ends where its
length says if the next one begins there; if not, it ends before the next one that begins. What is
lost is told in one line, with the file, the place and the URL, and no other record is lost with it.

block   what a record holds: for a response, the bytes of HTTP
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

from minicrawl.fetch.warc.files import WarcFile
from minicrawl.fetch.warc.members import BEGIN, DamagedMember, Members
from minicrawl.progress import Progress, unreported
from minicrawl.wording import counted

MOST_HEAD_BYTES = 1 << 16
_SEARCHED_AT_ONCE = 1 << 18
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(rb"\r?\n[\t ]+")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_NEXT = re.compile(rb"(?:\r?\n){1,2}(?=WARC/[01]\.[0-9]{1,2}\r?\n(?:WARC|Content)-)")
_END = b"\r\n\r\n"
_NEXT_BYTES = 32
_DIGITS = re.compile(r"[0-9]{1,18}")
_BETWEEN = 16  # bytes between two records; there should be 4
_MOST_WRONG = 20
"""Lengths, after which those of a file are not looked at any more: each may cost a long search."""


class WarcRecord(NamedTuple):
    """A record. Names of fields are in lower case."""

    kind: str
    fields: Mapping[str, str]
    block: bytes
    is_cut: bool
    """Whether the block is longer than the limit, and the rest is not here."""

    @property
    def url(self) -> str:
        """What it is of."""
        return self.fields.get("warc-target-uri", "").strip("<> ")


class _Head(NamedTuple):
    fields: dict[str, str]
    length: int | None
    place: int

    @property
    def name(self) -> str:
        kind, url = self.fields.get("warc-type", "record"), self.fields.get("warc-target-uri", "")
        return f"the {kind} of {url.strip('<> ')}" if url else f"a {kind}"


class WarcRecords:
    """The records of a file; `note` hears of all that is wrong with it."""

    def __init__(
        self,
        file: WarcFile,
        most_bytes: int,
        note: Callable[[str], None],
        tell: Progress = unreported,
    ) -> None:
        """Of a block no more than `most_bytes` are held."""
        self._file, self._most_bytes = file, most_bytes
        self._note, self._tell = note, tell
        self._current = ""
        self._wrong = 0

    def __iter__(self) -> Iterator[WarcRecord]:
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
        self._note(f"{self._file.name}: at byte {place:,}: {text}")

    # ------------------------------------------------------------ one member

    def _in_member(self) -> Iterator[WarcRecord]:
        while self._skip_blank():
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
        """Go to the next record; False at the end of the member."""
        members = self._members
        while members.fill(1):
            count = len(members.buffer) - len(members.buffer.lstrip(b"\r\n"))
            members.take(count)
            if members.buffer:
                return True
        return False

    def _head(self) -> _Head | None:
        """The head of a record; None if none begins here."""
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
        """To the next record of the member, behind bytes that are none."""
        place, first = self._members.place, len(self._members.take(1))
        _, skipped = self._to_next(0)
        self._warn(place, f"{_bytes_are(first + skipped)} no record, and lost")

    def _to_next(self, room: int) -> tuple[bytes, int]:
        """What lies before the next record, up to so many bytes of it, and how much that is."""
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
        """The block of a record, and whether it is cut."""
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
        """Whether another record, or nothing, follows here."""
        members = self._members
        members.fill(_BETWEEN)
        rest = bytes(members.buffer[:_BETWEEN]).lstrip(b"\r\n")
        return not rest or rest.startswith(BEGIN)

    def _until_next(self, block: bytes, begin: int) -> tuple[bytes, bool]:
        """The block up to the next record, wherever its length says that it ends."""
        found = _NEXT.search(block)
        end = max(len(block) - _NEXT_BYTES, 0) if found is None else found.start()
        self._members.go_to(begin + end)
        if found is not None:
            return block[:end], False
        more, count = self._to_next(self._most_bytes - end)
        return block[:end] + more, end + count > self._most_bytes


def _fields(head: bytes) -> dict[str, str]:
    """The named fields of a record; the first line is its version.

    Bytes that are no UTF-8 are most often in a URL: they are percent-encoded, as a browser does.
    """
    try:
        text = _FOLD.sub(b" ", head).decode()
    except UnicodeDecodeError:
        text = _NOT_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), _FOLD.sub(b" ", head)).decode()
    lines = text.splitlines()
    pairs = (line.partition(":") for line in lines[1:])
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _bytes_are(count: int) -> str:
    return counted(count, "byte is", "bytes are")

"""Segments: files of records, one behind the other.

Law: what lies before the end is never changed.

place   where a record begins: the number of its segment times 2^40, plus the offset in it
end     the place behind the last record that counts
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zlib import crc32

from minicrawl.archive.record import CHECKED_FROM, HEADER_BYTES, Header, header_of
from minicrawl.errors import Damaged, NoRoom, StoreError
from minicrawl.own_files import open_own

SEGMENT_BYTES = 1 << 30
"""A segment that is as long as this gets no more records."""
_SHIFT = 40
_OFFSET = (1 << _SHIFT) - 1
FIRST = 1 << _SHIFT
"""The place of the first record."""
_NAME = re.compile(r"segment-([0-9]{6})\.pages")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MOST_OPEN = 16
_CHECKED_AT_ONCE = 1 << 20
_PRUNED = "pruned"
"""The file that says from which place on the records count, and in which archives."""


def place_at(segment: int, offset: int) -> int:
    """The place at an offset of a segment."""
    return segment << _SHIFT | offset


def segment_of(place: int) -> int:
    """The number of the segment."""
    return place >> _SHIFT


def offset_of(place: int) -> int:
    """The offset in the segment."""
    return place & _OFFSET


def shown(place: int) -> str:
    """A place in words."""
    return f"{_name(segment_of(place))} at byte {offset_of(place):,}"


def bytes_between(begin: int, end: int) -> int:
    """How much there is between two places, if all segments but the last are full."""
    return (segment_of(end) - segment_of(begin)) * SEGMENT_BYTES + offset_of(end)


class Segments:
    """The segments in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._handles: dict[int, int] = {}

    def close(self) -> None:
        """Close the files; they are opened again when they are needed."""
        while self._handles:
            os.close(self._handles.popitem()[1])

    def numbers(self) -> list[int]:
        """Of all segments that there are, in order."""
        if not self.folder.is_dir():
            return []
        names = (_NAME.fullmatch(file.name) for file in self.folder.iterdir())
        return sorted(int(name[1]) for name in names if name)

    def lost(self, begin: int, end: int) -> list[str]:
        """The names of the segments between two places that are not there."""
        there = self.numbers()
        last = segment_of(end) if offset_of(end) else segment_of(end) - 1
        return [_name(one) for one in range(segment_of(begin), last + 1) if one not in there]

    def path(self, number: int) -> Path:
        """The file of a segment."""
        return self.folder / _name(number)

    def length(self, number: int) -> int:
        """The bytes of a segment; 0 if it is not there."""
        try:
            return self.path(number).stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def end(self) -> int:
        """The place behind all that is in the files."""
        numbers = self.numbers()
        return place_at(numbers[-1], self.length(numbers[-1])) if numbers else FIRST

    def begin(self, end: int) -> int:
        """The place before which all was pruned, in an archive that ends here."""
        with suppress(OSError, ValueError):
            begin, valid_from = map(int, (self.folder / _PRUNED).read_text("ascii").split())
            return begin if end >= valid_from else FIRST
        return FIRST

    def read(self, place: int) -> bytes:
        """The record at a place; it may be damaged, which its checksum tells."""
        begin = self.read_bytes(place, HEADER_BYTES)
        return begin + self.read_bytes(place + HEADER_BYTES, header_of(begin).payload_bytes)

    def header(self, place: int) -> Header:
        """The header of the record at a place."""
        return header_of(self.read_bytes(place, HEADER_BYTES))

    def is_whole(self, place: int, record_bytes: int) -> bool:
        """Whether the record here is as it was written. A length that is wrong costs no memory."""
        end, at, checksum = place + record_bytes, place + CHECKED_FROM, 0
        written = self.read_bytes(place, CHECKED_FROM)[-4:]
        while at < end:
            piece = self.read_bytes(at, min(_CHECKED_AT_ONCE, end - at))
            checksum = crc32(piece, checksum)
            at += len(piece)
        return checksum == int.from_bytes(written, "little")

    def read_bytes(self, place: int, count: int) -> bytes:
        """So many bytes from a place on; raises `Damaged` if the segment has fewer."""
        number = segment_of(place)
        try:
            file = self._handle(number)
        except OSError as error:
            raise Damaged(f"{_name(number)} cannot be read: {error.strerror}") from error
        found = os.pread(file, count, offset_of(place))
        if len(found) < count:
            raise Damaged("the file ends within it")
        return found

    def _handle(self, number: int) -> int:
        if number not in self._handles:
            if len(self._handles) >= _MOST_OPEN:
                self.close()
            self._handles[number] = open_own(self.path(number), os.O_RDONLY)
        return self._handles[number]

    def spread(self, count: int) -> Iterator[int]:
        """So many places, evenly spread over all that there is; no records need begin there."""
        lengths = {number: self.length(number) for number in self.numbers()}
        step = max(sum(lengths.values()) // count, 1)
        for number, length in lengths.items():
            yield from (place_at(number, offset) for offset in range(0, length, step))

    # ------------------------------------------------------------ changes

    def write(self, place: int, content: bytes) -> None:
        """Write at a place."""
        write_at(self.path(segment_of(place)), offset_of(place), content)

    def sync(self, begin: int, end: int) -> None:
        """Wait until the disk has all that lies between two places, and the files' names."""
        with disk_errors(self.folder):
            for number in range(segment_of(begin), segment_of(end) + 1):
                sync(self.path(number))
            if offset_of(begin) == 0 or segment_of(begin) != segment_of(end):
                sync(self.folder)

    def prune(self, begin: int, end: int) -> None:
        """What lies before `begin` is gone, as soon as the archive ends at `end` or behind it."""
        path = self.folder / _PRUNED
        draft = path.with_suffix(".draft")
        with disk_errors(path):
            draft.write_text(f"{begin} {end}\n", "ascii")
            sync(draft)
            draft.rename(path)
            sync(self.folder)

    def remove_before(self, begin: int) -> None:
        """Remove the segments before a place, which begins one."""
        for number in self.numbers():
            if number < segment_of(begin):
                with disk_errors(self.path(number)):
                    self.path(number).unlink()

    def cut_off(self, end: int) -> None:
        """Remove all that lies behind a place."""
        if self.begin(end) == FIRST:  # a pruning that was not committed
            (self.folder / _PRUNED).unlink(missing_ok=True)
        for number in self.numbers():
            keep = min(max(end - place_at(number, 0), 0), _OFFSET)
            with disk_errors(self.path(number)):
                if number > segment_of(end):
                    self.path(number).unlink()
                elif self.length(number) > keep:
                    os.truncate(self.path(number), keep)


def held(folder: Path) -> int | None:
    """A handle with which its user holds all segments; None if the folder cannot be held."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


@contextmanager
def held_alone(handle: int) -> Iterator[bool]:
    """Whether nobody else holds the segments; whoever wants to waits until this ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.flock(handle, fcntl.LOCK_SH)


def _name(number: int) -> str:
    return f"segment-{number:06}.pages"


def write_at(path: Path, offset: int, content: bytes) -> None:
    """Write to a file, which is made if it is not there."""
    with disk_errors(path):
        file = open_own(path, os.O_WRONLY | os.O_CREAT)
        try:
            rest = memoryview(content)
            while rest:
                written = os.pwrite(file, rest, offset)
                rest, offset = rest[written:], offset + written
        finally:
            os.close(file)


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the disk into errors of one line."""
    try:
        yield
    except OSError as error:
        kind = NoRoom if error.errno in _FULL else StoreError
        raise kind(f"{path}: {error.strerror}; everything committed before is safe") from error

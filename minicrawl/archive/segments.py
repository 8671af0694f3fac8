"""Segments: append-only files of records. Bytes before the end never change.

place    position of a record: segment number times 2^40 plus offset, so places sort in the order
         of writing
end      place behind the last record that counts; the store's last commit defines it
pruned   marker file with two places, `begin` and `valid_from`; beside it `pruned-next`

The files alone do not say which records count. The store does: its transaction saves the end
together with the steps that the records led to. Bytes at or after the end belong to no commit, and
`cut_off` removes them on the next start, so a torn record needs no repair and no log:

    end in the store   segment 1      on restart
    1:700              700 bytes      nothing to do
    1:700              760 bytes      killed while appending: truncate to 700
    1:760              760 bytes      committed: nothing to do
    1:760              700 bytes      files lost data: the archive ends at 1:700, and the crawl is
                                      told that answers are missing

Pruning must not overwrite records that the last commit still needs. So it copies the surviving
records into new segments, and then writes a marker, by an atomic rename. The marker takes effect
only for an archive that ends at `valid_from` or later, so the store's commit is also the commit of
the pruning:

    end in the store   marker         segments                 records that count
    1:760              -              1: 760 bytes             1:0 to 1:760
    1:760              2:0 2:300      1: 760, 2: 300 bytes     1:0 to 1:760; on restart, marker and
                                                               segment 2 are deleted
    2:300              2:0 2:300      1: 760, 2: 300 bytes     2:0 to 2:300; segment 1 is deleted
                                                               as soon as no reader holds it

The marker in effect stays until the store has committed the next one: that is why there are two
files. The newest pruning is in `pruned-next`; the one after it first renames it to `pruned`:

    end in the store   pruned         pruned-next   segments     records that count
    2:900              -              2:0 2:300     2            2:0 to 2:900
    2:900              2:0 2:300      3:0 3:400     2 and 3      2:0 to 2:900; on restart, segment 3
                                                                 and `pruned-next` are deleted
    3:400              2:0 2:300      3:0 3:400     3            3:0 to 3:400

Giving up a pruning only deletes files, so it works on a full disk. Readers look at
`pruned-next` first: if that marker is renamed meanwhile, they find it under its second name.

Refused: deleting records in place, which needs a log of its own to survive a crash.

A segment that gets no more records may be in an object store (`archive.objects.moved_file`): its
stub is here instead, and ranges of the object are read.
"""

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from minicrawl.archive.objects.moved_file import MovedFile, recall, remove, stub_of
from minicrawl.archive.record import (
    CHECKED_FROM,
    HEADER_BYTES,
    MAGIC,
    MOST_OF_A_HEAD,
    Header,
    header_of,
)
from minicrawl.errors import Damaged, NoRoom, StoreError
from minicrawl.own_files import open_own, put_in_place, sync

SEGMENT_BYTES = 1 << 30
"""Size at which a segment receives no further records."""
REPLICATED_BYTES = 1 << 26
"""The same for the archive of a shard, whose last segment is on the servers."""
_SHIFT = 40
_OFFSET = (1 << _SHIFT) - 1
FIRST = 1 << _SHIFT
"""Place of the first record."""
_NAME = re.compile(r"segment-([0-9]{6})\.pages(?:\.object)?")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MOST_OPEN = 16
_CHECKED_AT_ONCE = 1 << 20
_PRUNED, _NEXT = "pruned", "pruned-next"
"""Marker files: of an earlier pruning, and of the newest one."""


def place_at(segment: int, offset: int) -> int:
    return segment << _SHIFT | offset


def segment_of(place: int) -> int:
    return place >> _SHIFT


def offset_of(place: int) -> int:
    return place & _OFFSET


def headers_path(segment: Path) -> Path:
    """Return the file of `archive.headers` beside a segment."""
    return segment.with_suffix(".headers")


def shown(place: int) -> str:
    return f"{_name(segment_of(place))} at byte {offset_of(place):,}"


def bytes_between(begin: int, end: int) -> int:
    """Return the bytes between two places, assuming that all segments but the last are full."""
    return (segment_of(end) - segment_of(begin)) * SEGMENT_BYTES + offset_of(end)


class Segments:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._handles: dict[int, int] = {}
        self._moved: dict[int, MovedFile] = {}

    def close(self) -> None:
        """Close the files. Later reads reopen them."""
        self._moved.clear()
        while self._handles:
            os.close(self._handles.popitem()[1])

    def numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        names = (_NAME.fullmatch(file.name) for file in self.folder.iterdir())
        return sorted({int(name[1]) for name in names if name})

    def lost(self, begin: int, end: int) -> list[str]:
        """Return the names of the segments between two places that do not exist."""
        there = self.numbers()
        last = segment_of(end) if offset_of(end) else segment_of(end) - 1
        return [
            _name(number) for number in range(segment_of(begin), last + 1) if number not in there
        ]

    def path(self, number: int) -> Path:
        return self.folder / _name(number)

    def length(self, number: int) -> int:
        """Return the length of a segment in bytes; 0 if it does not exist."""
        try:
            return self.path(number).stat().st_size
        except FileNotFoundError:
            stub = stub_of(self.path(number))
            return 0 if stub is None else stub.length

    @property
    def end(self) -> int:
        """Place behind the last byte of the last file."""
        numbers = self.numbers()
        return place_at(numbers[-1], self.length(numbers[-1])) if numbers else FIRST

    def begin(self, end: int) -> int:
        """Return the place of the first record that is not pruned, if the archive ends at `end`."""
        for name in (_NEXT, _PRUNED):
            mark = self._mark(name)
            if mark is not None and mark[1] <= end:
                return mark[0]
        return FIRST

    def _mark(self, name: str) -> tuple[int, int] | None:
        """Return `begin` and `valid_from` of a marker; None if it is missing or cannot be read."""
        with suppress(OSError, ValueError):
            begin, valid_from = map(int, (self.folder / name).read_text("ascii").split())
            return begin, valid_from
        return None

    def read(self, place: int) -> bytes:
        """Return the record at `place`. Its checksum is not verified."""
        begin = self.read_bytes(place, HEADER_BYTES)
        return begin + self.read_bytes(place + HEADER_BYTES, header_of(begin).payload_bytes)

    def beginning(self, place: int) -> bytes:
        """Return the record at `place`; of a large record only the part that contains its head."""
        begin = self.read_bytes(place, HEADER_BYTES)
        count = min(header_of(begin).payload_bytes, MOST_OF_A_HEAD)
        return begin + self.read_bytes(place + HEADER_BYTES, count)

    def header(self, place: int) -> Header:
        return header_of(self.read_bytes(place, HEADER_BYTES))

    def is_whole(self, place: int, record_bytes: int) -> bool:
        """Return True if the record's checksum is valid.

        Memory is bounded, whatever length the record claims.
        """
        end, at, checksum = place + record_bytes, place + CHECKED_FROM, 0
        written = self.read_bytes(place, CHECKED_FROM)[-4:]
        while at < end:
            piece = self.read_bytes(at, min(_CHECKED_AT_ONCE, end - at))
            checksum = crc32(piece, checksum)
            at += len(piece)
        return checksum == int.from_bytes(written, "little")

    def read_bytes(self, place: int, count: int) -> bytes:
        """Return `count` bytes at `place`. Raise `Damaged` if the segment has fewer."""
        number = segment_of(place)
        if number not in self._handles and number not in self._moved:
            self._open(number)
        if (file := self._handles.get(number)) is not None:
            content = os.pread(file, count, offset_of(place))
        else:
            content = self._moved[number].read_at(offset_of(place), count)
        if len(content) < count:
            raise Damaged("the file ends within it")
        return content

    def _open(self, number: int) -> None:
        """Open a segment, here or in the object store."""
        if len(self._handles) + len(self._moved) >= _MOST_OPEN:
            self.close()
        try:
            self._handles[number] = open_own(self.path(number), os.O_RDONLY)
        except FileNotFoundError:
            self._moved[number] = MovedFile(self.path(number))
        except OSError as error:
            raise Damaged(f"{_name(number)} cannot be read: {error.strerror}") from error

    def spread(self, count: int) -> Iterator[int]:
        """Yield about `count` places, evenly spread over all bytes, not aligned to records."""
        lengths = {number: self.length(number) for number in self.numbers()}
        step = max(sum(lengths.values()) // count, 1)
        for number, length in lengths.items():
            yield from (place_at(number, offset) for offset in range(0, length, step))

    def write(self, place: int, content: bytes) -> None:
        write_at(self.path(segment_of(place)), offset_of(place), content)

    def sync(self, begin: int, end: int) -> None:
        """Flush the segments between two places to disk, and the folder if files are new."""
        with disk_errors(self.folder):
            for number in range(segment_of(begin), segment_of(end) + 1):
                sync(self.path(number))
            if offset_of(begin) == 0 or segment_of(begin) != segment_of(end):
                sync(self.folder)

    def prune(self, begin: int, end: int) -> None:
        """Mark all records before `begin` as pruned, once the archive ends at `end` or later."""
        newest = self._mark(_NEXT)
        path = self.folder / _NEXT
        draft = path.with_suffix(".draft")
        with disk_errors(path):
            if newest is not None and newest[1] < begin:  # it was committed
                path.rename(self.folder / _PRUNED)
                sync(self.folder)
            draft.write_text(f"{begin} {end}\n", "ascii")
            put_in_place(draft, path)

    def remove_before(self, begin: int) -> None:
        """Delete the segments before `begin`, the first place of a segment."""
        for number in self.numbers():
            if number < segment_of(begin):
                self._remove(number)

    def _remove(self, number: int) -> None:
        with disk_errors(self.path(number)):
            for file in (headers_path(self.path(number)), self.path(number)):
                remove(file)

    def cut_off(self, end: int) -> None:
        """Delete all bytes at or after `end`."""
        for name in (_NEXT, _PRUNED):
            mark = self._mark(name)
            if mark is not None and mark[1] > end:  # the pruning was never committed
                with disk_errors(self.folder):
                    (self.folder / name).unlink()
                    sync(self.folder)
        for number in self.numbers():
            keep = min(max(end - place_at(number, 0), 0), _OFFSET)
            if number > segment_of(end):
                self._remove(number)
                continue
            with disk_errors(self.path(number)):
                if self.length(number) > keep:
                    if not self.path(number).exists():  # of a store that was set back
                        recall(self.path(number), keep)
                    os.truncate(self.path(number), keep)


class StoredPayload:
    """Payload of the record at a place, read piece by piece."""

    def __init__(self, segments: Segments, place: int, header: Header) -> None:
        self._segments, self._at = segments, place + HEADER_BYTES
        self._end = place + header.record_bytes

    def read(self, size: int, /) -> bytes:
        piece = self._segments.read_bytes(self._at, min(size, self._end - self._at))
        self._at += len(piece)
        return piece


def held(folder: Path) -> int | None:
    """Return a handle with a shared lock on the segments, or None if there is no folder."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    with suppress(OSError):  # the file system has no locks
        fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


@contextmanager
def held_alone(handle: int) -> Iterator[bool]:
    """Yield True if nobody else holds the segments. New readers block until the context exits."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with suppress(OSError):  # the file system has no locks
            fcntl.flock(handle, fcntl.LOCK_SH)  # the attempt has given it up
        yield False
        return
    try:
        yield True
    finally:
        fcntl.flock(handle, fcntl.LOCK_SH)


def _name(number: int) -> str:
    return f"segment-{number:06}.pages"


def write_at(path: Path, offset: int, content: bytes) -> None:
    """Write `content` at `offset`; create the file if necessary."""
    with disk_errors(path):
        file = open_own(path, os.O_WRONLY | os.O_CREAT)
        try:
            unwritten = memoryview(content)
            while unwritten:
                written = os.pwrite(file, unwritten, offset)
                unwritten, offset = unwritten[written:], offset + written
        finally:
            os.close(file)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Convert `OSError`s into one-line `StoreError`s."""
    try:
        yield
    except OSError as error:
        kind = NoRoom if error.errno in _FULL else StoreError
        raise kind(f"{path}: {error.strerror}; everything committed before is safe") from error


_SEARCHED_AT_ONCE = 1 << 20


class ScanStep(NamedTuple):
    """One step of a scan: a record, or a damaged stretch if `header` is None."""

    place: int
    header: Header | None
    length: int


def scan(segments: Segments, begin: int = FIRST, end: int | None = None) -> Iterator[ScanStep]:
    """Yield the records and the damaged stretches between two places, in order.

    Every intact record is found, however many others are damaged. No record is held in memory as a
    whole: a damaged header may claim any length.
    """
    for number in segments.numbers():
        place = max(begin, place_at(number, 0))
        last = place_at(number, segments.length(number))
        last = last if end is None else min(last, end)
        if segment_of(place) != number:
            continue
        while place < last:
            record = _whole_at(segments, place, last)
            if record is None:
                following = _next_whole(segments, place + 1, last)
                record = ScanStep(place, None, following - place)
            yield record
            place += record.length


def _whole_at(segments: Segments, place: int, end: int) -> ScanStep | None:
    try:
        header = segments.header(place)
        if place + header.record_bytes > end:
            return None
        is_whole = segments.is_whole(place, header.record_bytes)
    except Damaged:
        return None
    return ScanStep(place, header, header.record_bytes) if is_whole else None


def _next_whole(segments: Segments, place: int, end: int) -> int:
    while place < end:
        try:
            piece = segments.read_bytes(place, min(_SEARCHED_AT_ONCE, end - place))
        except Damaged:  # its object is gone
            return end
        at = piece.find(MAGIC)
        if at < 0:
            place += max(len(piece) - len(MAGIC) + 1, 1)
        elif _whole_at(segments, place + at, end) is not None:
            return place + at
        else:
            place += at + 1
    return end

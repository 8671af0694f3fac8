"""Headers of a segment's records, in a file beside it that moves to the object store before it.

An index is made from them, so nobody reads a moved segment to find its records. A row has the
place of a record and its header. Without the file, or if its SHA-256 is wrong, the segment is read.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from struct import Struct

from minicrawl.archive.objects.moved_file import opened, stub_of
from minicrawl.archive.record import HEADER_BYTES, Header, header_of
from minicrawl.archive.segments import Segments, headers_path, place_at, scan, segment_of
from minicrawl.errors import Damaged
from minicrawl.own_files import put_in_place

_ROW = Struct(f"<Q{HEADER_BYTES}s")
_AT_ONCE = 8
"""Number of files that are fetched at the same time."""


def write_headers(segment: Path) -> Path:
    """Write the headers of a finished segment, and return their file."""
    number, path = int(segment.stem.removeprefix("segment-")), headers_path(segment)
    draft = path.with_suffix(".draft")
    with closing(Segments(segment.parent)) as segments, draft.open("wb") as out:
        for step in scan(segments, place_at(number, 0), place_at(number + 1, 0)):
            if step.header is not None:
                out.write(_ROW.pack(step.place, segments.read_bytes(step.place, HEADER_BYTES)))
    put_in_place(draft, path)
    return path


def headers_between(segments: Segments, begin: int, end: int) -> Iterator[tuple[int, Header]]:
    """Yield places and headers of the intact records between two places, in order."""
    first_segment, last_segment = segment_of(begin), segment_of(end)
    numbers = [n for n in segments.numbers() if first_segment <= n <= last_segment]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for at in range(0, len(numbers), _AT_ONCE):
            block = numbers[at : at + _AT_ONCE]
            # An object store takes its time to answer, and answers several requests at once.
            moved = pool.map(_moved_rows, map(segments.path, block))
            for number, rows in zip(block, moved, strict=True):
                first, last = max(begin, place_at(number, 0)), min(end, place_at(number + 1, 0))
                if rows is not None:
                    for place, header in _ROW.iter_unpack(rows):
                        if first <= place < last:
                            yield place, header_of(header)
                elif first < last:
                    for step in scan(segments, first, last):
                        if step.header is not None:
                            yield step.place, step.header


def _moved_rows(segment: Path) -> bytes | None:
    """Return the headers of a segment that was moved; None if it is here, or if they are not."""
    if not segment.exists():
        with suppress(Damaged):
            stub, rows = stub_of(path := headers_path(segment)), opened(path).read()
            return rows if stub and sha256(rows).hexdigest() == stub.sha256 else None
    return None

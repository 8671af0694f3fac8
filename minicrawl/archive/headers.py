"""Headers of a segment's records, in a file beside it that moves to the object store before it.

An index is made from them, so nobody reads a moved segment to find its records. A row has the
place of a record and its header. Without the file, or if its SHA-256 is wrong, the segment is read.
"""

from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from struct import Struct

from minicrawl.archive.objects.moved_file import opened, stub_of
from minicrawl.archive.record import HEADER_BYTES, Header, header_of
from minicrawl.archive.segments import Segments, headers_path, place_at, scan
from minicrawl.errors import Damaged
from minicrawl.own_files import put_in_place

_ROW = Struct(f"<Q{HEADER_BYTES}s")


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
    for number in segments.numbers():
        first, last = max(begin, place_at(number, 0)), min(end, place_at(number + 1, 0))
        if first < last and (rows := _moved_rows(segments.path(number))) is not None:
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

"""Scan: iterates over all records between two places of an archive.

Laws: a scan finds every intact record, however many others are damaged. After damage it resumes
at the next record with a valid checksum. It never holds a whole record in memory, because a
damaged header may claim any length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from minicrawl.archive.record import MAGIC, Header
from minicrawl.archive.segments import FIRST, Segments, place_at, segment_of
from minicrawl.errors import Damaged

_SEARCHED_AT_ONCE = 1 << 20


class ScanStep(NamedTuple):
    """One step of a scan: a record, or a damaged stretch if `header` is None."""

    place: int
    header: Header | None
    length: int


def scan(segments: Segments, begin: int = FIRST, end: int | None = None) -> Iterator[ScanStep]:
    """Yield the records and the damaged stretches between two places, in order."""
    for number in segments.numbers():
        first = max(begin, place_at(number, 0))
        last = place_at(number, segments.length(number))
        last = last if end is None else min(last, end)
        if segment_of(first) == number:
            yield from _scan_segment(segments, first, last)


def _scan_segment(segments: Segments, place: int, end: int) -> Iterator[ScanStep]:
    while place < end:
        record = _whole_at(segments, place, end)
        if record is None:
            following = _next_whole(segments, place + 1, end)
            yield ScanStep(place, None, following - place)
            place = following
        else:
            yield record
            place += record.length


def _whole_at(segments: Segments, place: int, end: int) -> ScanStep | None:
    """Return the record at `place`, or None if it is damaged."""
    try:
        header = segments.header(place)
        if place + header.record_bytes > end:
            return None
        is_whole = segments.is_whole(place, header.record_bytes)
    except Damaged:
        return None
    return ScanStep(place, header, header.record_bytes) if is_whole else None


def _next_whole(segments: Segments, place: int, end: int) -> int:
    """Return the place of the next intact record, or `end`."""
    while place < end:
        piece = segments.read_bytes(place, min(_SEARCHED_AT_ONCE, end - place))
        at = piece.find(MAGIC)
        if at < 0:
            place += max(len(piece) - len(MAGIC) + 1, 1)
        elif _whole_at(segments, place + at, end) is not None:
            return place + at
        else:
            place += at + 1
    return end

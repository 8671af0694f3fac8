"""The URLs that were met last, with their pages, in few bytes each; the store knows the others.

Laws: a page has a URL only if that equals the one that was put, to the last byte; the room is
bounded, whatever is met. The bytes lie in a ring, where new ones take the place of the oldest: of
what is left of an older line the beginning is gone, and that is what every look asks for.

line    the URL and its page, each behind a byte that no text has
place   where the line of a page begins; pages that are far apart share one, and the last has it
"""

from collections.abc import Iterable

import numpy as np

ROOM = 1 << 26
"""Bytes: lines of about a million URLs."""
PLACES = 1 << 21


class Lately:
    """page -> URL."""

    def __init__(self) -> None:
        self._places = np.zeros(PLACES, dtype=np.uint32).data
        self._ring = bytearray()
        self._next = 0

    def which(self, pages: Iterable[int], url: str) -> int | None:
        """Which of these pages is known to have this URL."""
        ring, places = self._ring, self._places
        for page in pages:
            if ring.startswith(_line(url, page), places[page % PLACES]):
                return page
        return None

    def url_of(self, page: int) -> str | None:
        """The URL of this page, if it was met lately."""
        ring, begin = self._ring, self._places[page % PLACES]
        if not ring.startswith(b"\xff", begin):
            return None
        end = ring.index(b"\xfe", begin)
        if not ring.startswith(b"\xfe%d\xfe" % page, end):
            return None
        return ring[begin + 1 : end].decode()

    def put(self, urls: Iterable[tuple[str, int]]) -> None:
        """These URLs were met, of these pages."""
        ring, places, begin = self._ring, self._places, self._next
        for url, page in urls:
            line = _line(url, page)
            end = begin + len(line)
            if end > ROOM:
                begin, end = 0, len(line)
            ring[begin:end] = line
            places[page % PLACES] = begin
            begin = end
        self._next = begin


def _line(url: str, page: int) -> bytes:
    """No text has these bytes in UTF-8."""
    return b"\xff%b\xfe%d\xfe" % (url.encode(), page)

"""The URLs that were met last, with their pages, in few bytes each; the store knows the others.

Laws: a page has a URL only if that equals the one that was put, to the last byte; the room is
bounded, whatever is met, and a URL that is very long is left to the store. The bytes lie in a ring,
where new ones take the place of the oldest: of what is left of an older line the beginning is gone,
and that is what every look asks for. Origins, which many pages share, are not in it: whoever has
the pages knows them.

line    the path of a URL and its page, each behind a byte that no text has
place   where the line of a page begins; pages that are far apart share one, and the last has it
"""

from array import array
from collections.abc import Callable, Iterable

ROOM = 1 << 26
"""Bytes: lines of one and a half million URLs whose paths have 35 letters, one million if 55."""
LONGEST = 512
"""Characters: few would fill the ring, and few people link to them."""
PLACES = 1 << 21
"""More than there are lines: most pages have one to themselves."""

OriginOf = Callable[[int], str]
"""The origin of a page's URL."""


class RecentUrls:
    """page -> URL."""

    def __init__(self, origin_of: OriginOf) -> None:
        self._origin_of = origin_of
        self._places = array("I")
        self._ring = bytearray()
        self._next = 0

    def which(self, pages: Iterable[int], url: str) -> int | None:
        """Which of these pages is known to have this URL."""
        for page in pages:
            origin = self._origin_of(page)
            line = _line(url[len(origin) :], page)
            if self._ring.startswith(line, self._place(page)) and url.startswith(origin):
                return page
        return None

    def url_of(self, page: int) -> str | None:
        """The URL of this page, if it was met lately."""
        ring, begin = self._ring, self._place(page)
        if not ring.startswith(b"\xff", begin):
            return None
        end = ring.index(b"\xfe", begin)
        if not ring.startswith(b"\xfe%d\xfe" % page, end):
            return None
        return self._origin_of(page) + ring[begin + 1 : end].decode()

    def put(self, urls: Iterable[tuple[str, int]]) -> None:
        """These URLs were met, of these pages."""
        ring, places, begin = self._ring, self._places, self._next
        for url, page in urls:
            if len(url) > LONGEST:
                continue
            line = _line(url[len(self._origin_of(page)) :], page)
            end = begin + len(line)
            if end > ROOM:
                begin, end = 0, len(line)
            ring[begin:end] = line
            slot = page % PLACES
            if slot >= len(places):
                self._make_room(slot)
            places[slot] = begin
            begin = end
        self._next = begin

    def _place(self, page: int) -> int:
        """Where its line begins, if it has one."""
        slot = page % PLACES
        return self._places[slot] if slot < len(self._places) else 0

    def _make_room(self, slot: int) -> None:
        """For this slot, and twice as many as there are: most crawls need few."""
        room = min(max(slot + 1, 2 * len(self._places)), PLACES)
        self._places.frombytes(bytes(4 * (room - len(self._places))))


def _line(path: str, page: int) -> bytes:
    """What parts it is in no text: these bytes are not UTF-8."""
    return b"\xff%b\xfe%d\xfe" % (path.encode(), page)

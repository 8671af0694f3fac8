"""The URLs that were met last, with their pages, in few bytes each; the store knows the others.

Laws: a page is told only for a URL that equals the one that was put, to the last byte; the room is
bounded, whatever is met. The bytes lie in a ring, where new ones take the place of the oldest: of
what is left of an older line the beginning is gone, and that is what every look asks for.

line    the URL and its page, each behind a byte that no text has
place   where a line begins, and above that six bits of the URL's hash: these tell who moves when
        there are twice as many slots, and spare most looks at the line of another URL till then
"""

from collections.abc import Iterable

import numpy as np

ROOM = 1 << 26
"""Bytes: lines of about a million URLs."""
FEWEST_SLOTS, MOST_SLOTS = 1 << 16, 1 << 22
SLOTS_A_LINE = 4

_HASH_BITS = (1 << 32) - ROOM
_SLOT_SHIFT = 10  # the six bits are the first ones of a slot among the most
_BEGIN, _AND, _END = b"\xff", b"\xfe", 0xFE
"""No text has these bytes in UTF-8."""


class Lately:
    """URL -> page. A URL has two slots: its own, and the next one for who was there before."""

    def __init__(self) -> None:
        self._places = np.zeros(FEWEST_SLOTS, dtype=np.uint32).data
        self._lines = 0
        self._ring = bytearray()
        self._next = 0

    def find(self, urls: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """The pages of those that were met lately, and the others."""
        found: dict[str, int] = {}
        others: list[str] = []
        if not self._lines:
            return found, list(urls)
        places, ring, slots = self._places, self._ring, len(self._places)
        for url in urls:
            code = hash(url)
            slot = (code >> _SLOT_SHIFT) % slots
            for place in (places[slot], places[slot ^ 1]):
                if (place ^ code) & _HASH_BITS:
                    continue
                line, begin = _BEGIN + url.encode() + _AND, place % ROOM
                if ring.startswith(line, begin):
                    begin += len(line)
                    found[url] = int(ring[begin : ring.index(_END, begin)])
                    break
            else:
                others.append(url)
        return found, others

    def put(self, url: str, page: int) -> None:
        """The URL was met."""
        line = b"\xff%b\xfe%d\xfe" % (url.encode(), page)
        begin = self._next
        if begin + len(line) > ROOM:
            begin = 0
        self._next = begin + len(line)
        self._ring[begin : self._next] = line
        self._lines += 1
        if len(self._places) < min(SLOTS_A_LINE * self._lines, MOST_SLOTS):
            self._grow()
        self._place(hash(url), begin)

    def _grow(self) -> None:
        """Twice as many slots."""
        places = np.asarray(self._places)
        moves = places & (ROOM * len(places) // FEWEST_SLOTS) > 0
        self._places = np.concatenate((np.where(moves, 0, places), np.where(moves, places, 0))).data

    def _place(self, code: int, begin: int) -> None:
        places = self._places
        slot = (code >> _SLOT_SHIFT) % len(places)
        if places[slot]:
            places[slot ^ 1] = places[slot]
        places[slot] = code & _HASH_BITS | begin

"""The URLs that were met last, with their pages, in few bytes each; the store knows the others.

Laws: a page is told only for a URL that equals the one that was put, to the last byte; the room is
bounded, whatever is met. The bytes lie in a ring, where new ones take the place of the oldest: of
what is left of an older line the beginning is gone, and that is what every look asks for.

line    the URL and its page, each behind a byte that no text has
place   where a line begins, with some bits of the URL's hash: who has others need not be looked at
"""

from collections.abc import Iterable

import numpy as np

ROOM = 1 << 26
"""Bytes: lines of about a million URLs."""
SLOTS = 1 << 22

_HASH_BITS = (1 << 32) - ROOM  # of a place; the others say where
_BEGIN, _AND, _END = b"\xff", b"\xfe", 0xFE
"""No text has these bytes in UTF-8."""


class Lately:
    """URL -> page. A URL has two slots: its own, and the next one for who was there before."""

    def __init__(self) -> None:
        # Of zeros only what is used takes room.
        self._places = np.zeros(SLOTS, dtype=np.uint32).data
        self._ring = bytearray()
        self._next = 0

    def find(self, urls: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """The pages of those that were met lately, and the others."""
        found: dict[str, int] = {}
        others: list[str] = []
        places, ring = self._places, self._ring
        for url in urls:
            code = hash(url)
            slot = (code >> 32) % SLOTS
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
        code = hash(url)
        slot = (code >> 32) % SLOTS
        if self._places[slot]:
            self._places[slot ^ 1] = self._places[slot]
        self._places[slot] = code & _HASH_BITS | begin

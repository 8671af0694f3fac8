"""The books of all shards as those of one ledger.

Laws: cash is where it was, or where it was going to, to the atom. A page that has been read holds
its key and the dividend of its shard; here it is all key, and the dividend is 0. What virtual pages
hold is in one pot.

clock    A shard counts time by the cash that its own pages hand on, and all pages together hand on
         that of all shards. So a time is as many circulations ago as it was in the shard.
circle   Pages of several shards may stand for each other in a circle for a while, until cash has
         gone round often enough. The page of it that became known last is a dead end here.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gather.holdings import Holdings, Numbers, Small
from minicrawl.model import State
from minicrawl.opic.ledger import READ, Ledger, Totals
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows.window import TICK_BITS
from minicrawl.store.records import FrontierRow, StoreTerms

_ROWS_AT_ONCE = 1 << 14
_MEASURED = frozenset(("fixed", "improved-fixed", "variable"))


class GatheredBooks:
    """The columns of all pages, and what is on none of them."""

    def __init__(self, shards: Sequence[Holdings], terms: StoreTerms) -> None:
        """The own pages of all shards, one shard after the other."""
        totals = [one.totals for one in shards]
        self._terms = terms
        self._totals = Totals(
            minted=sum(one.minted for one in totals),
            recorded=sum(one.recorded for one in totals),
            dividend=0,
            virtual=sum(one.virtual for one in totals),
            pot=sum(one.pot for one in totals),
            unread=0,
            discovery=totals[0].discovery,
            focus=totals[0].focus,
            edge=totals[0].edge,
        )
        self.state: NDArray[np.uint8] = np.concatenate([one.own.state for one in shards])
        self.key: Numbers = np.concatenate([one.own.key for one in shards])
        self.history: Numbers = np.concatenate([one.own.history for one in shards])
        self.g_time: Numbers = np.concatenate(
            [self._retimed(one.own.g_time, one.totals) for one in shards]
        )
        self.inlinks: Small = np.concatenate([one.own.inlinks for one in shards])
        self.spent: Small = np.zeros(len(self.key), dtype=np.uint32)
        self.measures: dict[int, bytes] = {}
        self.forwards: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.key)

    # ------------------------------------------------------------ clocks

    def _retimed(self, times: Numbers, shard: Totals) -> Numbers:
        """These times of a shard, by the clock of all."""
        now = self._totals.recorded >> TICK_BITS
        pace = self._totals.minted / max(shard.minted, 1)
        away = (shard.recorded >> TICK_BITS) - times
        found: Numbers = np.maximum(now - np.rint(away * pace).astype(np.int64), 0)
        return found

    def measure(self, pages: Small, shard: Holdings) -> None:
        """Take over the measures of a shard; `pages` says which page each of its own is."""
        for page, packed in shard.own.measures.items():
            self.measures[int(pages[page])] = self._remeasured(packed, shard.totals)

    def _remeasured(self, packed: bytes, shard: Totals) -> bytes:
        """Times and widths in measures are by the clock of the shard."""
        numbers = np.frombuffer(packed, dtype=np.int64).copy()
        if self._terms.window in _MEASURED:
            size = 3 if self._terms.measures else 2
            numbers[::size] = self._retimed(numbers[::size], shard)
        elif self._terms.window == "adaptive":
            numbers[0] = max(1, round(int(numbers[0]) * self._totals.minted / max(shard.minted, 1)))
        return numbers.tobytes()

    # ------------------------------------------------------------ pages

    def bear(self, count: int) -> None:
        """So many pages that wait become known, each with its unit."""
        self.state = np.append(self.state, np.full(count, State.UNREAD, dtype=np.uint8))
        self.key = np.append(self.key, np.full(count, UNIT))
        self.history = np.append(self.history, np.zeros(count, dtype=np.int64))
        now = np.full(count, self._totals.recorded >> TICK_BITS)
        self.g_time = np.append(self.g_time, now)
        self.inlinks = np.append(self.inlinks, np.zeros(count, dtype=np.uint32))
        self.spent = np.append(self.spent, np.zeros(count, dtype=np.uint32))
        self._totals = self._totals._replace(minted=self._totals.minted + count * UNIT)

    def link(self, pages: Small, inlinks: Small) -> None:
        """These pages have so many in-links more. None of them is there twice."""
        self.inlinks[pages] += inlinks

    def pay(self, pages: NDArray[np.integer], atoms: Sequence[int] | Numbers) -> None:
        """So much is for these pages. What stands for others passes it on."""
        ends = np.fromiter(map(self.stands_for, pages.tolist()), np.int64, count=len(pages))
        np.add.at(self.key, ends, np.asarray(atoms, dtype=np.int64))

    def pay_pot(self, atoms: int) -> None:
        """So much is for the pot, or is taken from it."""
        self._totals = self._totals._replace(pot=self._totals.pot + atoms)

    def stands_for(self, page: int) -> int:
        """The page that this one stands for in the end."""
        while page in self.forwards:
            page = self.forwards[page]
        return page

    def break_circles(self) -> list[int]:
        """Of each circle of pages that stand for each other, the last page is a dead end."""
        broken = [max(circle) for circle in _circles(self.forwards)]
        for page in broken:
            self.inlinks[self.forwards.pop(page)] -= 1
            self.state[page] = State.BAD_REDIRECT
        return broken

    # ------------------------------------------------------------ all together

    @property
    def totals(self) -> Totals:
        """What is saved beside the pages."""
        unread = int(np.count_nonzero(self.state == State.UNREAD))
        return self._totals._replace(unread=unread)

    def states(self) -> dict[str, int]:
        """How many pages are in each state."""
        counts = np.bincount(self.state).tolist()
        return {str(state): pages for state, pages in enumerate(counts) if pages}

    def missing(self) -> int:
        """The audit of the ledger that a crawl would load."""
        ledger = Ledger()
        flags = bytearray(np.where(self.state == State.UNREAD, 0, READ).astype(np.uint8))
        ledger.restore(array("q", self.key.tobytes()), flags, self.totals)
        return ledger.missing()

    def rows(self, first: int, end: int) -> Iterable[FrontierRow]:
        """Those of a range of pages."""
        columns = (self.state, self.key, self.history, self.g_time, self.inlinks, self.spent)
        for start in range(first, end, _ROWS_AT_ONCE):
            pages = range(start, min(start + _ROWS_AT_ONCE, end))
            values = (column[start : pages.stop].tolist() for column in columns)
            measures = map(self.measures.get, pages)
            yield from map(FrontierRow._make, zip(pages, *values, measures, strict=True))


def _circles(forwards: Mapping[int, int]) -> Iterable[list[int]]:
    settled: set[int] = set()
    for start in forwards:
        trail: dict[int, None] = {}
        page = start
        while page in forwards and page not in settled:
            settled.add(page)
            trail[page] = None
            page = forwards[page]
        if page in trail:
            way = list(trail)
            yield way[way.index(page) :]

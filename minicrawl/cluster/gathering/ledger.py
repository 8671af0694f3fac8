"""One ledger with the pages of all shards.

In a shard a read page holds its key plus the dividend; here its key has both, and the dividend is
0. One pot has what all pots hold.

clock    The clock of a shard counts the cash that its own pages have passed on, and the common
         clock that of all pages. A circulation is the time in which all minted cash is passed on
         once. Converted times are as many circulations ago as they were in the shard.
circle   Pages of several shards may stand for each other in a circle, until cash has gone round
         often enough to break it. Here the page of the circle with the largest number becomes a
         dead end.
"""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gathering.common_pages import Numbers
from minicrawl.cluster.gathering.shard_stores import LoadedShard, Small
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import FOREIGN, READ, UNREAD, Ledger, Totals
from minicrawl.opic.windows.by_name import MEASURED
from minicrawl.opic.windows.window import TICK_BITS
from minicrawl.states import State
from minicrawl.store.records import FrontierRow, StoreTerms

_ROWS_AT_ONCE = 1 << 14


class LedgerTable:
    """A ledger, and the other columns that a store has of its pages."""

    history: Numbers
    g_time: Numbers
    inlinks: Small
    spent: Small
    measures: dict[int, bytes]

    def __init__(self, state: NDArray[np.uint8], key: Numbers, totals: Totals) -> None:
        """`key` has all cash of the pages, so that read ones get no dividend."""
        self.state, self.ledger = state, Ledger()
        states = [state == State.UNREAD, state == State.FOREIGN]
        flags = np.select(states, [UNREAD, FOREIGN], READ).astype(np.uint8)
        unread, foreign = map(int, map(np.count_nonzero, states))
        totals = totals._replace(dividend=0, unread=unread, foreign=foreign)
        self.ledger.restore(array("q", key.tobytes()), bytearray(flags), totals)

    def __len__(self) -> int:
        return len(self.ledger)

    def states(self) -> dict[str, int]:
        counts = np.bincount(self.state).tolist()
        return {str(state): pages for state, pages in enumerate(counts) if pages}

    def rows(self, first: int, end: int) -> Iterable[FrontierRow]:
        key = np.frombuffer(self.ledger.key, dtype=np.int64)
        columns = (self.state, key, self.history, self.g_time, self.inlinks, self.spent)
        for start in range(first, end, _ROWS_AT_ONCE):
            pages = range(start, min(start + _ROWS_AT_ONCE, end))
            values = (column[start : pages.stop].tolist() for column in columns)
            measures = map(self.measures.get, pages)
            yield from map(FrontierRow._make, zip(pages, *values, measures, strict=True))


def retimed(times: Numbers, before: Totals, now: Totals) -> Numbers:
    """Convert times of one ledger's clock to that of another."""
    ages = (before.recorded >> TICK_BITS) - times
    converted: Numbers = np.rint(ages * (now.minted / max(before.minted, 1))).astype(np.int64)
    return np.maximum((now.recorded >> TICK_BITS) - converted, 0)


def retimed_measures(packed: bytes, terms: StoreTerms, before: Totals, now: Totals) -> bytes:
    numbers = np.frombuffer(packed, dtype=np.int64).copy()
    if terms.window_name in MEASURED:
        size = 3 if terms.measures else 2
        numbers[::size] = retimed(numbers[::size], before, now)
    elif terms.window_name == "adaptive":
        numbers[0] = max(1, round(int(numbers[0]) * now.minted / max(before.minted, 1)))
    return numbers.tobytes()


class GatheredLedger(LedgerTable):
    def __init__(self, shards: Sequence[LoadedShard], terms: StoreTerms, unknown: int) -> None:
        """Join the own pages of all shards, one shard after another, and mint `unknown` others."""
        totals = [shard.totals for shard in shards]
        super().__init__(
            np.concatenate([shard.state for shard in shards]),
            np.concatenate([shard.key for shard in shards]),
            totals[0]._replace(
                minted=sum(shard.minted for shard in totals),
                recorded=sum(shard.recorded for shard in totals),
                virtual=sum(shard.virtual for shard in totals),
                pot=sum(shard.pot for shard in totals),
                abroad=sum(shard.totals.abroad + int(shard.outbox.sum()) for shard in shards),
            ),
        )
        ledger = self.ledger
        self.books = Books(ledger, lambda _page: Spending(()))
        times = [retimed(shard.g_time, shard.totals, ledger.totals) for shard in shards]
        self.books.apply(Step(StepKind.BORN, born=unknown))
        nothing = np.zeros(unknown, dtype=np.uint32)
        self.state = np.append(self.state, np.full(unknown, State.UNREAD, dtype=np.uint8))
        self.history = np.concatenate([*(shard.history for shard in shards), nothing])
        self.g_time = np.concatenate([*times, np.full(unknown, ledger.now)])
        self.inlinks = np.concatenate([*(shard.inlinks for shard in shards), nothing])
        self.spent = np.zeros(len(self), dtype=np.uint32)
        self.measures = {}
        for shard in shards:
            self.inlinks[shard.pages[shard.is_foreign]] += shard.foreign_inlinks
            for page, packed in shard.measures.items():
                measures = retimed_measures(packed, terms, shard.totals, ledger.totals)
                self.measures[int(shard.pages[page])] = measures
            self.books.forwards.update(
                (int(shard.pages[page]), int(shard.pages[end]))
                for page, end in shard.forwards.items()
            )

    def receive(self, pages: Small, atoms: Sequence[int], to_pot: int = 0) -> int:
        """Post cash that is abroad, and return its atoms."""
        spending = Spending(pages.tolist(), atoms, (), to_pot)
        self.books.apply(Step(StepKind.RECEIVE, spending=spending))
        return sum(atoms) + to_pot

    def receive_outbox(self, shard: LoadedShard) -> int:
        """Post the cash that waits on foreign pages of a shard, and return its atoms."""
        waits = np.flatnonzero(shard.outbox)
        foreign, total = shard.pages[shard.is_foreign], 0
        for start in range(0, len(waits), _ROWS_AT_ONCE):
            block = waits[start : start + _ROWS_AT_ONCE]
            total += self.receive(foreign[block], shard.outbox[block].tolist())
        return total

    def break_circles(self) -> set[int]:
        """Make the last page of each circle a dead end, and return these pages."""
        forwards = self.books.forwards
        # Any page of the circle would do; the largest number makes the choice the same each time.
        broken = set[int]()
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
                broken.add(max(way[way.index(page) :]))
        for page in broken:
            self.inlinks[forwards.pop(page)] -= 1
            self.state[page] = State.BAD_REDIRECT
        return broken

    def missing(self) -> int:
        """Return the atoms that are on no page, or still abroad; 0 unless stores are damaged."""
        return self.ledger.missing() + self.ledger.abroad

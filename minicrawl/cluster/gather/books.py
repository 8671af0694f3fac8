"""The books of all shards as those of one ledger.

Laws: all cash stays where it was, or arrives where it was going, to the atom. In a shard a read
page holds its key plus the dividend; here its key has both, and the dividend is 0. One pot has what
all virtual pages hold.

clock    A shard measures time by the cash that its own pages pass on, which all pages together
         exceed. So each time is converted: as many circulations ago as it was in the shard.
circle   Pages of several shards may stand for each other in a circle, until cash has gone round
         often enough to break it. Here the page of the circle with the largest number becomes a
         dead end.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gather.holdings import GatheredTurn, Holdings, Numbers, ShardTurns, Small
from minicrawl.cluster.gather.stores import (
    UNKNOWN,
    Digests,
    Hosts,
    NumberedStore,
    PageIndex,
    Pages,
    ShardStore,
    Unheard,
    blocks,
    digests,
    owner_of,
)
from minicrawl.errors import StoreError
from minicrawl.model import State
from minicrawl.opic.journal import Spending, StepKind
from minicrawl.opic.ledger import READ, Ledger, Totals
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows.interpolation import TICK_BITS
from minicrawl.progress import Progress, part
from minicrawl.store import tables
from minicrawl.store.questions import UrlColumns, endowments, url_columns
from minicrawl.store.records import Batch, FrontierRow, StoreTerms, UrlRow, reporting_damage
from minicrawl.store.stored_links import pack
from minicrawl.store.writer import PackedStep, StoreWriter, add_steps

_ROWS_AT_ONCE = 1 << 14
_MEASURED = frozenset(("fixed", "improved-fixed", "variable"))


class GatheredBooks:
    """Columns of all pages, and the totals beside them."""

    def __init__(self, shards: Sequence[Holdings], terms: StoreTerms) -> None:
        """Join the own pages of all shards, one shard after another."""
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
        """Convert times of a shard to the common clock."""
        now = self._totals.recorded >> TICK_BITS
        pace = self._totals.minted / max(shard.minted, 1)
        away = (shard.recorded >> TICK_BITS) - times
        found: Numbers = np.maximum(now - np.rint(away * pace).astype(np.int64), 0)
        return found

    def measure(self, pages: Small, shard: Holdings) -> None:
        """Copy the measures of a shard; `pages` maps its own pages to all pages."""
        for page, packed in shard.own.measures.items():
            self.measures[int(pages[page])] = self._remeasured(packed, shard.totals)

    def _remeasured(self, packed: bytes, shard: Totals) -> bytes:
        """Convert the times and widths in measures to the common clock."""
        numbers = np.frombuffer(packed, dtype=np.int64).copy()
        if self._terms.window in _MEASURED:
            size = 3 if self._terms.measures else 2
            numbers[::size] = self._retimed(numbers[::size], shard)
        elif self._terms.window == "adaptive":
            numbers[0] = max(1, round(int(numbers[0]) * self._totals.minted / max(shard.minted, 1)))
        return numbers.tobytes()

    # ------------------------------------------------------------ pages

    def bear(self, count: int) -> None:
        """Add `count` unread pages, each with its unit."""
        self.state = np.append(self.state, np.full(count, State.UNREAD, dtype=np.uint8))
        self.key = np.append(self.key, np.full(count, UNIT))
        self.history = np.append(self.history, np.zeros(count, dtype=np.int64))
        now = np.full(count, self._totals.recorded >> TICK_BITS)
        self.g_time = np.append(self.g_time, now)
        self.inlinks = np.append(self.inlinks, np.zeros(count, dtype=np.uint32))
        self.spent = np.append(self.spent, np.zeros(count, dtype=np.uint32))
        self._totals = self._totals._replace(minted=self._totals.minted + count * UNIT)

    def link(self, pages: Small, inlinks: Small) -> None:
        """Add in-links to pages, each of which is listed once."""
        self.inlinks[pages] += inlinks

    def pay(self, pages: NDArray[np.integer], atoms: Sequence[int] | Numbers) -> None:
        """Credit `atoms` to `pages`. A page that stands for another passes them on."""
        ends = np.fromiter(map(self.stands_for, pages.tolist()), np.int64, count=len(pages))
        np.add.at(self.key, ends, np.asarray(atoms, dtype=np.int64))

    def pay_pot(self, atoms: int) -> None:
        """Add `atoms` (may be negative) to the pot."""
        self._totals = self._totals._replace(pot=self._totals.pot + atoms)

    def stands_for(self, page: int) -> int:
        """Return the page for which this one stands in the end."""
        while page in self.forwards:
            page = self.forwards[page]
        return page

    def break_circles(self) -> list[int]:
        """Make the last page of each circle a dead end, and return these pages."""
        broken = [max(circle) for circle in _circles(self.forwards)]
        for page in broken:
            self.inlinks[self.forwards.pop(page)] -= 1
            self.state[page] = State.BAD_REDIRECT
        return broken

    # ------------------------------------------------------------ results

    @property
    def totals(self) -> Totals:
        """Totals to save beside the pages."""
        unread = int(np.count_nonzero(self.state == State.UNREAD))
        return self._totals._replace(unread=unread)

    def states(self) -> dict[str, int]:
        """Return the number of pages in each state."""
        counts = np.bincount(self.state).tolist()
        return {str(state): pages for state, pages in enumerate(counts) if pages}

    def missing(self) -> int:
        """Audit the ledger that a crawl would load. Return the missing atoms."""
        ledger = Ledger()
        flags = bytearray(np.where(self.state == State.UNREAD, 0, READ).astype(np.uint8))
        ledger.restore(array("q", self.key.tobytes()), flags, self.totals)
        return ledger.missing()

    def rows(self, first: int, end: int) -> Iterable[FrontierRow]:
        """Yield the rows of a range of pages."""
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


# ================================================================ numbering
#
# Numbers the pages of all shards, and writes their URLs.
#
# Law: each URL is one page. The own pages of all shards are numbered first; then foreign pages are
# looked up among them.

Ids = NDArray[np.int64]

_NO_DIGESTS = np.empty((0, 2), dtype=np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedShards:
    """Numbered shards, and the number of pages that their owners have not heard of."""

    shards: Sequence[NumberedStore]
    unheard: int


def number_pages(
    stores: Sequence[ShardStore], held: Sequence[Holdings], out: StoreWriter, tell: Progress
) -> NumberedShards:
    """Number the pages of all shards, and write URLs and hosts."""
    hosts, shards, known = Hosts(), list[NumberedStore](), [_NO_DIGESTS]
    for place, (store, one) in enumerate(zip(stores, held, strict=True)):
        with reporting_damage(store.path):
            shards.append(_numbered(store, one, hosts, first=shards[-1].own.stop if shards else 0))
            known += _write_own(shards[-1], one, out)
            _refuse_pages_of_others(shards[-1], one, hosts)
        part(tell, 0, 0.5)((place + 1) / len(stores))
    index = PageIndex(np.concatenate(known))
    if (twice := index.twice()) is not None:
        first, other = (tables.url_of(out.connection, page) for page in twice)
        raise StoreError(f"{first} was born in two shards" + (f", as {other}" * (first != other)))
    unheard = Unheard(shards[-1].own.stop)
    for place, (shard, one) in enumerate(zip(shards, held, strict=True)):
        _find_foreign(shard, one, index, unheard)
        part(tell, 0.5, 1)((place + 1) / len(stores))
    for block in blocks(unheard.rows()):
        out.commit(Batch(urls=block))
    out.commit(Batch(hosts=hosts.rows))
    return NumberedShards(shards=shards, unheard=len(unheard))


def _numbered(store: ShardStore, held: Holdings, hosts: Hosts, first: int) -> NumberedStore:
    own = range(first, first + len(held.own.key))
    pages: Pages = np.zeros(len(held.is_own), dtype=np.uint32)
    pages[held.is_own] = np.arange(own.start, own.stop, dtype=np.uint32)
    return NumberedStore(store, pages, hosts.join(tables.hosts(store.connection)), own)


def _write_own(shard: NumberedStore, held: Holdings, out: StoreWriter) -> Iterator[Digests]:
    """Write the URLs of a shard's own pages, and yield their digests."""
    for ids, urls in _urls(shard, held.is_own):
        pages = shard.pages[ids].tolist()
        rows = map(UrlRow._make, zip(pages, urls.hosts, urls.paths, urls.depths, strict=True))
        out.commit(Batch(urls=list(rows)))
        yield digests(urls.hosts, urls.paths)


def _urls(shard: NumberedStore, chosen: NDArray[np.bool_]) -> Iterator[tuple[Ids, UrlColumns]]:
    """Yield the ids and URLs of the chosen pages, with the common hosts."""
    hosts, first = np.array(shard.hosts, dtype=np.int64), 0
    for block in url_columns(shard.store.connection):
        here = chosen[first : first + len(block.paths)]
        ids = first + np.flatnonzero(here)
        first += len(here)
        if len(ids):
            is_here = here.tolist()
            of_all = hosts[np.array(block.hosts)[here]].tolist()
            paths, depths = compress(block.paths, is_here), compress(block.depths, is_here)
            yield ids, UrlColumns(of_all, list(paths), list(depths))


def _refuse_pages_of_others(shard: NumberedStore, held: Holdings, hosts: Hosts) -> None:
    """Refuse own pages of hosts that belong to other shards."""
    store = shard.store
    host_of = tables.whole(tables.urls(store.connection, "host"), "host")
    for host in np.unique(host_of[held.is_own]).tolist():
        origin = hosts.rows[shard.hosts[host]].origin
        if (owner := owner_of(origin, store.terms.shards)) != store.number:
            raise StoreError(
                f"{store.path} has pages of {origin} as its own, which are shard {owner}'s"
            )


def _find_foreign(shard: NumberedStore, held: Holdings, index: PageIndex, new: Unheard) -> None:
    for ids, urls in _urls(shard, ~held.is_own):
        wanted = digests(urls.hosts, urls.paths)
        found = index.find(wanted)
        unknown = np.flatnonzero(found == UNKNOWN)
        rows = [
            UrlRow(UNKNOWN, urls.hosts[place], urls.paths[place], urls.depths[place])
            for place in unknown.tolist()
        ]
        found[unknown] = new.pages(wanted[unknown], rows)
        shard.pages[ids] = found


# ================================================================ steps
#
# The gathered log: births, endowments, the last turn of each page, and reopened pages.

_TURNS_AT_ONCE = 20_000
_WRITTEN_AT_ONCE = 1_000
_REOPENED_AT_ONCE = 10_000


def write_log(
    out: StoreWriter,
    numbering: NumberedShards,
    held: Sequence[Holdings],
    books: GatheredBooks,
    broken: Sequence[int],
    tell: Progress,
) -> int:
    """Write all steps, and note in the books which step has each page's links.

    `broken` are pages that no longer stand for others. Return the number of the last step.
    """
    log = _Log(out, books)
    log.add(_births(numbering))
    for shard in numbering.shards:
        log.add(_endowments(shard))
    turns = merge(
        *(_turns(shard, one) for shard, one in zip(numbering.shards, held, strict=True)),
        key=_moment,
    )
    all_turns = int(np.count_nonzero(books.state != State.UNREAD))
    circles = frozenset(broken)
    for block in blocks(turns, _TURNS_AT_ONCE):
        log.add_turns([_ended(turn) if turn.page in circles else turn for turn in block])
        tell(min(log.turns / max(all_turns, 1), 1.0))
    log.add(_reopened(books))
    return log.last


class _Log:
    """Writer that numbers steps."""

    def __init__(self, out: StoreWriter, books: GatheredBooks) -> None:
        self._out, self._books = out, books
        self.last = self.turns = 0

    def add(self, steps: Iterator[PackedStep]) -> None:
        """Number and write steps."""
        numbered = [step._replace(seq=self.last + 1 + place) for place, step in enumerate(steps)]
        add_steps(self._out, numbered)
        self.last += len(numbered)

    def add_turns(self, turns: Sequence[GatheredTurn]) -> None:
        first, spent = self.last + 1, self._books.spent
        for seq, turn in enumerate(turns, start=first):
            if turn.spending is not None:
                spent[turn.page] = seq
        add_steps(
            self._out,
            (
                PackedStep(seq, turn.kind, turn.page, turn.state, 0, 0, turn.spending)
                for seq, turn in enumerate(turns, start=first)
            ),
        )
        self.last += len(turns)
        self.turns += len(turns)
        written = (turn.written for turn in turns if turn.written is not None)
        for block in blocks(written, _WRITTEN_AT_ONCE):
            self._out.commit(Batch(written=block))


def _births(numbering: NumberedShards) -> Iterator[PackedStep]:
    counts = [*(len(shard.own) for shard in numbering.shards), numbering.unheard]
    return (_step(StepKind.BORN, born=count) for count in counts if count)


def _endowments(shard: NumberedStore) -> Iterator[PackedStep]:
    for seeds, units in endowments(shard.store.connection):
        pages = sorted(shard.pages[list(seeds)].tolist())
        yield _step(StepKind.ENDOWED, amount=units, spending=pack(Spending(pages)))


def _turns(shard: NumberedStore, held: Holdings) -> Iterator[GatheredTurn]:
    with reporting_damage(shard.store.path):
        yield from ShardTurns(shard.store.connection, held, shard.pages)


def _reopened(books: GatheredBooks) -> Iterator[PackedStep]:
    """Yield REOPEN steps for pages that were read and wait again."""
    pages = np.flatnonzero((books.state == State.UNREAD) & (books.spent > 0)).tolist()
    for block in blocks(pages, _REOPENED_AT_ONCE):
        yield _step(StepKind.REOPEN, spending=pack(Spending(block)))


def _step(
    kind: StepKind, *, born: int = 0, amount: int = 0, spending: bytes | None = None
) -> PackedStep:
    return PackedStep(0, kind, 0, State.UNREAD, born, amount, spending)


def _ended(turn: GatheredTurn) -> GatheredTurn:
    """Make the turn a dead end: its page stands for no other any more."""
    return turn._replace(kind=StepKind.DEAD_END, state=State.BAD_REDIRECT, spending=None)


def _moment(turn: GatheredTurn) -> float:
    return turn.at

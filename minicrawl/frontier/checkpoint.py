"""Checkpoints of the frontier: columns are copied at once, and made into rows later.

The crawl stands still while columns are copied, so the store's thread does all else.

Law: the rows can be iterated again, because a full disk may take two attempts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.page_table import Cut, Frontier, Numbers
from minicrawl.frontier.url_table import UrlsOf, no_urls
from minicrawl.model import READ_STATES, STANDS_FOR_ANOTHER, State
from minicrawl.opic.ledger import FOREIGN, Channels, Spending
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows import Births, Past
from minicrawl.store import questions, tables
from minicrawl.store.records import UNCHANGED, Checkpoint, FrontierRow, StoreTerms

if TYPE_CHECKING:
    from minicrawl.opic.siblings import Siblings

Row = TypeVar("Row")

_ROWS_AT_ONCE = 1 << 14


def cut_checkpoint(frontier: Frontier) -> Checkpoint:
    """Return the rows that changed since the last checkpoint, frozen as of now."""
    changes = frontier.take_changes()
    cut = changes.cut(frontier.ledger.key)
    turned = UpdatedRows.of(frontier, changes.turned, changes.saved)
    born = NewRows.of(frontier, changes.turned, changes.saved)
    frontier.spendings.cut(len(frontier))
    return Checkpoint(
        watermark=frontier.last_seq,
        totals=frontier.ledger.totals,
        born=Rows(partial(born.rows, cut)),
        turned=Rows(partial(turned.rows, cut)),
        paid=Rows(partial(cut.paid, changes.saved, turned.pages)),
        siblings=_order_state(frontier),
        channels=None if frontier.channels is None else frontier.channels.as_rows(),
    )


def _order_state(frontier: Frontier) -> dict[str, bytes] | None:
    if frontier.siblings is None:
        return None
    return frontier.siblings.state() | (frontier.values.state() if frontier.values else {})


@dataclass(frozen=True, slots=True)
class Rows(Iterable[Row], Generic[Row]):
    """Iterable that recreates its rows for each iteration."""

    make: Callable[[], Iterator[Row]]

    def __iter__(self) -> Iterator[Row]:
        return self.make()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Copied columns of the rows of some pages, without their in-links."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    history: Numbers
    g_time: Numbers
    spent: NDArray[np.int64]
    measures: Mapping[int, bytes | None]

    def rows(self, cut: Cut) -> Iterator[FrontierRow]:
        """Yield the rows, with the in-links that the pages gained."""
        inlinks = cut.gained(self.pages)
        columns = (self.state, self.key, self.history, self.g_time, inlinks, self.spent)
        for start in range(0, len(self.pages), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            pages = self.pages[block].tolist()
            values = (column[block].tolist() for column in columns)
            measures = map(self.measures.get, pages)
            yield from map(FrontierRow._make, zip(pages, *values, measures, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """Pages that have no row yet. Most were never read, so only their birth is stored."""

    first: int
    state: NDArray[np.uint8]
    key: Numbers
    births: Births
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], first: int) -> NewRows:
        """Return the pages from `first` on; `pasts` has the past of each page that had a turn."""
        return cls(
            first=first,
            state=frontier.states()[first:].copy(),
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[first:].copy(),
            births=frontier.window.births(first, len(frontier)),
            pasts=pasts,
            spent=frontier.spendings.newest,
        )

    def rows(self, cut: Cut) -> Iterator[FrontierRow]:
        """Yield the rows in blocks, with the in-links that the pages gained.

        Only the copied columns take memory, not the rows of a large web.
        """
        times, turned = self.births.by_page(), sorted(self.pasts)
        for start in range(0, len(self.state), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            first = self.first + start
            mine = slice(bisect_left(turned, first), bisect_left(turned, first + _ROWS_AT_ONCE))
            yield from self._block(block, times[block], turned[mine]).rows(cut)

    def _block(self, block: slice, times: Numbers, turned: Sequence[int]) -> Columns:
        """Return the columns of a block of pages, some of which had a turn."""
        first, count = self.first + block.start, len(times)
        history, g_time = np.zeros(count, dtype=np.int64), times.copy()
        spent, measures = np.zeros(count, dtype=np.int64), {}
        for page in turned:
            place = page - first
            history[place], g_time[place], measures[page] = self.pasts[page]
            spent[place] = self.spent.get(page, 0)
        return Columns(
            pages=np.arange(first, first + count),
            state=self.state[block],
            key=self.key[block],
            history=history,
            g_time=g_time,
            spent=spent,
            measures=measures,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedRows:
    """Pages that had a turn. Mutable values are copied; others are looked up later."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], saved: int) -> UpdatedRows:
        """Return the pages that have a row, in ascending order."""
        pages = np.fromiter(pasts, dtype=np.int64, count=len(pasts))
        pages = np.sort(pages[pages < saved])
        return cls(
            pages=pages,
            state=frontier.states()[pages],
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[pages],
            pasts=pasts,
            spent=frontier.spendings.newest,
        )

    def rows(self, cut: Cut) -> Iterator[FrontierRow]:
        """Yield the rows, with the in-links that the pages gained."""
        pages = self.pages.tolist()
        pasts = list(map(self.pasts.__getitem__, pages))
        histories, times, measures = zip(*pasts, strict=True) if pasts else ((), (), ())
        columns = Columns(
            pages=self.pages,
            state=self.state,
            key=self.key,
            history=np.array(histories, dtype=np.int64),
            g_time=np.array(times, dtype=np.int64),
            spent=np.array([self.spent.get(page, UNCHANGED) for page in pages], dtype=np.int64),
            measures=dict(zip(pages, measures, strict=True)),
        )
        return columns.rows(cut)


# ================================================================ loading
#
# Loading: the last checkpoint and the steps after it, with a consistency check.
#
# Law: a file with parts from different moments may be a valid database but not a valid store. So
# each commit stores counts of pages, steps and fetches (`Frontier.tally`), and a crawl or a report
# compares them first when it opens a store. After a crash, other tables are compared as well.

_SAVED: tuple[tables.Column, ...] = ("state", "key", "history", "g_time")


def load_frontier(
    connection: tables.Connection,
    terms: StoreTerms,
    spending_at: Callable[[int], Spending],
    urls_of: UrlsOf | None = None,
    saved_step: Callable[[int], int] | None = None,
    *,
    siblings: bool = False,
    values: bool = False,
) -> Frontier:
    """Load the last checkpoint and the steps after it. Without `urls_of`, URLs are not loaded.

    With `siblings`, the state of the siblings order is loaded too, with the expected values of
    pages if any page has a value or `values` is set. A caller that keeps using the
    connection in another thread passes its own `saved_step`.
    """
    saved_step = saved_step or partial(tables.spent_by, connection)
    frontier = Frontier(terms, spending_at, urls_of or no_urls, saved_step)
    if urls_of is not None:
        frontier.urls.load(connection)
    _load_checkpoint(frontier, connection)
    if siblings:
        _load_siblings(frontier, connection, spending_at)
        if values or tables.has_values(connection):
            _load_values(frontier, frontier.siblings, connection)
    # Before the steps are applied: a damaged row could claim billions of new pages.
    _check_births(frontier, connection)
    for row in tables.steps_after(connection, frontier.last_seq):
        frontier.apply(row)
    return frontier


def _load_checkpoint(frontier: Frontier, connection: tables.Connection) -> None:
    saved, key = tables.saved(connection), array("q")

    def pasts() -> Iterator[tuple[Numbers, Numbers]]:
        """Yield histories and times, and collect the other columns of the same rows."""
        for states, keys, history, times in tables.frontier(connection, *_SAVED):
            frontier.state += states.tobytes()
            frontier.counts.update(dict(enumerate(np.bincount(states).tolist())))
            key.frombytes(keys.tobytes())
            yield history, times

    frontier.window.restore(pasts(), tables.measures(connection))
    frontier.ledger.restore(key, _flags(frontier), saved.totals)
    if (ends := tables.channels(connection)) is not None:
        frontier.channels = Channels.from_rows(ends)
    frontier.take_changes()  # no page is changed: all loaded pages have a row
    frontier.spendings.cut(len(frontier))
    frontier.last_seq = saved.watermark
    steps = tables.endowed(tables.counters(connection))
    for links, units in tables.endowments(connection, [s for s in steps if s <= saved.watermark]):
        for seed in links:
            endowed = frontier.ledger.endowed
            endowed[seed] = endowed.get(seed, 0) + units * UNIT // len(links)
    for pages in frontier.in_state(*STANDS_FOR_ANOTHER):
        spendings = tables.spendings_of(connection, pages.tolist())
        targets = [spending.links[0] for spending in spendings]
        frontier.books.forwards.update(zip(pages.tolist(), targets, strict=True))


def _flags(frontier: Frontier) -> bytearray:
    states = frontier.states()
    flags = (states != State.UNREAD).view(np.uint8)
    if frontier.counts[State.FOREIGN]:
        flags[states == State.FOREIGN] = FOREIGN
    return bytearray(flags)


def _load_siblings(
    frontier: Frontier, connection: tables.Connection, spending_at: Callable[[int], Spending]
) -> None:
    """Load the state of the siblings order.

    A store that was begun in another order has no state: its pages get no group, and its seeds are
    trusted.
    """
    from minicrawl.opic.siblings import Siblings  # deferred: few reports need it

    if not frontier.urls.origins:
        frontier.urls.load_hosts(connection)
    frontier.siblings = Siblings(frontier.ledger, frontier.urls.host_of, frontier.urls.sites)
    if state := tables.siblings(connection):
        frontier.siblings.restore(state, len(frontier))
    elif len(frontier):
        counts = tables.counters(connection)
        steps = [seq for seq in tables.endowed(counts) if seq <= frontier.last_seq]
        seeds = sorted(chain.from_iterable(spending_at(seq).links for seq in steps))
        targets = map(frontier.books.stands_for, seeds)
        frontier.siblings.vouch([*dict.fromkeys((*seeds, *targets))])
        frontier.siblings.introduce(range(len(frontier)))


def _load_values(
    frontier: Frontier, siblings: Siblings | None, connection: tables.Connection
) -> None:
    from minicrawl.opic.expected_value import ValueEstimate  # deferred: few crawls have values

    assert siblings is not None
    frontier.values = ValueEstimate(siblings, frontier.urls.load_traits(connection))
    frontier.values.restore(tables.siblings(connection))


def _check_births(frontier: Frontier, connection: tables.Connection) -> None:
    """Raise ValueError unless steps add as many pages as have URLs: more could fill the memory."""
    known = questions.pages_known(connection)
    born = len(frontier) + questions.born_after(connection, frontier.last_seq)
    if born != known:
        raise ValueError(f"{known} URLs are known, but {born} pages were born")


def verify(frontier: Frontier, connection: tables.Connection) -> None:
    """Raise ValueError if the loaded frontier differs from the counts of the last commit.

    A store of an earlier minicrawl may have fewer counts.
    """
    counters = tables.counters(connection)
    known = frontier.tally() | {tables.FETCHES: tables.fetches_known(connection)}
    for name, found in known.items():
        # A count that is missing agrees: stores of earlier versions have fewer of them.
        if counters.get(name, found) != found:
            raise ValueError(f"{name}: {found}, but {counters[name]} by the last commit")
    if (urls := questions.pages_known(connection)) != len(frontier):
        raise ValueError(f"{urls} URLs are known, but {len(frontier)} pages were born")
    origins = frontier.urls.origins  # empty if no URLs were loaded
    if origins and len(origins) != (hosts := questions.hosts_known(connection)):
        raise ValueError(f"{hosts} hosts are known, but {len(origins)} have rows")


def contradictions(frontier: Frontier, connection: tables.Connection) -> Iterator[str]:
    """Yield a line for each contradiction between the tables of pages, documents and fetches."""
    undescribed = np.isin(frontier.states(), READ_STATES)
    for pages, _ in tables.contents(connection):
        undescribed[pages] = False
    if count := int(np.count_nonzero(undescribed)):
        yield f"{count} pages were read, but have no document"
    if count := questions.documents_without_fetch(connection):
        yield f"{count} documents of pages that were never requested"
    indexed, known = questions.fetches_indexed(connection), tables.fetches_known(connection)
    if indexed != known:
        yield f"{known} fetches are known, but the index by page has {indexed}"
    # Some tables contradict nothing else: only SQLite can say whether they are whole. The quick
    # check reads the file once, but trusts indexes; the one of fetches was counted above.
    for check in ("quick_check", "integrity_check(siblings)"):
        yield from questions.integrity_errors(connection, check)

"""The frontier: all pages in memory, with their states and cash, in flat arrays.

The store is not updated page by page. The log of steps is the truth, and the frontier is a fold
over it: `apply` takes one step after another. A checkpoint saves the rows as of one step, so that a
crawl that resumes applies only the steps after it, with the same code that applied them first.

Example, with an endowment of 5 units:

    step                      the fold
    1  BORN, 1 page           page 0 is unread and holds 1 unit
    2  ENDOWED, page 0        page 0 holds 6 units
    3  VISIT 0 -> 1, 2        pages 1 and 2 are born; page 0 is fetched, its last spending is step 3
       checkpoint             rows of 0, 1 and 2 as of step 3
    4  DEAD_END 1             page 1 is not found
    5  VISIT 2 -> 0           page 2 is fetched; page 0 gains cash and an in-link
       kill -9
       resume                 loads the rows, and applies steps 4 and 5
       checkpoint             new rows of 1 and 2, and the cash and in-links of 0

The next checkpoint must not look at every page, so `Changes` notes which ones a step touched.

spending   distribution of a page's cash; it also says where the page's links are
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl import ext
from minicrawl.errors import UsageError
from minicrawl.ext import Registry
from minicrawl.frontier.url_table import UrlsOf, UrlTable, no_urls
from minicrawl.model import PageId
from minicrawl.opic.importance.estimate import Importance, Level, shares
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.channels import Channels
from minicrawl.opic.ledger.ledger import FOREIGN, Ledger, Plan
from minicrawl.opic.ledger.money import PARTS, UNIT, fixed_edge, in_parts
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.opic.windows.window import Births, Past, Window
from minicrawl.states import READ_STATES, STANDS_FOR_ANOTHER, State
from minicrawl.store import integrity, page_columns, questions, tables
from minicrawl.store.records import UNCHANGED, Checkpoint, FrontierRow, PaidRow, StepRow, StoreTerms
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.opic.importance.expected_value import ValueEstimate
    from minicrawl.opic.siblings.siblings import Siblings

# ================================================================ changes
#
# Changes since the last checkpoint, which the store does not know yet.
#
# Laws: values that a checkpoint needs as of one moment are copied at that moment, and sorted later
# by the store's thread, so that the crawl hardly stalls. Each checkpoint is stored before the next
# is made.
#
# born      pages that have no row yet
# turned    pages that had a turn: anything in their row may have changed. Their pasts (history,
#           time and measures) are noted with each change, because looking them all up at once
#           would stall the crawl
# paid      pages of which only cash and in-links changed; most pages
# gained    in-links of a page since its row was written

Numbers = NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 14


class Changes:
    """Collector of the pages whose rows changed."""

    def __init__(self, saved: int = 0) -> None:
        """`saved` is the number of pages that have a row."""
        self.saved = saved
        self.turned: dict[int, Past] = {}
        """Pages that had a turn, with their new pasts."""
        self.linked, self.unlinked, self.paid = array("I"), array("I"), array("I")
        """Pages that received a link and cash, that lost a link, and that received cash."""

    def __len__(self) -> int:
        """Return the approximate number of changed rows."""
        return len(self.linked) + len(self.unlinked) + len(self.paid) + len(self.turned)

    def cut(self, keys: array[int]) -> Cut:
        """Return a copy of the pages that gained links or cash, with their current cash."""
        # Copied now and sorted by the store's thread later (`Cut._once`): sorting a million changes
        # would stall the crawl.
        columns = [np.array(ids) for ids in (self.linked, self.unlinked, self.paid)]
        pages = np.concatenate(columns)
        gained = np.repeat(np.array([1, -1, 0], dtype=np.int8), list(map(len, columns)))
        return Cut(pages, gained, np.frombuffer(keys, dtype=np.int64)[pages])


class Cut:
    """Pages, possibly repeated, with the in-links gained each time."""

    def __init__(self, pages: NDArray[np.uint32], gained: NDArray[np.int8], keys: Numbers) -> None:
        self._raw = pages, gained, keys

    @cached_property
    def _once(self) -> tuple[Numbers, Numbers, Numbers]:
        """Distinct pages in ascending order, with their in-links gained and their keys."""
        pages, gained, keys = self._raw
        order = np.argsort(pages, kind="stable")
        pages = pages[order]
        firsts = np.flatnonzero(np.diff(pages, prepend=-1, append=-1)[:-1])
        sums = np.add.reduceat(gained[order], firsts, dtype=np.int64) if len(firsts) else firsts
        return pages[firsts].astype(np.int64), sums, keys[order[firsts]]

    def gained(self, pages: Numbers) -> Numbers:
        """Return the number of in-links that each of these pages gained."""
        mine, gains, _ = self._once
        if not len(mine):
            return np.zeros(len(pages), dtype=np.int64)
        places = np.minimum(np.searchsorted(mine, pages), len(mine) - 1)
        return np.where(mine[places] == pages, gains[places], 0)

    def paid(self, saved: int, turned: Numbers, at_once: int) -> Iterator[PaidRow]:
        """Yield the rows of pages that were paid, but are neither new nor `turned`."""
        pages, gained, keys = self._once
        stay = (pages < saved) & ~np.isin(pages, turned, assume_unique=True)
        for start in range(0, len(stay), at_once):
            block = slice(start, start + at_once)
            columns = (keys, gained, pages)
            values = (column[block][stay[block]].tolist() for column in columns)
            yield from zip(*values, strict=True)


class LastSpendings:
    """Map from page to the step by which it last gave cash to links, or 0.

    The store has the steps as of the last checkpoint; newer ones are in memory.
    """

    def __init__(
        self, spending_at: Callable[[int], Spending], saved_step: Callable[[int], int]
    ) -> None:
        """`spending_at` reads the spending of a step, `saved_step` the step in a page's row."""
        self.rows = 0  # number of pages in the checkpoint
        self._spending_at = spending_at
        self._saved_step = saved_step
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def __getitem__(self, page: PageId) -> int:
        step = self._young.get(page)
        if step is None:
            step = self._old.get(page)
        if step is None:
            step = self._saved_step(page) if page < self.rows else 0
        return step

    def __setitem__(self, page: PageId, step: int) -> None:
        self._young[page] = step

    def of(self, page: PageId) -> Spending:
        """Return the last spending of the page."""
        step = self[page]
        return self._spending_at(step) if step else Spending(())

    @property
    def newest(self) -> Mapping[int, int]:
        """Steps that are in no checkpoint yet. After `cut` this mapping no longer changes."""
        return self._young

    def cut(self, pages: int) -> None:
        """Mark the newest steps as part of a checkpoint of `pages` pages."""
        # Two generations: the rows of the checkpoint are not written yet, so a look-up still needs
        # the steps in it. When the next checkpoint is cut, this one is in the store, and `_old` may
        # go.
        self._young, self._old = {}, self._young
        self.rows = pages

    def of_all(self, pages: int, saved: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
        """Return the steps of the first `pages` pages; `saved` are those in their rows."""
        found = np.zeros(pages, dtype=np.uint32)
        if saved is not None:
            found[: len(saved)] = saved
        for newer in (self._old, self._young):
            found[list(newer)] = list(newer.values())
        return found


# ================================================================ pages

_PAGES_AT_ONCE = 1 << 15
_STATES_AT_ONCE = 1 << 21
_PAYMENTS = frozenset((StepKind.ENDOWED, StepKind.GRANT))
_OF_NEWBORN = frozenset((StepKind.PRESUME, StepKind.REFUSE))
_SHARD_STEPS = frozenset((StepKind.FOREIGN, StepKind.SEND, StepKind.RECEIVE))
_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))


_WINDOWS = Registry(ext.WINDOWS, WINDOWS)


def _window_of(terms: StoreTerms) -> Window:
    name, _, size = terms.window.partition(":")
    try:
        make = _WINDOWS[name]
    except KeyError:
        raise UsageError(
            f"window {name!r} of the store is unknown: install the package that defines it"
        ) from None
    return make(float(size or terms.width), terms.measures)


def _never_saved(_page: int) -> int:
    return 0


class Frontier:
    """Pages and ledger of a crawl in memory. `apply` folds in one step of the log."""

    def __init__(
        self,
        terms: StoreTerms,
        spending_at: Callable[[int], Spending],
        urls_of: UrlsOf = no_urls,
        saved_step: Callable[[int], int] = _never_saved,
    ) -> None:
        """Begin without pages. The functions query the store.

        `spending_at` returns the spending of a step, `urls_of` the URLs of pages, and `saved_step`
        the step of a page's last spending as of the last checkpoint.
        """
        self.terms = terms
        window = _window_of(terms)
        self.window = window
        """Window that accumulates the histories."""
        self.ledger = Ledger(windows=[window], small_edge=fixed_edge(terms.small_edge))
        self.edge_given = terms.small_edge
        """Small edge of the settings, as of loading."""
        self.spendings = LastSpendings(spending_at, saved_step)
        self.books = Books(self.ledger, self.spendings.of)
        self.estimate = Importance(self.ledger, stands_for=self.books.stands_for)
        self.urls = UrlTable(urls_of)
        self.siblings: Siblings | None = None
        """State of the siblings order, if the crawl uses it."""
        self.values: ValueEstimate | None = None
        """Expected values of pages, if a scorer gives values."""
        self.channels: Channels | None = None
        """Channels to other shards; None as long as they are unused."""
        self.state = bytearray()
        self.counts = Counter[int]()  # number of pages by state
        self.last_seq = 0
        self._changes = Changes()

    def __repr__(self) -> str:
        return f"<Frontier of {counted(len(self), 'page')}>"

    def __len__(self) -> int:
        return len(self.state)

    @property
    def small_edge(self) -> float:
        """Current share of a page's cash that goes to all pages equally, as the user gave it.

        The ledger knows it in 65,536ths only.
        """
        parts = self.ledger.edge or in_parts(self.terms.small_edge)
        given = (self.edge_given, self.terms.small_edge)
        return next((edge for edge in given if in_parts(edge) == parts), parts / PARTS)

    # ------------------------------------------------------------ steps

    def apply(self, row: StepRow) -> list[Plan]:
        """Apply one more step. Return the plans that were posted."""
        seq, state, step, value = row
        kind, is_turn = step.kind, step.kind in _TURNS
        self.last_seq = seq
        # Read before `_end_turn` changes the state.
        waited = is_turn and self.state[step.page] == State.UNREAD
        if step.born:
            self.state.extend(repeat(State.UNREAD, step.born))
            self.counts[State.UNREAD] += step.born
        if is_turn:
            self._end_turn(seq, state, step)
        elif kind is StepKind.REOPEN:
            self._reopen(step.spending.links)
        elif kind is StepKind.REFUSE:
            self._close_newborn(step.spending.links, state)
        elif kind in _PAYMENTS:
            self._changes.paid.extend(step.spending.links)
        elif kind in _SHARD_STEPS:
            self._apply_shard_step(step)
        plans = self.books.apply(step)
        self._note_pasts(step, plans)
        if self.siblings is not None:
            self.siblings.apply(step, state, plans, waited=waited)
        if self.values is not None and value is not None and waited:
            self.values.learn(value, plans)
        return plans

    def _note_pasts(self, step: Step, plans: list[Plan]) -> None:
        """Note the rows changed by the plans; the page's own links are noted already."""
        changes, past, links = self._changes, self.window.past, step.spending.links
        for plan in plans:
            changes.turned[plan.page] = past(plan.page)
            if plan.links is not links or not self.terms.links:
                changes.paid.extend(plan.links)
            if plan.extras:
                changes.paid.extend([page for page, _ in plan.extras])
        if step.kind in _OF_NEWBORN:
            changes.turned.update(zip(links, map(past, links), strict=True))

    def _apply_shard_step(self, step: Step) -> None:
        """Apply a step about foreign pages, or about cash sent to or received from other shards."""
        if self.channels is None:
            self.channels = Channels()
        self.channels.apply(step)
        pages = step.spending.links
        if step.kind is StepKind.FOREIGN:
            for page in pages:  # no change is noted: pages born by the last step have no row yet
                self._change_state(page, State.FOREIGN)
        else:
            self._changes.paid.extend(map(self.books.stands_for, pages))

    def _end_turn(self, seq: int, state: int, step: Step) -> None:
        page, changes, has_links = step.page, self._changes, self.terms.links
        former = self.state[page]
        if has_links:
            if former != State.UNREAD:  # an unread page has no links: skip the lookup
                changes.unlinked.extend(self.spendings.of(page).links)
            changes.linked.extend(step.spending.links)
        keeps = has_links or step.kind is StepKind.FORWARD
        self.spendings[page] = seq if keeps and any(step.spending) else 0
        self.counts[former] -= 1
        self.counts[state] += 1
        self.state[page] = state

    def _reopen(self, pages: Iterable[PageId]) -> None:
        """Make the pages unread; they no longer stand for other pages."""
        for page in pages:
            if self.state[page] in STANDS_FOR_ANOTHER:
                if self.terms.links:
                    self._changes.unlinked.extend(self.spendings.of(page).links)
                self.spendings[page] = 0
            self._change_state(page, State.UNREAD)
            self._changes.turned[page] = self.window.past(page)

    def _close_newborn(self, pages: Sequence[PageId], state: int) -> None:
        self.counts[State.UNREAD] -= len(pages)
        self.counts[state] += len(pages)
        states = self.state
        for page in pages:
            states[page] = state

    def _change_state(self, page: PageId, state: int) -> None:
        self.counts[self.state[page]] -= 1
        self.counts[state] += 1
        self.state[page] = state

    # ------------------------------------------------------------ all pages

    def importance(self) -> NDArray[np.float64]:
        """Return each page's share of the importance of all known pages."""
        found = np.empty(len(self))
        level = self.estimate.level(self.estimate.sums())
        for first in range(0, len(self), _PAGES_AT_ONCE):
            end = min(first + _PAGES_AT_ONCE, len(self))
            found[first:end] = self.importance_of(level, first, end)
        return shares(found)

    def importance_of(self, level: Level | None, first: int, end: int) -> NDArray[np.float64]:
        """Return the importance of a range of pages, up to a common factor.

        Without a level, it is the cash that flowed.
        """
        if level is None:
            ledger, cash = self.ledger, self.ledger.cash_of_all(first, end)
            found = self.window.importance(cash, ledger.now, ledger.circulation, first)
        else:
            found = self.estimate.of(level, first, end)
        if self.counts[State.FOREIGN]:
            found[self.states()[first:end] == State.FOREIGN] = 0
        return found

    def tally(self) -> dict[str, object]:
        """Return the counts that each commit stores.

        `status` shows them without counting, and loading compares them with the tables.
        """
        states = {str(int(state)): pages for state, pages in self.counts.items() if pages}
        return {
            tables.STATES: states,
            tables.RECORDED: self.ledger.recorded,
            tables.MINTED: self.ledger.minted,
            tables.STEPS: self.last_seq,
        }

    def states(self) -> NDArray[np.uint8]:
        """Return the state of every page, as a view: release it before pages are born."""
        return np.frombuffer(self.state, dtype=np.uint8)

    def in_state(self, *states: State) -> Iterator[NDArray[np.uint32]]:
        """Yield the pages in these states, in blocks."""
        for first in range(0, len(self), _STATES_AT_ONCE):
            block = self.states()[first : first + _STATES_AT_ONCE]
            yield (first + np.flatnonzero(np.isin(block, states))).astype(np.uint32)

    # ------------------------------------------------------------ since the last checkpoint

    @property
    def changes(self) -> int:
        """Approximate number of rows that a checkpoint would write."""
        return len(self) - self._changes.saved + len(self._changes)

    def gained(self, pages: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the in-links that these pages (default: all) gained since the last checkpoint."""
        asked = np.arange(len(self)) if pages is None else pages
        return self._changes.cut(self.ledger.key).gained(asked)

    def take_changes(self) -> Changes:
        """Return the changes collected so far, and start over."""
        changes, self._changes = self._changes, Changes(len(self))
        return changes


# ================================================================ checkpoints
#
# Checkpoints of the frontier: columns are copied at once, and made into rows later.
#
# The crawl stands still while columns are copied, so the store's thread does all else.
#
# Law: the rows can be iterated again, because a full disk may take two attempts.

Row = TypeVar("Row")


def cut_checkpoint(frontier: Frontier, at_once: int = _ROWS_AT_ONCE) -> Checkpoint:
    """Return the rows that changed since the last checkpoint, frozen as of now.

    They are made `at_once` while they are read.
    """
    changes = frontier.take_changes()
    cut = changes.cut(frontier.ledger.key)
    turned = UpdatedRows.of(frontier, changes.turned, changes.saved)
    born = NewRows.of(frontier, changes.turned, changes.saved)
    frontier.spendings.cut(len(frontier))
    siblings, values, channels = frontier.siblings, frontier.values, frontier.channels
    order = None if siblings is None else siblings.state() | (values.state() if values else {})
    return Checkpoint(
        watermark=frontier.last_seq,
        totals=frontier.ledger.totals,
        born=Rows(partial(born.rows, cut, at_once)),
        turned=Rows(partial(turned.rows, cut, at_once)),
        paid=Rows(partial(cut.paid, changes.saved, turned.pages, at_once)),
        siblings=order,
        channels=None if channels is None else channels.as_rows(),
    )


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

    def rows(self, cut: Cut, at_once: int) -> Iterator[FrontierRow]:
        """Yield the rows, with the in-links that the pages gained."""
        inlinks = cut.gained(self.pages)
        columns = (self.state, self.key, self.history, self.g_time, inlinks, self.spent)
        for start in range(0, len(self.pages), at_once):
            block = slice(start, start + at_once)
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

    def rows(self, cut: Cut, at_once: int) -> Iterator[FrontierRow]:
        """Yield the rows in blocks, with the in-links that the pages gained.

        Only the copied columns take memory, not the rows of a large web.
        """
        times, turned = self.births.by_page(), sorted(self.pasts)
        for start in range(0, len(self.state), at_once):
            block = slice(start, start + at_once)
            first = self.first + start
            mine = slice(bisect_left(turned, first), bisect_left(turned, first + at_once))
            yield from self._block(block, times[block], turned[mine]).rows(cut, at_once)

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

    def rows(self, cut: Cut, at_once: int) -> Iterator[FrontierRow]:
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
        return columns.rows(cut, at_once)


# ================================================================ loading
#
# Loading: the last checkpoint and the steps after it, with a consistency check.
#
# Law: a file with parts from different moments may be a valid database but not a valid store. So
# each commit stores counts of pages, steps and fetches (`Frontier.tally`), and a crawl or a report
# compares them first when it opens a store. After a crash, other tables are compared as well.

_SAVED: tuple[page_columns.Column, ...] = ("state", "key", "history", "g_time")


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
    frontier.edge_given = tables.small_edge(connection, terms)
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
        for states, keys, history, times in page_columns.frontier(connection, *_SAVED):
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
    from minicrawl.opic.siblings.siblings import Siblings

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
        frontier.siblings.end_early_rank()


def _load_values(
    frontier: Frontier, siblings: Siblings | None, connection: tables.Connection
) -> None:
    from minicrawl.opic.importance.expected_value import ValueEstimate

    assert siblings is not None
    frontier.values = ValueEstimate(siblings, frontier.urls.load_traits(connection))
    frontier.values.restore(tables.siblings(connection))


def _check_births(frontier: Frontier, connection: tables.Connection) -> None:
    """Raise ValueError unless steps add as many pages as have URLs: more could fill the memory."""
    known = questions.pages_known(connection)
    born = len(frontier) + integrity.born_after(connection, frontier.last_seq)
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
    for pages, _ in page_columns.contents(connection):
        undescribed[pages] = False
    if count := int(np.count_nonzero(undescribed)):
        yield f"{count} pages were read, but have no document"
    if count := integrity.documents_without_fetch(connection):
        yield f"{count} documents of pages that were never requested"
    indexed, known = integrity.fetches_indexed(connection), tables.fetches_known(connection)
    if indexed != known:
        yield f"{known} fetches are known, but the index by page has {indexed}"
    # Some tables contradict nothing else: only SQLite can say whether they are whole. The quick
    # check reads the file once, but trusts indexes; the one of fetches was counted above.
    for check in ("quick_check", "integrity_check(siblings)"):
        yield from integrity.integrity_errors(connection, check)

"""All pages in memory: the books, and the state of each page, in flat arrays.

Law: the frontier is a fold over the steps. A crawl that resumes after a kill loads the last
checkpoint, and applies the steps after it with the same code that applied them first.

spending   where the cash of a page went, so where its links are
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minicrawl import plugins
from minicrawl.errors import UsageError
from minicrawl.frontier.urls import UrlsOf, UrlTable, no_urls
from minicrawl.model import STANDS_FOR_ANOTHER, PageId, State
from minicrawl.opic.estimate import shares
from minicrawl.opic.importance import Importance, Level
from minicrawl.opic.journal import Books, Spending, Step, StepKind
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import PARTS, fixed_edge
from minicrawl.opic.windows import WINDOWS
from minicrawl.opic.windows.interpolation import Past, Window
from minicrawl.plugins import Registry
from minicrawl.store import tables
from minicrawl.store.records import PaidRow, StepRow, StoreTerms

if TYPE_CHECKING:
    from minicrawl.frontier.channels import Channels
    from minicrawl.frontier.sibling_steps import SiblingSteps


# ================================================================ changes
#
# What changed since the last checkpoint, which the store does not know yet.
#
# Laws: what a checkpoint needs of one moment is copied at that moment, and put in order later by
# the store's thread, so that the crawl hardly notices. A checkpoint is in the store before the next
# one is made.
#
# born      pages that have no row yet
# turned    pages that had a turn: anything in their row may have changed. Their pasts are noted as
#           they change, because looking them all up at once would be felt
# paid      pages of whose row only the cash and the number of in-links changed; most are
# gained    the in-links that a page has more than its row says

Numbers = NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 16


class Changes:
    """Collects the pages whose rows changed."""

    def __init__(self, saved: int = 0) -> None:
        """`saved` is the number of pages that have a row."""
        self.saved = saved
        self.turned: dict[int, Past] = {}
        self._linked, self._unlinked, self._paid = array("I"), array("I"), array("I")

    def __len__(self) -> int:
        """About how many rows changed."""
        pages = len(self._linked) + len(self._unlinked) + len(self._paid)
        return pages + len(self.turned)

    def turn(self, page: PageId, past: Past) -> None:
        """The page had a turn; this is its past now."""
        self.turned[page] = past

    def link(self, pages: Iterable[int]) -> None:
        """These pages were linked to, and given cash."""
        self._linked.extend(pages)

    def unlink(self, pages: Iterable[int]) -> None:
        """A link to each of these pages is gone."""
        self._unlinked.extend(pages)

    def pay(self, pages: Iterable[int]) -> None:
        """These pages were given cash."""
        self._paid.extend(pages)

    def cut(self, keys: array[int]) -> Cut:
        """A copy of the pages that were linked to or paid, with their cash as it is now."""
        columns = [np.array(ids) for ids in (self._linked, self._unlinked, self._paid)]
        pages = np.concatenate(columns)
        gained = np.repeat(np.array([1, -1, 0], dtype=np.int8), list(map(len, columns)))
        return Cut(pages, gained, np.frombuffer(keys, dtype=np.int64)[pages])


class Cut:
    """Pages, some of them many times, and the in-links that they gained each time."""

    def __init__(self, pages: NDArray[np.uint32], gained: NDArray[np.int8], keys: Numbers) -> None:
        self._raw = pages, gained, keys

    @cached_property
    def _once(self) -> tuple[Numbers, Numbers, Numbers]:
        """Each page once, in ascending order; the in-links that it gained, and its key."""
        pages, gained, keys = self._raw
        order = np.argsort(pages, kind="stable")
        pages = pages[order]
        firsts = np.flatnonzero(np.diff(pages, prepend=-1, append=-1)[:-1])
        sums = np.add.reduceat(gained[order], firsts, dtype=np.int64) if len(firsts) else firsts
        return pages[firsts].astype(np.int64), sums, keys[order[firsts]]

    def gained(self, pages: Numbers) -> Numbers:
        """How many in-links each of these pages gained."""
        mine, gains, _ = self._once
        if not len(mine):
            return np.zeros(len(pages), dtype=np.int64)
        places = np.minimum(np.searchsorted(mine, pages), len(mine) - 1)
        return np.where(mine[places] == pages, gains[places], 0)

    def paid(self, saved: int, turned: Numbers) -> Iterator[PaidRow]:
        """The rows of the pages that were paid, and neither born nor turned."""
        pages, gained, keys = self._once
        stay = (pages < saved) & ~np.isin(pages, turned, assume_unique=True)
        for start in range(0, len(stay), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            columns = (keys, gained, pages)
            values = (column[block][stay[block]].tolist() for column in columns)
            yield from zip(*values, strict=True)


class LastSpendings:
    """page -> the step by which it last gave cash to links; 0 if there is none.

    The store knows the step of each page as of the last checkpoint; memory holds what is newer.
    """

    def __init__(
        self, spending_at: Callable[[int], Spending], saved_step: Callable[[int], int]
    ) -> None:
        """`spending_at` reads the spending of a step, `saved_step` the last checkpoint."""
        self.rows = 0  # pages from this one on are in no checkpoint
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
        """How the page was last spent."""
        step = self[page]
        return self._spending_at(step) if step else Spending(())

    @property
    def newest(self) -> Mapping[int, int]:
        """The steps that are in no checkpoint yet; after `cut` this mapping stays as it is."""
        return self._young

    def cut(self, pages: int) -> None:
        """A checkpoint of so many pages takes the newest steps."""
        self._young, self._old = {}, self._young
        self.rows = pages

    def of_all(self, pages: int, saved: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
        """The steps of so many pages; `saved` are those that the rows of the first ones have."""
        found = np.zeros(pages, dtype=np.uint32)
        if saved is not None:
            found[: len(saved)] = saved
        for newer in (self._old, self._young):
            found[list(newer)] = list(newer.values())
        return found


# ================================================================ pages

_PAGES_AT_ONCE = 1 << 15
_STATES_AT_ONCE = 1 << 21
_PAY = frozenset((StepKind.ENDOWED, StepKind.GRANT))
_TRADE = frozenset((StepKind.FOREIGN, StepKind.SEND, StepKind.RECEIVE))
_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))


def _never_saved(_page: int) -> int:
    """An empty store has no spending."""
    return 0


_WINDOWS = Registry(plugins.WINDOWS, WINDOWS)


def _window_of(terms: StoreTerms) -> Window:
    try:
        make = _WINDOWS[terms.window]
    except KeyError:
        raise UsageError(
            f"the window {terms.window!r} of the store is of a package that is not installed"
        ) from None
    return make(terms.width, terms.measures)


class Frontier:
    """The pages and the books of a crawl. `apply` is the fold."""

    def __init__(
        self,
        terms: StoreTerms,
        spending_at: Callable[[int], Spending],
        urls_of: UrlsOf = no_urls,
        saved_step: Callable[[int], int] = _never_saved,
    ) -> None:
        """The arguments ask the store: for the spending of a step, for the URLs of pages, and for
        the step by which a page was last spent as of the last checkpoint.
        """
        self.terms = terms
        window = _window_of(terms)
        self.ledger = Ledger(windows=[window], small_edge=fixed_edge(terms.small_edge))
        self.spendings = LastSpendings(spending_at, saved_step)
        self.books = Books(self.ledger, self.spendings.of)
        self.estimate = Importance(self.ledger, stands_for=self.books.stands_for)
        self.urls = UrlTable(urls_of)
        self.siblings: SiblingSteps | None = None
        """If the crawl is ordered by them."""
        self.channels: Channels | None = None
        """What was sent to other shards and received from them; None while nothing was."""
        self.state = bytearray()
        self.counts = Counter[int]()  # pages by their state
        self.last_seq = 0
        self._changes = Changes()

    def __len__(self) -> int:
        return len(self.state)

    @property
    def window(self) -> Window:
        """What remembers the histories."""
        return self.ledger.windows[0]

    @property
    def small_edge(self) -> float:
        """The share of a page's cash that goes to all pages alike, as of now."""
        return self.ledger.edge / PARTS if self.ledger.edge else self.terms.small_edge

    # ------------------------------------------------------------ steps

    def apply(self, row: StepRow) -> list[Plan]:
        """Fold one more step; answers with what was posted."""
        seq, state, step = row
        self.last_seq = seq
        waited = step.kind in _TURNS and self.state[step.page] == State.UNREAD
        if step.born:
            self._bear(step.born)
        if step.kind in _TURNS:
            self._end_turn(seq, state, step)
        elif step.kind is StepKind.REOPEN:
            for page in step.spending.links:
                self._reopen(page)
        elif step.kind in _PAY:
            self._changes.pay(step.spending.links)
        elif step.kind in _TRADE:
            self._trade(step)
        plans = self.books.apply(step)
        self._note_pasts(step, plans)
        if self.siblings is not None:
            self.siblings.apply(step, state, plans, waited=waited)
        return plans

    def _note_pasts(self, step: Step, plans: list[Plan]) -> None:
        for plan in plans:
            self._note(plan, step)
        if step.kind is StepKind.PRESUME:
            for page in step.spending.links:
                self._changes.turn(page, self.window.past(page))

    def _trade(self, step: Step) -> None:
        """Pages are of other shards; or cash left for other shards, or came from them."""
        if self.channels is None:
            from minicrawl.frontier.channels import Channels

            self.channels = Channels()
        self.channels.apply(step)
        pages = step.spending.links
        if step.kind is StepKind.FOREIGN:
            for page in pages:  # none of them has a row yet: they were born by the last step
                self._change_state(page, State.FOREIGN)
        else:
            self._changes.pay(map(self.books.stands_for, pages))

    def _note(self, plan: Plan, step: Step) -> None:
        """Note whose rows the plan changed; links of the page itself are noted already."""
        self._changes.turn(plan.page, self.window.past(plan.page))
        if plan.links is not step.spending.links or not self.terms.links:
            self._changes.pay(plan.links)
        if plan.extras:
            self._changes.pay([page for page, _ in plan.extras])

    def _bear(self, count: int) -> None:
        self.state.extend(repeat(State.UNREAD, count))
        self.counts[State.UNREAD] += count

    def _end_turn(self, seq: int, state: int, step: Step) -> None:
        page, links = step.page, step.spending.links
        if self.terms.links:
            if self.state[page] != State.UNREAD:  # an unread page has no links: spare the look-up
                self._changes.unlink(self.spendings.of(page).links)
            self._changes.link(links)
        keeps = self.terms.links or step.kind is StepKind.FORWARD
        self.spendings[page] = seq if keeps and any(step.spending) else 0
        self._change_state(page, state)

    def _reopen(self, page: PageId) -> None:
        """The page waits again, and stands for no other page any more."""
        if self.state[page] in STANDS_FOR_ANOTHER:
            if self.terms.links:
                self._changes.unlink(self.spendings.of(page).links)
            self.spendings[page] = 0
        self._change_state(page, State.UNREAD)
        self._changes.turn(page, self.window.past(page))

    def _change_state(self, page: PageId, state: int) -> None:
        self.counts[self.state[page]] -= 1
        self.counts[state] += 1
        self.state[page] = state

    # ------------------------------------------------------------ all pages

    def importance(self) -> NDArray[np.float64]:
        """Each page's share of the importance of all pages known."""
        found = np.empty(len(self))
        level = self.estimate.level(self.estimate.sums())
        for first in range(0, len(self), _PAGES_AT_ONCE):
            end = min(first + _PAGES_AT_ONCE, len(self))
            found[first:end] = self.importance_of(level, first, end)
        return shares(found)

    def importance_of(self, level: Level | None, first: int, end: int) -> NDArray[np.float64]:
        """The importance of a range of pages, up to a factor that all pages share; without a level
        the cash that flowed.
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
        """What `status` shows of all pages; each commit keeps it, so that nobody counts."""
        states = {str(int(state)): pages for state, pages in self.counts.items() if pages}
        return {
            tables.STATES: states,
            tables.RECORDED: self.ledger.recorded,
            tables.MINTED: self.ledger.minted,
            tables.STEPS: self.last_seq,
        }

    def states(self) -> NDArray[np.uint8]:
        """The state of every page; a view: let go of it before pages are born."""
        return np.frombuffer(self.state, dtype=np.uint8)

    def in_state(self, *states: State) -> Iterator[NDArray[np.uint32]]:
        """The pages in these states, block by block."""
        for first in range(0, len(self), _STATES_AT_ONCE):
            block = self.states()[first : first + _STATES_AT_ONCE]
            yield (first + np.flatnonzero(np.isin(block, states))).astype(np.uint32)

    # ------------------------------------------------------------ since the last checkpoint

    @property
    def changes(self) -> int:
        """About how many rows a checkpoint would write."""
        return len(self) - self._changes.saved + len(self._changes)

    def gained(self, pages: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """How many in-links these pages, or all of them, have more than their rows say."""
        asked = np.arange(len(self)) if pages is None else pages
        return self._changes.cut(self.ledger.key).gained(asked)

    def take_changes(self) -> Changes:
        """Begin to collect changes anew; answers with those that were collected so far."""
        changes, self._changes = self._changes, Changes(len(self))
        return changes

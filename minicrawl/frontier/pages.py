"""All pages in memory: the books, and the state of each page, in flat arrays.

Law: the frontier is a fold over the steps. A crawl that resumes after a kill loads the last
checkpoint, and applies the steps after it with the same code that applied them first.

spending   where the cash of a page went, so where its links are
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minicrawl import plugins
from minicrawl.errors import UsageError
from minicrawl.frontier.changes import Changes, LastSpendings
from minicrawl.frontier.url_index import UrlsOf
from minicrawl.frontier.urls import UrlTable, no_urls
from minicrawl.model import STANDS_FOR_ANOTHER, PageId, State
from minicrawl.opic.estimate import shares
from minicrawl.opic.importance import Importance, Level
from minicrawl.opic.journal import Books, Spending, Step, StepKind
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import PARTS, fixed_edge
from minicrawl.opic.windows import WINDOWS
from minicrawl.opic.windows.window import Window
from minicrawl.plugins import Registry
from minicrawl.store import tables
from minicrawl.store.records import StepRow, StoreTerms

if TYPE_CHECKING:
    from minicrawl.frontier.sibling_steps import SiblingSteps
    from minicrawl.shards.channels import Channels

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
            from minicrawl.shards.channels import Channels  # most crawls have one shard

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

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

The store has the last spendings as of the last checkpoint; newer ones are in memory, in two
generations.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl import ext
from minicrawl.config.values.quantities import span_s
from minicrawl.errors import UsageError
from minicrawl.ext import Registry
from minicrawl.frontier.changes import Changes
from minicrawl.frontier.url_index import UrlsOf
from minicrawl.frontier.url_table import UrlTable, no_urls
from minicrawl.model import PageId
from minicrawl.opic.importance.estimate import Importance, Level, shares
from minicrawl.opic.importance.expected_value import ValueEstimate
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.channels import Channels
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.ledger.money import PARTS, fixed_edge, in_parts
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.windows.by_name import OF_TIME, WINDOWS
from minicrawl.opic.windows.measured import Fixed, TimeSpan
from minicrawl.opic.windows.window import Window
from minicrawl.states import STANDS_FOR_ANOTHER, State
from minicrawl.store import tables
from minicrawl.store.records import StepRow, StoreTerms
from minicrawl.wording import counted


class LastSpendings:
    """Map from page to the step by which it last gave cash to links, or 0."""

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
        steps = np.zeros(pages, dtype=np.uint32)
        if saved is not None:
            steps[: len(saved)] = saved
        for newer in (self._old, self._young):
            steps[list(newer)] = list(newer.values())
        return steps


_PAGES_AT_ONCE = 1 << 15
_STATES_AT_ONCE = 1 << 21
_PAYMENTS = frozenset((StepKind.ENDOWED, StepKind.GRANT))
_OF_NEWBORN = frozenset((StepKind.PRESUME, StepKind.REFUSE))
_SHARD_STEPS = frozenset((StepKind.FOREIGN, StepKind.SEND, StepKind.RECEIVE))
_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))


_WINDOWS = Registry(ext.WINDOWS, WINDOWS)


def _never_saved(_page: int) -> int:
    return 0


def window_of(name: str, size: str | float, measures: int | None) -> Window:
    """Make a window of this size, which is a width, or a time with a unit."""
    if (seconds := span_s(size)) is not None:
        return OF_TIME[name](TimeSpan(seconds), measures)
    return _WINDOWS[name](float(size), measures)


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
        name, _, size = terms.window.partition(":")
        if name not in _WINDOWS:
            raise UsageError(
                f"window {name!r} of the store is unknown: install the package that defines it"
            )
        self.window = window = window_of(name, size or terms.width, terms.measures)
        """Window that accumulates the histories."""
        self.span = window.span if isinstance(window, Fixed) else None
        """Span of time of the window, if that is its size."""
        self.ledger = Ledger(windows=[window], small_edge=fixed_edge(terms.small_edge))
        self.edge_given = terms.small_edge
        """Small edge of the settings, as of loading."""
        self.spendings = LastSpendings(spending_at, saved_step)
        self.books = Books(self.ledger, self.spendings.of)
        self.estimate = Importance(self.ledger, stands_for=self.books.stands_for)
        self.urls = UrlTable(urls_of)
        """`urls.depth[page]` is the number of links from a seed, `urls.url_of(page)` the URL of a
        new page, `urls.host_of[page]` the host's number, and `urls.origins[host]` its name."""
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
        elif kind is StepKind.TIME and self.span is not None:
            self.span.note(step.amount, self.ledger.now)
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
            changes.turned.note(plan.page, past(plan.page))
            if plan.links is not links or not self.terms.links:
                changes.paid.extend(plan.links)
            if plan.extras:
                changes.paid.extend([page for page, _ in plan.extras])
        if step.kind in _OF_NEWBORN:
            for page in links:
                changes.turned.note(page, past(page))

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
            self._changes.turned.note(page, self.window.past(page))

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

    def importance(self) -> NDArray[np.float64]:
        """Return each page's share of the importance of all known pages."""
        values = np.empty(len(self))
        level = self.estimate.level(self.estimate.sums())
        for first in range(0, len(self), _PAGES_AT_ONCE):
            end = min(first + _PAGES_AT_ONCE, len(self))
            values[first:end] = self.importance_of(level, first, end)
        return shares(values)

    def importance_of(self, level: Level | None, first: int, end: int) -> NDArray[np.float64]:
        """Return the importance of a range of pages, up to a common factor.

        Without a level, it is the cash that flowed.
        """
        if level is None:
            ledger, cash = self.ledger, self.ledger.cash_of_all(first, end)
            values = self.window.importance(cash, ledger.now, ledger.circulation, first)
        else:
            values = self.estimate.of(level, first, end)
        if self.counts[State.FOREIGN]:
            values[self.states()[first:end] == State.FOREIGN] = 0
        return values

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

    @property
    def changes(self) -> int:
        """Approximate number of rows that a checkpoint would write."""
        return len(self) - self._changes.saved + len(self._changes)

    def gained(self, pages: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the in-links that these pages (default: all) gained since the last checkpoint."""
        chosen = np.arange(len(self)) if pages is None else pages
        return self._changes.cut(self.ledger.key).gained(chosen)

    def take_changes(self) -> Changes:
        """Return the changes collected so far, and start over."""
        changes, self._changes = self._changes, Changes(len(self))
        return changes

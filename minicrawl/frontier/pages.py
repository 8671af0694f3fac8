"""All pages in memory: the books, and what must be quick of each page, in flat arrays.

Law: the frontier is a fold over the steps. A crawl that goes on after a kill loads the last
checkpoint and applies the steps behind it with the very code that applied them first.

meet     to turn URLs into page ids; those not known yet are born by the step that follows
spent    the step that says where the cash of a page went, so where to find its links
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.known import Known, code_of
from minicrawl.model import State
from minicrawl.opic.estimate import shares
from minicrawl.opic.journal import Books, Kind, Spending, Step
from minicrawl.opic.ledger import Ledger
from minicrawl.opic.money import fixed_edge
from minicrawl.opic.steps import Plan
from minicrawl.opic.windows import WINDOWS
from minicrawl.store import tables
from minicrawl.store.records import Checkpoint, FrontierRow, HostRow, Saved, StepRow, Terms, UrlRow
from minicrawl.web.urls import split

_DEEPEST = 255
_ROWS_AT_ONCE = 20_000
STANDS_FOR_ANOTHER = (State.MOVED, State.CANONICAL, State.ALIAS)


@dataclass(slots=True)
class Meeting:
    """The pages that URLs stand for, and the rows of those that are new."""

    pages: list[int] = field(default_factory=list)
    urls: list[UrlRow] = field(default_factory=list)
    hosts: list[HostRow] = field(default_factory=list)


class Frontier:
    """Pages, hosts and books."""

    def __init__(self, terms: Terms, spending_at: Callable[[int], Spending]) -> None:
        """`spending_at` finds the spending of a step in the store."""
        self.terms = terms
        self.window = WINDOWS[terms.window](terms.width)
        edge = fixed_edge(terms.small_edge)
        self.ledger = Ledger(windows=[self.window], small_edge=edge)
        self.books = Books(self.ledger, self.spending_of)
        self.state = bytearray()
        self.counts = Counter[int]()  # pages by their state
        self.inlinks = array("I")
        self.spent = array("I")
        self.host_of = array("I")
        self.depth = bytearray()
        self.origins: list[str] = []
        self.last_seq = 0
        self._spending_at = spending_at
        self._host_ids: dict[str, int] = {}
        self._known = Known()
        self._changed: list[Sequence[int]] = []

    def __len__(self) -> int:
        return len(self.state)

    # ------------------------------------------------------------ pages and hosts

    def find(self, url: str) -> int | None:
        """The page of a canonical URL, if it is known."""
        return self._known.get(code_of(url))

    def meet(self, urls: Iterable[str], depth: int) -> Meeting:
        """Find the pages of these canonical URLs; each unknown one gets the next id."""
        meeting = Meeting()
        known = self._known
        for url in urls:
            code = code_of(url)
            page = known.get(code)
            if page is None:
                page = len(self.host_of)
                known.put(code, page)
                origin, path = split(url)
                host = self._host(origin, meeting)
                self._settle_in(host, min(depth, _DEEPEST))
                meeting.urls.append(UrlRow(page, host, path, depth))
            meeting.pages.append(page)
        return meeting

    def _settle_in(self, host: int, depth: int) -> None:
        self.host_of.append(host)
        self.depth.append(depth)

    def _host(self, origin: str, meeting: Meeting) -> int:
        host = self._host_ids.get(origin)
        if host is None:
            host = self._host_ids[origin] = len(self.origins)
            self.origins.append(origin)
            meeting.hosts.append(HostRow(host, origin))
        return host

    # ------------------------------------------------------------ steps

    def apply(self, row: StepRow) -> list[Plan]:
        """Fold one more step; answers with what was posted."""
        seq, state, step = row
        self.last_seq = seq
        if step.born:
            self._bear(step.born)
        if step.kind in _TURNS:
            self._end_turn(seq, state, step)
        elif step.kind is Kind.REOPEN:
            for page in step.spending.links:
                self._change_state(page, State.UNREAD)
        plans = self.books.apply(step)
        self._remember(step, plans)
        return plans

    def spending_of(self, page: int) -> Spending:
        """How the page was last spent."""
        seq = self.spent[page]
        return self._spending_at(seq) if seq else Spending(())

    def _bear(self, count: int) -> None:
        first = len(self.state)
        self.state.extend(repeat(State.UNREAD, count))
        self.counts[State.UNREAD] += count
        self.inlinks.extend(repeat(0, count))
        self.spent.extend(repeat(0, count))
        self._changed.append(range(first, first + count))

    def _end_turn(self, seq: int, state: int, step: Step) -> None:
        page, links = step.page, step.spending.links
        if self.terms.links:
            if self.spent[page]:
                self._count_inlinks(self.spending_of(page).links, -1)
            self._count_inlinks(links, 1)
        keeps = self.terms.links or step.kind is Kind.FORWARD
        self.spent[page] = seq if links and keeps else 0
        self._change_state(page, state)

    def _change_state(self, page: int, state: int) -> None:
        self.counts[self.state[page]] -= 1
        self.counts[state] += 1
        self.state[page] = state

    def _count_inlinks(self, links: Sequence[int], by: int) -> None:
        inlinks = self.inlinks
        for link in links:
            inlinks[link] += by
        if by < 0:
            self._changed.append(links)

    def _remember(self, step: Step, plans: Sequence[Plan]) -> None:
        changed = self._changed
        if step.kind in _TOUCHES_ITS_LINKS:
            changed.append(step.spending.links)
        for plan in plans:
            changed.append((plan.page,))
            if plan.links is not step.spending.links:
                changed.append(plan.links)
            if plan.extras:
                changed.append([page for page, _ in plan.extras])

    # ------------------------------------------------------------ what is known of it all

    def importance(self) -> NDArray[np.float64]:
        """Each page's share of the importance of all pages known."""
        ledger = self.ledger
        return shares(self.window.importance(ledger.cash_of_all(), ledger.now, ledger.turn))

    def states(self) -> NDArray[np.uint8]:
        """The state of every page; a view: let go of it before pages are born."""
        return np.frombuffer(self.state, dtype=np.uint8)

    # ------------------------------------------------------------ checkpoints

    @property
    def changes(self) -> int:
        """About how many rows a checkpoint would write."""
        return sum(map(len, self._changed))

    def checkpoint(self) -> Checkpoint:
        """The rows that changed since the last one, as they are now."""
        pages = np.unique(np.fromiter(chain.from_iterable(self._changed), dtype=np.int64))
        self._changed = []
        return self._checkpoint(list(self._rows(pages)))

    def restate(self, importance: NDArray[np.float64]) -> Checkpoint:
        """Deal all the cash by these importances; all rows change, read as they are taken."""
        self.ledger.restate(importance)
        self._changed = []
        return self._checkpoint(self._rows(np.arange(len(self))))

    def _checkpoint(self, rows: Iterable[FrontierRow]) -> Checkpoint:
        return Checkpoint(watermark=self.last_seq, totals=self.ledger.totals, rows=rows)

    def _rows(self, pages: NDArray[np.int64]) -> Iterator[FrontierRow]:
        for start in range(0, len(pages), _ROWS_AT_ONCE):
            block = pages[start : start + _ROWS_AT_ONCE]
            columns = [
                np.frombuffer(column, dtype=kind)[block].tolist()
                for column, kind in (
                    (self.state, np.uint8),
                    (self.ledger.key, np.int64),
                    (self.inlinks, np.uint32),
                    (self.spent, np.uint32),
                )
            ]
            past = map(self.window.past, block.tolist())
            for page, state, key, inlinks, spent, (history, g_time, measures) in zip(
                block.tolist(), *columns, past, strict=True
            ):
                yield FrontierRow(page, state, key, history, g_time, inlinks, spent, measures)

    # ------------------------------------------------------------ going on

    @classmethod
    def load(
        cls,
        connection: tables.Connection,
        terms: Terms,
        spending_at: Callable[[int], Spending],
        *,
        index: bool = True,
    ) -> Frontier:
        """The last checkpoint and the steps behind it. A reader needs no `index` of the URLs."""
        frontier = cls(terms, spending_at)
        if index:
            frontier._load_urls(connection)
        frontier._restore(tables.saved(connection))
        for row in tables.steps_after(connection, frontier.last_seq):
            frontier.apply(row)
        return frontier

    def _load_urls(self, connection: tables.Connection) -> None:
        self.origins = [host.origin for host in tables.hosts(connection)]
        self._host_ids = {origin: host for host, origin in enumerate(self.origins)}
        for page, host, path, depth in tables.urls(connection):
            self._known.put(code_of(self.origins[host] + path), page)
            self._settle_in(host, min(depth, _DEEPEST))

    def _restore(self, saved: Saved) -> None:
        states = np.frombuffer(saved.state, dtype=np.uint8)
        flags = bytearray((states != State.UNREAD).astype(np.uint8).tobytes())
        self.ledger.restore(saved.key, flags, saved.totals)
        self.window.restore(saved.history, saved.g_time, saved.measures)
        self.state, self.inlinks, self.spent = saved.state, saved.inlinks, saved.spent
        self.counts.update(dict(enumerate(np.bincount(states).tolist())))
        self.last_seq = saved.watermark
        for page in np.flatnonzero(np.isin(states, STANDS_FOR_ANOTHER)).tolist():
            self.books.forwards[page] = self.spending_of(page).links[0]


_TURNS = frozenset((Kind.VISIT, Kind.FORWARD, Kind.DEAD_END))
_TOUCHES_ITS_LINKS = _TURNS | {Kind.ENDOWED, Kind.REOPEN}

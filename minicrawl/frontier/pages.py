"""All pages in memory: the books, and what must be quick of each page, in flat arrays.

Law: the frontier is a fold over the steps. A crawl that goes on after a kill loads the last
checkpoint and applies the steps behind it with the very code that applied them first.

meet     to turn URLs into page ids; those not known yet are born by the step that follows
spent    the step that says where the cash of a page went, so where to find its links
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from operator import add

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.changes import Changes
from minicrawl.frontier.checkpoint import Anew, Born, Columns, Turned, columns_between
from minicrawl.frontier.spending import LastSpendingSteps, nobody_was
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl, UrlIndex, UrlsOf
from minicrawl.model import STANDS_FOR_ANOTHER, State
from minicrawl.opic.estimate import shares
from minicrawl.opic.journal import Books, Spending, Step, StepKind
from minicrawl.opic.ledger import Ledger
from minicrawl.opic.money import fixed_edge
from minicrawl.opic.steps import Plan
from minicrawl.opic.windows import WINDOWS, Numbers
from minicrawl.store import columns, questions, tables
from minicrawl.store.records import UNCHANGED, Checkpoint, HostRow, StepRow, StoreTerms, UrlRow
from minicrawl.web.urls import split

_DEEPEST = 255
_ROWS_AT_ONCE = 1 << 16
_PAGES_AT_ONCE = 1 << 18
_STATES_AT_ONCE = 1 << 21


def _nobody_knows(pages: Sequence[int]) -> Mapping[int, str]:
    raise LookupError(f"nobody knows the URLs of pages {pages}")


@dataclass(slots=True)
class Meeting:
    """The pages that URLs stand for, and the rows of those that are new."""

    pages: list[int] = field(default_factory=list)
    urls: list[UrlRow] = field(default_factory=list)
    hosts: list[HostRow] = field(default_factory=list)


class Frontier:
    """Pages, hosts and books."""

    def __init__(
        self,
        terms: StoreTerms,
        spending_at: Callable[[int], Spending],
        urls_of: UrlsOf = _nobody_knows,
        spent_by: Callable[[int], int] = nobody_was,
    ) -> None:
        """What the store is asked: the spending of a step, the URLs of pages, and by which step a
        page was spent as of the last checkpoint.
        """
        self.terms = terms
        self.window = WINDOWS[terms.window](terms.width)
        edge = fixed_edge(terms.small_edge)
        self.ledger = Ledger(windows=[self.window], small_edge=edge)
        self.books = Books(self.ledger, self.spending_of)
        self.state = bytearray()
        self.counts = Counter[int]()  # pages by their state
        self.host_of = array("I")
        self.depth = bytearray()
        self.origins: list[str] = []
        self.last_seq = 0
        self._spending_at = spending_at
        self._host_ids: dict[str, int] = {}
        self.spent = LastSpendingSteps(spent_by)
        self._known = UrlIndex(urls_of, self._origin_of)
        self._changes = Changes()

    def __len__(self) -> int:
        return len(self.state)

    # ------------------------------------------------------------ pages and hosts

    def find(self, url: str) -> int | None:
        """The page of a canonical URL, if it is known."""
        return self._known.find((url,)).get(url)

    def url_of(self, page: int) -> str | None:
        """The URL of a page, if it was met lately."""
        return self._known.url_of(page)

    def at_hand(self, urls: Iterable[str]) -> tuple[dict[str, int], list[int]]:
        """The pages of those that were met lately, and those whose URLs must be looked up."""
        found, doubtful = self._known.at_hand(urls)
        return found, list(chain.from_iterable(doubtful.values()))

    def remember(self, homes: Iterable[tuple[int, int, str]]) -> dict[str, int]:
        """The store was asked: it has these pages, of this host and with this path."""
        origins = self.origins
        found = {origins[host] + path: page for page, host, path in homes}
        self._known.remember(found)
        return found

    def meet(self, urls: Sequence[str], depth: int, looked_up: PagesByUrl = NO_PAGES) -> Meeting:
        """Find the pages of these canonical URLs; each unknown one gets the next id."""
        meeting = Meeting()
        known = {**looked_up, **self._known.find(url for url in urls if url not in looked_up)}
        new: dict[str, int] = {}
        for url in urls:
            page = known.get(url)
            if page is None:
                page = known[url] = new[url] = len(self.host_of)
                origin, path = split(url)
                host = self._host(origin, meeting)
                self._settle_in(host, min(depth, _DEEPEST))
                meeting.urls.append(UrlRow(page, host, path, depth))
            meeting.pages.append(page)
        self._known.add(new)
        return meeting

    def _settle_in(self, host: int, depth: int) -> None:
        self.host_of.append(host)
        self.depth.append(depth)

    def _origin_of(self, page: int) -> str:
        return self.origins[self.host_of[page]]

    def host_at(self, origin: str) -> tuple[int, list[HostRow]]:
        """A host, be it one without pages, and its row if it is new."""
        meeting = Meeting()
        return self._host(origin, meeting), meeting.hosts

    def host_of_origin(self, origin: str) -> int | None:
        """The host, if it is known."""
        return self._host_ids.get(origin)

    def shallowest(self, host: int) -> int | None:
        """How far from the seeds its nearest page is; None if it has none."""
        is_of_host = np.frombuffer(self.host_of, dtype=np.uint32) == host
        depths = np.frombuffer(self.depth, dtype=np.uint8)[is_of_host]
        return int(depths.min()) if len(depths) else None

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
        elif step.kind is StepKind.REOPEN:
            for page in step.spending.links:
                self._wait_again(page)
        elif step.kind is StepKind.ENDOWED:
            self._changes.pay(step.spending.links)
        plans = self.books.apply(step)
        for plan in plans:
            self._note(plan, step)
        return plans

    def _note(self, plan: Plan, step: Step) -> None:
        """Whose rows the plan changed; its links are noted already if they are those of a page."""
        self._turned(plan.page)
        if plan.links is not step.spending.links or not self.terms.links:
            self._changes.pay(plan.links)
        if plan.extras:
            self._changes.pay([page for page, _ in plan.extras])

    def spending_of(self, page: int) -> Spending:
        """How the page was last spent."""
        seq = self.spent[page]
        return self._spending_at(seq) if seq else Spending(())

    def _bear(self, count: int) -> None:
        self.state.extend(repeat(State.UNREAD, count))
        self.counts[State.UNREAD] += count

    def _end_turn(self, seq: int, state: int, step: Step) -> None:
        page, links = step.page, step.spending.links
        if self.terms.links:
            if self.state[page] != State.UNREAD:  # who waits has none: nobody asks the store
                self._changes.unlink(self.spending_of(page).links)
            self._changes.link(links)
        keeps = self.terms.links or step.kind is StepKind.FORWARD
        self.spent[page] = seq if links and keeps else 0
        self._change_state(page, state)

    def _wait_again(self, page: int) -> None:
        """What it stood for so far is over."""
        if self.state[page] in STANDS_FOR_ANOTHER:
            if self.terms.links:
                self._changes.unlink(self.spending_of(page).links)
            self.spent[page] = 0
        self._change_state(page, State.UNREAD)
        self._turned(page)

    def _change_state(self, page: int, state: int) -> None:
        self.counts[self.state[page]] -= 1
        self.counts[state] += 1
        self.state[page] = state

    def _turned(self, page: int) -> None:
        self._changes.turn(page, self.window.past(page))

    # ------------------------------------------------------------ what is known of it all

    def importance(self) -> NDArray[np.float64]:
        """Each page's share of the importance of all pages known."""
        found = np.empty(len(self))
        for first in range(0, len(self), _PAGES_AT_ONCE):
            end = min(first + _PAGES_AT_ONCE, len(self))
            found[first:end] = self.importance_of(first, end)
        return shares(found)

    def importance_of(self, first: int, end: int) -> NDArray[np.float64]:
        """The importance of the pages of a range, up to a factor that all pages share."""
        ledger = self.ledger
        cash = ledger.cash_of_all(first, end)
        return self.window.importance(cash, ledger.now, ledger.turn, first)

    def tally(self) -> dict[str, object]:
        """What `status` shows of all pages; kept with each commit, so that it counts nothing."""
        states = {str(int(state)): pages for state, pages in self.counts.items() if pages}
        recorded, steps = self.ledger.recorded, self.last_seq
        return {tables.STATES: states, tables.RECORDED: recorded, tables.STEPS: steps}

    def states(self) -> NDArray[np.uint8]:
        """The state of every page; a view: let go of it before pages are born."""
        return np.frombuffer(self.state, dtype=np.uint8)

    def in_state(self, *states: State) -> Iterator[NDArray[np.uint32]]:
        """The pages in these states, block by block."""
        for first in range(0, len(self), _STATES_AT_ONCE):
            block = self.states()[first : first + _STATES_AT_ONCE]
            yield (first + np.flatnonzero(np.isin(block, states))).astype(np.uint32)

    # ------------------------------------------------------------ checkpoints

    @property
    def changes(self) -> int:
        """About how many rows a checkpoint would write."""
        return len(self) - self._changes.saved + len(self._changes)

    def gained(self, pages: Numbers | None = None) -> NDArray[np.int64]:
        """How many in-links these pages, or all of them, have more than their rows say."""
        asked = np.arange(len(self)) if pages is None else pages
        return self._changes.cut(self.ledger.key).gained(asked)

    def checkpoint(self) -> Checkpoint:
        """The rows that changed since the last one, as they are now, whenever they are taken."""
        changes, self._changes = self._changes, Changes(len(self))
        cut = changes.cut(self.ledger.key)
        turned = Turned.of(self, changes.turned, changes.saved)
        born = Born.of(self, changes.turned, changes.saved)
        self.spent.cut(len(self))
        return Checkpoint(
            watermark=self.last_seq,
            totals=self.ledger.totals,
            born=Anew(partial(born.rows, cut)),
            turned=Anew(partial(turned.rows, cut)),
            paid=Anew(partial(cut.paid, changes.saved, turned.pages)),
        )

    def restate(self, importance: NDArray[np.float64]) -> Checkpoint:
        """Deal all the cash by these importances; all rows change, read as they are taken."""
        self.ledger.restate(importance)
        changes, self._changes = self._changes, Changes(len(self))
        cut = changes.cut(self.ledger.key)
        return Checkpoint(
            watermark=self.last_seq,
            totals=self.ledger.totals,
            born=columns_between(self, changes.saved, len(self), spent=0).rows(cut),
            turned=chain.from_iterable(
                self._saved_columns(first, min(first + _ROWS_AT_ONCE, changes.saved)).rows(cut)
                for first in range(0, changes.saved, _ROWS_AT_ONCE)
            ),
            paid=(),
        )

    def _saved_columns(self, first: int, end: int) -> Columns:
        return columns_between(self, first, end, spent=UNCHANGED)

    # ------------------------------------------------------------ going on

    @classmethod
    def load(
        cls,
        connection: tables.Connection,
        terms: StoreTerms,
        spending_at: Callable[[int], Spending],
        urls_of: UrlsOf | None = None,
        spent_by: Callable[[int], int] | None = None,
    ) -> Frontier:
        """The last checkpoint and the steps behind it. Who meets no URLs needs no `urls_of`.

        Whoever goes on using the connection in another thread has its own `spent_by`.
        """
        spent_by = spent_by or partial(tables.spent_by, connection)
        frontier = cls(terms, spending_at, urls_of or _nobody_knows, spent_by)
        if urls_of is not None:
            frontier._load_urls(connection)
        frontier._restore(connection)
        frontier._expect_births(connection)
        for row in tables.steps_after(connection, frontier.last_seq):
            frontier.apply(row)
        return frontier

    def _expect_births(self, connection: tables.Connection) -> None:
        """A step that bears more pages than have URLs would take all memory there is."""
        known = questions.pages_known(connection)
        born = len(self) + questions.born_after(connection, self.last_seq)
        if born != known:
            raise ValueError(f"{known} URLs are known, but {born} pages were born")

    def _load_urls(self, connection: tables.Connection) -> None:
        self.origins = [host.origin for host in tables.hosts(connection)]
        self._host_ids = {origin: host for host, origin in enumerate(self.origins)}
        origins = self.origins
        for hosts, paths in tables.hosts_and_paths(connection):
            self.host_of.extend(hosts)
            self._known.add_all(map(add, map(origins.__getitem__, hosts), paths))
        self._known.finish_loading()
        for (depths,) in columns.urls(connection, "depth"):
            self.depth += np.minimum(depths, _DEEPEST).astype(np.uint8).tobytes()

    def _restore(self, connection: tables.Connection) -> None:
        saved, key = tables.saved(connection), array("q")

        def pasts() -> Iterator[tuple[Numbers, Numbers]]:
            """While all else is taken from the same rows."""
            for states, keys, history, times in columns.frontier(connection, *_SAVED):
                self.state += states.tobytes()
                self.counts.update(dict(enumerate(np.bincount(states).tolist())))
                key.frombytes(keys.tobytes())
                yield history, times

        self.window.restore(pasts(), tables.measures(connection))
        flags = bytearray(self.states() != State.UNREAD)
        self.ledger.restore(key, flags, saved.totals)
        self._changes = Changes(len(self))
        self.spent.rows = len(self)
        self.last_seq = saved.watermark
        for pages in self.in_state(*STANDS_FOR_ANOTHER):
            spendings = tables.spendings_of(connection, pages.tolist())
            targets = [spending.links[0] for spending in spendings]
            self.books.forwards.update(zip(pages.tolist(), targets, strict=True))


_SAVED: tuple[columns.Column, ...] = ("state", "key", "history", "g_time")
_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))

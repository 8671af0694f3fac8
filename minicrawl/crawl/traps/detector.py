"""Traps: which pages are put aside because there would be no end of them, and why.

Laws: a page that is put aside stays known and ranked, and its turn ends with a reason that names
the limit; a page that the user named is never put aside. Nothing is kept for each URL that is
known: all of it is bounded, and what a crawl forgets, or a new run does not know yet, it learns
again by a few requests more.

by its URL     too deep, or the same segments over and over
barren         where it is, pages say nothing new
allowance      its host or its site has had as many pages as it has earned
twin           content has proven that it is another page
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from minicrawl.config import Traps as TrapLimits
from minicrawl.crawl.settle.duplicates import Duplicates
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.start.scope_gate import ScopeGate
from minicrawl.crawl.traps.equivalence import UrlEquivalence
from minicrawl.crawl.traps.novelty import NoveltyTracker
from minicrawl.crawl.traps.quotas import Quotas
from minicrawl.model import ParsedPage, State
from minicrawl.opic.steps import Plan
from minicrawl.web.traps import most_repeats, segments
from minicrawl.web.urls import LONGEST, split

SHORT_CHAIN = 3
"""Redirects in a row that healthy sites need: a new scheme, a new host, a new path."""
_GROWTH = 1.1
_FEWEST = 100


class Aside(NamedTuple):
    """How a turn ends without a request; with an `original`, the page stands for that."""

    state: State
    detail: str = ""
    original: str | None = None


class TrapDetector:
    """Sees what comes of all requests."""

    def __init__(self, limits: TrapLimits, recorder: Recorder, gate: ScopeGate) -> None:
        frontier = recorder.frontier
        self.seeds = recorder.planted()
        self.seeds.update([frontier.books.stands_for(page) for page in self.seeds])
        self._limits, self._recorder, self._frontier, self._gate = limits, recorder, frontier, gate
        self._allowances = Quotas(limits, frontier.origins, frontier.host_of)
        self._barren = NoveltyTracker(limits.barren_pages)
        self._twins = UrlEquivalence(limits.same_pages, self._differ)
        self.copies = Duplicates(frontier, self._allowances, self.seeds)
        self._due = 0.0
        least = (limit for limit in (limits.max_segments, limits.max_repeats) if limit is not None)
        self._fewest_slashes = min(least, default=LONGEST) + len("//")
        self._allowances.vouch(frontier.host_of[page] for page in self.seeds)

    def restore(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """What earlier runs read."""
        self._allowances.restore(pages_by_host)

    # ------------------------------------------------------------ before a request

    def aside(self, page: int, host: int, url: str) -> Aside | None:
        """How the page's turn ends if it need not be asked for."""
        if page in self.seeds or self.copies.is_compared(page):
            return None
        folded = self._twins.original(url)
        if folded is not None and self._may_stand_for(page, folded.url):
            return Aside(State.TWIN, folded.reason, folded.url)
        why = self._by_url(url) or self._barren.refusal(page, host, url)
        if why is not None:
            return Aside(State.TRAP, why)
        why = self._allowances.refusal(host)
        return None if why is None else Aside(State.ALLOWANCE, why)

    def _may_stand_for(self, page: int, target: str) -> bool:
        """Only for a page that was read, or has its turn yet, and of no host that matters less."""
        if self._gate.refusal(target, 0, 0) is not None:
            return False
        host, of_target = self._frontier.host_of[page], self._recorder.host_at(split(target)[0])
        are_strangers = self._allowances.are_strangers(host, of_target)
        if are_strangers and self._allowances.overtakes(host, of_target):
            return False
        other = self._frontier.find(target)
        if other is None:
            return True
        end = self._frontier.books.stands_for(other)
        state = State(self._frontier.state[end])
        return end != page and (state is State.UNREAD or state.was_read)

    def _by_url(self, url: str) -> str | None:
        if url.count("/") < self._fewest_slashes:
            return None
        _, target = split(url)
        deepest, repeats = self._limits.max_segments, self._limits.max_repeats
        if deepest is not None and (found := segments(target)) > deepest:
            return f"its path has {found:,} segments: --max-segments {deepest:,}"
        if repeats is not None and (found := most_repeats(target)) > repeats:
            return f"a segment of its path is there {found:,} times: --max-repeats {repeats:,}"
        return None

    def suspicious(self, host: int) -> int:
        """The titles, as bits, of which the host's pages are to be compared by their text."""
        return self._barren.suspicious(host)

    def asks(self, host: int, *, again: bool) -> None:
        """A page of the host is asked for; what is read again was paid for."""
        if not again:
            self._allowances.spend(host)

    # ------------------------------------------------------------ what came of it

    def vouch(self, page: int) -> None:
        """A seed leads here."""
        self.seeds.add(page)
        self._allowances.vouch([self._frontier.host_of[page]])

    def read(self, page: int, url: str, reading: ParsedPage, first: int | None) -> bool:
        """Whether the page says nothing new; `first` is one with the same content.

        What is read again says what it said before. That another site says the same is nothing that
        a host can help: it does not count against its pages.
        """
        if self._frontier.state[page] != State.UNREAD or self.copies.is_compared(page):
            return False
        is_strange = first is not None and self.copies.are_strangers(page, first)
        own = None if is_strange else first
        verdict = self._barren.read(page, self._frontier.host_of[page], url, reading, own)
        other = first if is_strange else verdict.copy_of
        if other is not None:
            urls = url, self._recorder.url_of(other)
            host_of = self._frontier.host_of
            outranks = self._allowances.outranks(host_of[page], host_of[other])
            self._twins.saw_copy(*(reversed(urls) if outranks else urls))
        elif verdict.is_new:
            self._twins.saw_original(url)
        return verdict.is_barren

    def redirected(self, page: int, url: str, hops: int, new: Sequence[int]) -> None:
        """The page is the last one so far of so many redirects in a row, and leads to a new one."""
        if hops > SHORT_CHAIN:
            self._barren.led_on(page, self._frontier.host_of[page], url)
        if hops >= SHORT_CHAIN:
            self._barren.found((), new, is_barren=True)

    def found(
        self, page: int, pages: Sequence[int], new: Sequence[int], *, is_barren: bool
    ) -> None:
        """The links of a page that was read; what they cost is paid once."""
        self._barren.found(pages, new, is_barren=is_barren)
        if new and self._frontier.state[page] == State.UNREAD:
            self._allowances.led_to(self._frontier.host_of[page], new)

    def paid(self, page: int, plans: Sequence[Plan], links: Sequence[int]) -> None:
        """The page handed on its cash for the first time, along these links."""
        host = self._frontier.host_of[page]
        self._allowances.earn(host, plans)
        for plan in plans:
            if plan.links is not links and (misled := self.copies.misled(plan, links)):
                self._allowances.earn(host, [Plan(page, 0, (), 0, misled, 0)])

    def located(self, host: int, address: str) -> None:
        """Where the host is: hosts at one address share what they may have."""
        self._allowances.located(host, address)

    def _differ(self, url: str, other: str) -> bool:
        known = [self._frontier.find(name) for name in (url, other)]
        documents = [None if page is None else self._recorder.document(page) for page in known]
        return len({document.content for document in documents if document is not None}) > 1

    # ------------------------------------------------------------ who has earned more since

    def due(self, requests: float) -> list[int]:
        """Now and then: pages that have earned what kept them from being read, or from being
        themselves.
        """
        if requests < self._due:
            return []
        self._due = requests * _GROWTH + _FEWEST
        return self.earned()

    def earned(self) -> list[int]:
        """All of them, as far as there is room."""
        return [*self._with_room(), *self.copies.overtaking()]

    def _with_room(self) -> list[int]:
        frontier = self._frontier
        if not frontier.counts[State.ALLOWANCE]:
            return []
        return self._allowances.with_room(np.flatnonzero(frontier.states() == State.ALLOWANCE))

"""Traps: which pages are put aside because there would be no end of them, and why.

Laws: a page that is put aside stays known and ranked, and its turn ends with a reason that names
the limit. A page that the user named is never put aside. Memory is bounded: nothing is kept for
each known URL. What a crawl forgets, or a new run does not know yet, costs a few more requests to
learn again.

To add a trap, ask it in `TrapDetector.aside`, and teach it in `TrapDetector.read` and `found`.

by its path    too many segments, or the same one over and over
barren         its host repeats itself under such URLs: pages like it say nothing new
allowance      its host, site or network has had as many pages as it has earned
twin           content has proven that its URL leads to another page
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.config import Traps as TrapLimits
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.crawl.settle.duplicates import Duplicates
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.traps.equivalence import UrlEquivalence
from minicrawl.crawl.traps.novelty import NoveltyTracker
from minicrawl.crawl.traps.quotas import Quotas
from minicrawl.model import PageId, ParsedPage, State
from minicrawl.opic.ledger import Plan
from minicrawl.web.traps import most_repeats, segments
from minicrawl.web.urls import LONGEST, split

SHORT_CHAIN = 3
"""Redirects in a row that healthy sites need: a new scheme, a new host, a new path."""
_GROWTH = 1.1
_FEWEST = 100


class Aside(NamedTuple):
    """How a turn ends without a request; if there is an `original`, the page stands for it."""

    state: State
    detail: str = ""
    original: str | None = None


class PathLimits:
    """Refuses URLs by their paths alone."""

    def __init__(self, limits: TrapLimits) -> None:
        self._max_segments, self._max_repeats = limits.max_segments, limits.max_repeats
        least = (limit for limit in (limits.max_segments, limits.max_repeats) if limit is not None)
        self._fewest_slashes = min(least, default=LONGEST) + len("//")

    def refusal(self, url: str) -> str | None:
        """Why the URL need not be asked for, if so."""
        if url.count("/") < self._fewest_slashes:
            return None
        _, target = split(url)
        most, repeats = self._max_segments, self._max_repeats
        if most is not None and (found := segments(target)) > most:
            return f"its path has {found:,} segments: --max-segments {most:,}"
        if repeats is not None and (found := most_repeats(target)) > repeats:
            return f"a segment of its path is there {found:,} times: --max-repeats {repeats:,}"
        return None


class TrapDetector:
    """Decides before each request whether the page is in a trap, and learns from all answers."""

    def __init__(self, limits: TrapLimits, recorder: Recorder, gate: ScopeGate) -> None:
        frontier = recorder.frontier
        self.seeds = recorder.seeds.ids()
        self.seeds.update([frontier.books.stands_for(page) for page in self.seeds])
        self._recorder, self._frontier, self._gate = recorder, frontier, gate
        self._path_limits = PathLimits(limits)
        self._quotas = Quotas(limits, frontier.urls.sites, frontier.urls.host_of)
        self._novelty = NoveltyTracker(limits.barren_pages)
        self._equivalence = UrlEquivalence(limits.same_pages, self._differ)
        self.copies = Duplicates(frontier, self._quotas.external_cash, self.seeds)
        self._due = 0.0
        self._quotas.vouch(frontier.urls.host_of[page] for page in self.seeds)

    def restore(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """Earlier runs read so many pages of these hosts."""
        self._quotas.restore(pages_by_host)

    def importance_of_sites(self, endowment: float) -> NDArray[np.float64]:
        """For each host that of its site: what others gave to it, and the user, who endowed it."""
        return self._quotas.external_cash.to_sites(endowment)

    # ------------------------------------------------------------ before a request

    def aside(self, page: PageId, host: int, url: str) -> Aside | None:
        """How the page's turn ends if it is not asked for."""
        if page in self.seeds or self.copies.is_compared(page):
            return None
        folded = self._equivalence.original(url)
        if folded is not None and self._may_stand_for(page, folded.url):
            return Aside(State.TWIN, folded.reason, folded.url)
        why = self._path_limits.refusal(url) or self._novelty.refusal(page, host, url)
        if why is not None:
            return Aside(State.TRAP, why)
        why = self._quotas.refusal(host)
        return None if why is None else Aside(State.ALLOWANCE, why)

    def _may_stand_for(self, page: PageId, target: str) -> bool:
        """Whether the target was read or waits, and is on a host that matters no less."""
        if self._gate.refusal(target, 0, 0) is not None:
            return False
        host, of_target = (
            self._frontier.urls.host_of[page],
            self._recorder.host_at(split(target)[0]),
        )
        are_strangers = self._quotas.external_cash.are_strangers(host, of_target)
        if are_strangers and self._quotas.external_cash.overtakes(host, of_target):
            return False
        other = self._frontier.urls.find(target)
        if other is None:
            return True
        end = self._frontier.books.stands_for(other)
        state = State(self._frontier.state[end])
        return end != page and (state is State.UNREAD or state.was_read)

    def suspicious(self, host: int) -> int:
        """The titles, as bits, that are suspicious: pages with them are compared by their text."""
        return self._novelty.suspicious(host)

    def asks(self, host: int, *, again: bool) -> None:
        """Charge a request for a page to its host; a page that is read again was charged before."""
        if not again:
            self._quotas.spend(host)

    # ------------------------------------------------------------ what came of it

    def vouch(self, page: PageId) -> None:
        """A seed redirects to this page: the user means it as well."""
        self.seeds.add(page)
        self._quotas.vouch([self._frontier.urls.host_of[page]])

    def read(self, page: PageId, url: str, parsed: ParsedPage, first: int | None) -> bool:
        """Learn from a page; whether it says nothing new. `first` is one with the same content.

        A page that is read again says what it said before: nothing is learned from it. A copy on
        another site does not count against a host.
        """
        if self._frontier.state[page] != State.UNREAD or self.copies.is_compared(page):
            return False
        is_strange = first is not None and self.copies.are_strangers(page, first)
        own = None if is_strange else first
        novelty = self._novelty.read(page, self._frontier.urls.host_of[page], url, parsed, own)
        other = first if is_strange else novelty.copy_of
        if other is not None:
            urls = url, self._recorder.pages.url_of(other)
            host_of = self._frontier.urls.host_of
            outranks = self._quotas.external_cash.outranks(host_of[page], host_of[other])
            self._equivalence.saw_copy(*(reversed(urls) if outranks else urls))
        elif novelty.is_new:
            self._equivalence.saw_original(url)
        return novelty.is_barren

    def redirected(self, page: PageId, url: str, hops: int, new: Sequence[int]) -> None:
        """Learn from a redirect to a new page, the last of so many redirects in a row."""
        if hops > SHORT_CHAIN:
            self._novelty.led_on(page, self._frontier.urls.host_of[page], url)
        if hops >= SHORT_CHAIN:
            self._novelty.found((), new, is_barren=True)

    def found(
        self, page: PageId, pages: Sequence[int], new: Sequence[int], *, is_barren: bool
    ) -> None:
        """Learn from the links of a page; the new ones are charged to its host the first time."""
        self._novelty.found(pages, new, is_barren=is_barren)
        if new and self._frontier.state[page] == State.UNREAD:
            self._quotas.spend_on_new(self._frontier.urls.host_of[page], new)

    def paid(self, page: PageId, plans: Sequence[Plan], links: Sequence[int]) -> None:
        """The page handed on its cash along these links for the first time."""
        host = self._frontier.urls.host_of[page]
        self._quotas.external_cash.add(host, plans)
        for plan in plans:
            if plan.links is not links and (misled := self.copies.gifts.to_copies(plan, links)):
                self._quotas.external_cash.add(host, [Plan(page, 0, (), 0, misled, 0)])

    def received(self, pages: Sequence[int], atoms: Sequence[int]) -> None:
        """Pages of other shards, so of other sites, handed on so much to these pages."""
        self._quotas.external_cash.receive(pages, atoms)

    def located(self, host: int, address: str) -> None:
        """The host is at this address: hosts at one address share what they may have."""
        self._quotas.locate(host, address)

    def _differ(self, url: str, other: str) -> bool:
        known = [self._frontier.urls.find(name) for name in (url, other)]
        documents = [
            None if page is None else self._recorder.pages.document(page) for page in known
        ]
        return len({document.content for document in documents if document is not None}) > 1

    # ------------------------------------------------------------ pages that wait again

    def due(self, requests: float) -> list[int]:
        """Now and then: pages that need not stay aside any longer, by the number of requests."""
        if requests < self._due:
            return []
        self._due = requests * _GROWTH + _FEWEST
        return self.earned()

    def earned(self) -> list[int]:
        """Pages whose host has earned more, and copies that have overtaken their originals."""
        return [*self._with_room(), *self.copies.take_overtaking()]

    def _with_room(self) -> list[int]:
        frontier = self._frontier
        if not frontier.counts[State.ALLOWANCE]:
            return []
        return self._quotas.with_room(np.flatnonzero(frontier.states() == State.ALLOWANCE))

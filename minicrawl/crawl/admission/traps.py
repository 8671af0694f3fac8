"""Known pages that are never requested: out of scope, over a limit, or in a trap.

A trap is an endless set of pages that say nothing new.

Laws: a skipped page stays known and ranked, and its turn ends with a reason that names the limit. A
seed is in no trap. Memory is bounded: nothing is kept for each known URL. A rule that a crawl has
forgotten, or that a new run does not know yet, is learned again by a few more requests.

To add a trap, check for it in `TrapDetector.skip_reason`; `read` and `found` learn from pages.

path           its path has too many segments, or repeats one too often
barren         its host repeats itself under URLs like its own
allowance      its host, site or network has had as many pages as it has earned
twin           content has proven that its URL leads to another page
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minicrawl.config import Traps as TrapLimits
from minicrawl.crawl.admission.equivalence import UrlEquivalence
from minicrawl.crawl.admission.novelty import NoveltyTracker
from minicrawl.crawl.admission.quotas import Quotas
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.settle.duplicates import Duplicates
from minicrawl.model import PageId, ParsedPage
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.states import State
from minicrawl.web.url_shapes import most_repeats, segments
from minicrawl.web.urls import split

SHORT_CHAIN = 3
"""Number of consecutive redirects that healthy sites need: new scheme, new host, new path."""
_GROWTH, _FEWEST = 1.1, 100
"""Factor and number by which requests have to grow between two looks for pages to reopen."""


class SkipReason(NamedTuple):
    """End of a turn without a request; the page stands for the `original`, if there is one."""

    state: State
    detail: str = ""
    original: str | None = None


class TrapDetector:
    """Decides before each request whether the page is in a trap, and learns from responses."""

    def __init__(self, limits: TrapLimits, recorder: Recorder, gate: ScopeGate) -> None:
        frontier = recorder.frontier
        self.seeds = recorder.seeds.ids()
        self.seeds.update([frontier.books.stands_for(page) for page in self.seeds])
        self._recorder, self._frontier, self._gate = recorder, frontier, gate
        self._most_segments, self._most_repeats = limits.max_segments, limits.max_repeats
        self._fewest_slashes = min(limits.max_segments, limits.max_repeats) + len("//")
        pages = limits.site_pages
        self.quotas = Quotas(pages, pages, frontier.urls.sites, frontier.urls.host_of)
        self.novelty = NoveltyTracker(limits.barren_pages)
        self._equivalence = UrlEquivalence(limits.same_pages, self._differ)
        self.copies = Duplicates(frontier, self.quotas.inbound_cash, self.seeds)
        self.due_at = 0.0
        """Number of requests at which to look for pages to reopen."""
        self.quotas.vouch(frontier.urls.host_of[page] for page in self.seeds)

    def skip_reason(self, page: PageId, host: int, url: str) -> SkipReason | None:
        """Return how the page's turn ends without a request; None if the page is requested."""
        if page in self.seeds or page in self.copies.compared:
            return None
        original = self._equivalence.original(url)
        if original is not None and self._may_stand_for(page, original[0]):
            return SkipReason(State.TWIN, original[1], original[0])
        why = self._refusal_of_path(url) or self.novelty.refusal(page, host, url)
        if why is not None:
            return SkipReason(State.TRAP, why)
        why = self.quotas.refusal(host)
        return None if why is None else SkipReason(State.ALLOWANCE, why)

    def _refusal_of_path(self, url: str) -> str | None:
        if url.count("/") < self._fewest_slashes:
            return None
        _, target = split(url)
        most, repeats = self._most_segments, self._most_repeats
        if (number := segments(target)) > most:
            return f"its path has {number:,} segments: more than {most:,}"
        if (number := most_repeats(target)) > repeats:
            return f"a segment of its path occurs {number:,} times: more than {repeats:,}"
        return None

    def _may_stand_for(self, page: PageId, target: str) -> bool:
        """Return whether the target was read or waits, on a host that matters no less."""
        if self._gate.refusal(target, 0, 0) is not None:
            return False
        host, inbound_cash = self._frontier.urls.host_of[page], self.quotas.inbound_cash
        of_target = self._recorder.host_at(split(target)[0])
        are_strangers = inbound_cash.site_index.are_strangers(host, of_target)
        if are_strangers and inbound_cash.overtakes(host, of_target):
            return False
        other = self._frontier.urls.find(target)
        if other is None:
            return True
        end = self._frontier.books.stands_for(other)
        state = State(self._frontier.state[end])
        return end != page and (state is State.UNREAD or state.was_read)

    def vouch(self, page: PageId) -> None:
        """Treat a page as a seed: the target of a seed's redirect, or one that the user adds."""
        self.seeds.add(page)
        self.quotas.vouch([self._frontier.urls.host_of[page]])

    def read(self, page: PageId, url: str, parsed: ParsedPage, first: int | None) -> bool:
        """Learn from a page. Return whether it says nothing new; `first` has the same content.

        Nothing is learned from a page that is read again: it repeats itself. A copy on another site
        does not count against a host.
        """
        if self._frontier.state[page] != State.UNREAD or page in self.copies.compared:
            return False
        is_strange = first is not None and self.copies.are_strangers(page, first)
        own = None if is_strange else first
        novelty = self.novelty.read(page, self._frontier.urls.host_of[page], url, parsed, own)
        other = first if is_strange else novelty.copy_of
        if other is not None:
            urls = url, self._recorder.pages.url_of(other)
            host_of = self._frontier.urls.host_of
            outranks = self.quotas.inbound_cash.outranks(host_of[page], host_of[other])
            self._equivalence.saw_copy(*(reversed(urls) if outranks else urls))
        elif novelty.is_new:
            self._equivalence.saw_original(url)
        return novelty.is_barren

    def redirected(self, page: PageId, url: str, hops: int, new: Sequence[int]) -> None:
        """Learn from a redirect to `new` pages, the last of `hops` consecutive redirects."""
        if hops > SHORT_CHAIN:
            self.novelty.led_on(page, self._frontier.urls.host_of[page], url)
        if hops >= SHORT_CHAIN:
            self.novelty.found((), new, is_barren=True)

    def found(
        self, page: PageId, pages: Sequence[int], new: Sequence[int], *, is_barren: bool
    ) -> None:
        """Learn from the links of a page; at its first reading, charge new pages to its host."""
        self.novelty.found(pages, new, is_barren=is_barren)
        if new and self._frontier.state[page] == State.UNREAD:
            self.quotas.spend_on_new(self._frontier.urls.host_of[page], new)

    def paid(self, page: PageId, plans: Sequence[Plan], links: Sequence[int]) -> None:
        """Count the cash that the page handed on along these links for the first time."""
        host = self._frontier.urls.host_of[page]
        self.quotas.inbound_cash.add(host, plans)
        for plan in plans:
            # A link to a copy pays the original, but counts as a gift to the copy: it could not
            # overtake the original otherwise.
            if plan.links is not links and (misled := self.copies.gifts_of(plan, links)):
                self.quotas.inbound_cash.add(host, [Plan(page, 0, (), 0, misled, 0)])

    def _differ(self, url: str, other: str) -> bool:
        pages = (self._frontier.urls.find(name) for name in (url, other))
        documents = (self._recorder.pages.document(page) for page in pages if page is not None)
        return len({document.content for document in documents if document is not None}) > 1

    def due(self, requests: float) -> list[int]:
        """Return pages to reopen, and set the next `due_at`; to be called when that is reached."""
        self.due_at = requests * _GROWTH + _FEWEST
        return self.earned()

    def earned(self) -> list[int]:
        """Return pages whose hosts have earned more, and copies that overtook their originals."""
        frontier, with_room = self._frontier, list[int]()
        if frontier.counts[State.ALLOWANCE]:
            with_room = self.quotas.with_room(np.flatnonzero(frontier.states() == State.ALLOWANCE))
        return [*with_room, *self.copies.take_overtaking()]

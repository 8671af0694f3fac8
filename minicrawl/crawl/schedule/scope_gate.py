"""The gate: decides which pages may be fetched at all, by the user's scope and limits.

Law: a page that the gate refuses is known and ranked, and never requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from minicrawl.config import Order, Scope
from minicrawl.crawl.schedule.orders import FARTHEST, DistanceTracker
from minicrawl.crawl.settle.posting import is_in_focus
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import PageId, State
from minicrawl.opic.ledger import Spending
from minicrawl.web.responses import FROM_SEEDS, may_be_wanted, types_of, unwanted_endings
from minicrawl.web.scope import PROGRAMS, ScopeRules, folders

NO_ENDINGS: frozenset[str] = frozenset()


class ScopeGate:
    """The user's scope and limits, and the filter of a Python program, if any."""

    def __init__(
        self, scope: Scope, seeds: Iterable[str], accept: Callable[[str], bool] | None = None
    ) -> None:
        self._scope, self._accept = scope, accept
        self._types = types_of(scope.types)
        self._of_seeds = self._types | FROM_SEEDS
        self._endings = unwanted_endings(self._types)
        self._endings_of_seeds = unwanted_endings(self._of_seeds) - PROGRAMS
        self._folders = list(seeds) if scope.scope == "prefix" else []
        self._rules = self._rules_for(self._folders or seeds)
        self._wider = self._rules_for(())
        self._led_to: list[str] = []
        self._max_depth = scope.max_depth
        self._per_host = scope.per_host_pages

    @property
    def has_filter(self) -> bool:
        """True if a Python program filters URLs, too."""
        return self._accept is not None

    def is_of_a_type(self, url: str, *, is_seed: bool = False) -> bool:
        """Return whether the page may have a type that is read, as far as its URL tells.

        More types are read of a seed, and of the pages that a seed redirects to.
        """
        if is_seed:
            return may_be_wanted(url, self._of_seeds, self._endings_of_seeds)
        return may_be_wanted(url, self._types, self._endings)

    @property
    def folders(self) -> list[str]:
        """Folders that contain all pages in scope, if the scope is the folders of the seeds."""
        return folders((*self._folders, *self._led_to)) if self._folders else []

    def refusal(
        self, url: str, depth: int, pages_of_host: int, *, is_seed: bool = False
    ) -> State | None:
        """Return why the page is refused, or None."""
        if not self.is_of_a_type(url, is_seed=is_seed):
            return State.TYPE
        if not self._is_within(url):
            return State.SCOPE
        if self._accept is not None and not self._accept(url):
            return State.SCOPE
        if self._max_depth is not None and depth > self._max_depth:
            return State.DEPTH
        if self._per_host is not None and pages_of_host >= self._per_host:
            return State.HOST_BUDGET
        return None

    def refusal_of_file(self, url: str, depth: int) -> State | None:
        """Return why a file that is no page, such as a sitemap, is not requested; None if it is."""
        if not self._is_within(url):
            return State.SCOPE
        return State.DEPTH if self._max_depth is not None and depth > self._max_depth else None

    def refusal_of_part(self, url: str, *, in_scope: bool) -> State | None:
        """Return why a part or a link target of a page is not requested; None if it is.

        It is refused if it is denied, or if it must be within the scope and is not.
        """
        is_refused = self._rules.denies(url) or (in_scope and not self._is_within(url))
        return State.SCOPE if is_refused else None

    def _is_within(self, url: str) -> bool:
        return self._rules.allows(url) or self._wider.allows(url)

    def widen(self, url: str) -> None:
        """Admit the target of a seed's redirect: the user meant this page, whatever its host."""
        if not self._is_within(url):
            self._led_to.append(url)
            self._wider = self._rules_for(self._led_to)

    def _rules_for(self, seeds: Iterable[str]) -> ScopeRules:
        scope = self._scope
        return ScopeRules.of(
            scope.scope, seeds, allow=scope.allow, deny=scope.deny, not_html=NO_ENDINGS
        )


def gate_for(
    recorder: Recorder, scope: Scope, accept: Callable[[str], bool] | None = None
) -> ScopeGate:
    """Return the gate for the seeds, widened by the pages that they have redirected to so far."""
    gate = ScopeGate(scope, recorder.seeds.urls(), accept)
    for url in recorder.seeds.redirect_targets():
        gate.widen(url)
    return gate


# ================================================================ off focus
#
# Distance of a page from the focus, where a crawl reads nothing farther away.
#
# Laws: a seed is 0 links away, and so is a page in focus. Any other page is as far as the shortest
# path from one of these. A URL puts a page in focus whatever the order of reading; words do so as
# soon as one link says them. The log has those links, so a crawl that is resumed knows as much as
# one that was never stopped.

_URLS_AT_ONCE = 10_000


class OffFocusTracker(DistanceTracker):
    """Distances of all pages from the seeds and from pages in focus."""

    refusal = State.FOCUS

    def __init__(self, recorder: Recorder, limit: int, order: Order) -> None:
        self._away = bytearray()
        self._url_of = recorder.pages.url_of
        super().__init__(recorder.frontier, limit, self._away)
        self._is_in_focus = is_in_focus(order)
        self._grow()
        for page in recorder.seeds.ids():
            self._away[page] = 0
        for first in range(0, len(self._away), _URLS_AT_ONCE):
            pages = range(first, min(first + _URLS_AT_ONCE, len(self._away)))
            for page, url in recorder.pages.urls_at(pages).items():
                if self._is_in_focus(url):
                    self._away[page] = 0
        # An earlier run may have had other URLs in focus: only the words of its links count.
        self._counts_links = bool(order.focus_words or order.focus_similar)
        self.learn()
        self._counts_links = True

    def look_at(self, pages: Sequence[PageId]) -> None:
        """Note new pages: their URLs may put them in focus, whatever links to them."""
        self._grow()
        for page in pages:
            if self._is_in_focus(self._url_of(page)):
                self._away[page] = 0

    def _nearer(self, start: PageId, spending: Spending) -> list[int]:
        self._grow()
        found = self._bring_to(spending.links, self._reach(start))
        if spending.focus and self._counts_links:
            pairs = zip(spending.links, spending.focus, strict=True)
            looked_for = self._bring_to((link for link, strength in pairs if strength), 0)
            found = list({*found, *looked_for})
        return found

    def _grow(self) -> None:
        """Add new pages at the largest distance, until a path to them is known."""
        missing = len(self._frontier) - len(self._away)
        if missing > 0:
            self._away.extend(bytes((FARTHEST,)) * missing)

"""The gate: which pages may be fetched at all, by the scope and the limits of the user.

Law: a page that the gate refuses is known and ranked, and no request is ever made for it.
"""

from collections.abc import Callable, Iterable

from minicrawl.config import Scope
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import State
from minicrawl.web.documents.kinds import FROM_SEEDS, may_be_wanted, types_of, unwanted_endings
from minicrawl.web.scope import PROGRAMS, ScopeRules, folders

NO_ENDINGS: frozenset[str] = frozenset()


class ScopeGate:
    """The user's scope and limits, and the filter of a program if there is one."""

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
        """Whether a program decides, too."""
        return self._accept is not None

    def is_of_a_type(self, url: str, *, is_seed: bool = False) -> bool:
        """Whether the page may be of a type that is read, as far as its URL tells; of a seed, and
        of what a seed leads to, more types are read.
        """
        if is_seed:
            return may_be_wanted(url, self._of_seeds, self._endings_of_seeds)
        return may_be_wanted(url, self._types, self._endings)

    @property
    def folders(self) -> list[str]:
        """Where pages lie that may be fetched, if the scope is the folders of the seeds."""
        return folders((*self._folders, *self._led_to)) if self._folders else []

    def refusal(
        self, url: str, depth: int, pages_of_host: int, *, is_seed: bool = False
    ) -> State | None:
        """Why not, or None."""
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
        """Why a file that is no page, such as a sitemap, is not asked for."""
        if not self._is_within(url):
            return State.SCOPE
        return State.DEPTH if self._max_depth is not None and depth > self._max_depth else None

    def refusal_of_part(self, url: str, *, in_scope: bool) -> State | None:
        """Why something is not asked for that belongs to a page, or that a page links to: it is
        denied, or it must be within the scope and is not.
        """
        is_refused = self._rules.denies(url) or (in_scope and not self._is_within(url))
        return State.SCOPE if is_refused else None

    def _is_within(self, url: str) -> bool:
        return self._rules.allows(url) or self._wider.allows(url)

    def widen(self, url: str) -> None:
        """A seed redirects here: the user who named the seed meant this page, whatever its host."""
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
    """The scope: that of the seeds, and of the pages that they have redirected to so far."""
    gate = ScopeGate(scope, recorder.seeds.urls(), accept)
    for url in recorder.seeds.redirect_targets():
        gate.widen(url)
    return gate

"""The gate: decides which pages may be fetched at all, by the user's scope and limits."""

from collections.abc import Callable, Iterable
from typing import cast

from minicrawl import ext
from minicrawl.config import Scope
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.errors import MinicrawlError
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.web.responses.types import FROM_SEEDS, may_be_wanted, types_of, unwanted_endings
from minicrawl.web.scope import PROGRAMS, REACHES, ScopeRules, folders
from minicrawl.web.takedowns import NO_TAKEDOWNS, Takedowns

NO_ENDINGS: frozenset[str] = frozenset()
_ANY = "any"
_OF_HOSTS = frozenset(("domain", "host"))
"""Scopes that have all pages of a host, or none."""


class ScopeGate:
    """The user's scope and limits, and the filters of a package and of a Python program, if any."""

    def __init__(
        self,
        scope: Scope,
        seeds: Iterable[str],
        accept: Callable[[str], bool] | None = None,
        gone: Takedowns = NO_TAKEDOWNS,
    ) -> None:
        self._gone = gone
        self._scope, self._accept, self._filter = scope, accept, _filter(scope.scope)
        self._types = types_of(scope.types)
        self._of_seeds = self._types | FROM_SEEDS
        self._endings = unwanted_endings(self._types)
        self._endings_of_seeds = unwanted_endings(self._of_seeds) - PROGRAMS
        is_prefix = scope.scope == "prefix"  # the folder of a concealed URL is unknown
        self._folders = [url for url in seeds if not gone.covers(url)] if is_prefix else []
        self._rules = self._rules_for(self._folders if is_prefix else seeds)
        self._wider = self._rules_for(())
        self._led_to: list[str] = []
        self.has_widened = False
        """True if the scope has become wider since this was set to False."""
        by_host = scope.scope == _ANY or scope.scope in _OF_HOSTS
        self.takes_whole_hosts = by_host and not (scope.allow or scope.deny or gone)
        """True if the scope has all pages of the hosts that it reaches."""
        self._max_depth = scope.max_depth
        self._per_host = scope.per_host_pages

    @property
    def has_filter(self) -> bool:
        """True if a program or a package filters URLs, too."""
        return self._accept is not None or self._filter is not None

    @property
    def folders(self) -> list[str]:
        """Folders that contain all pages in scope, if the scope is the folders of the seeds."""
        return folders((*self._folders, *self._led_to)) if self._folders else []

    def refusal(
        self,
        url: str,
        depth: int,
        pages_of_host: int,
        *,
        is_seed: bool = False,
        is_within: bool = False,
    ) -> State | None:
        """Return why the page is refused, or None; `is_within`: the scope has its whole host."""
        types, endings = self._types, self._endings
        if is_seed:  # of a seed, and of the pages that it redirects to, more types are read
            types, endings = self._of_seeds, self._endings_of_seeds
        if not may_be_wanted(url, types, endings):
            return State.TYPE
        if not (is_within or self._is_within(url)):
            return State.SCOPE
        if self._accept is not None and not self._accept(url):
            return State.SCOPE
        if self._max_depth is not None and depth > self._max_depth:
            return State.DEPTH
        if self._per_host is not None and pages_of_host >= self._per_host:
            return State.HOST_BUDGET
        return None

    def reaches(self, origin: str) -> bool:
        """Return False if the scope has no page of this origin, whatever its path is."""
        if self._scope.scope not in _OF_HOSTS:
            return True
        home = f"{origin}/"
        return self._rules.reach(home) or self._wider.reach(home)

    def refusal_of_file(self, url: str, depth: int) -> State | None:
        """Return why a file such as a sitemap is not requested; None if it is requested."""
        if not self._is_within(url):
            return State.SCOPE
        return State.DEPTH if self._max_depth is not None and depth > self._max_depth else None

    def refusal_of_part(self, url: str, *, in_scope: bool) -> State | None:
        """Return why a part or a link target of a page is not requested; None if it is.

        It is refused if it is denied, or if it must be within the scope and is not.
        """
        is_denied = self._rules.denies(url) or self._gone.covers(url)
        is_refused = is_denied or (in_scope and not self._is_within(url))
        return State.SCOPE if is_refused else None

    def _is_within(self, url: str) -> bool:
        return (
            (self._rules.allows(url) or self._wider.allows(url))
            and not (self._gone and self._gone.covers(url))
            and (self._filter is None or self._filter(url))
        )

    def widen(self, url: str) -> None:
        """Admit a URL that the user meant: the target of a seed's redirect, or a new seed."""
        if not (self._is_within(url) or self._gone.covers(url)):
            self._led_to.append(url)
            self._wider.widen(url)
            self.has_widened = True

    def _rules_for(self, seeds: Iterable[str]) -> ScopeRules:
        scope = self._scope
        reach = _ANY if self._filter else scope.scope
        return ScopeRules(reach, seeds, allow=scope.allow, deny=scope.deny, not_html=NO_ENDINGS)


def _filter(scope: str) -> Callable[[str], bool] | None:
    """Return the filter that a package adds as a scope; None for a built-in scope.

    A filter that raises ends the crawl: to guess would request what nobody asked for, or lose it.
    """
    if scope in REACHES:
        return None
    admits = cast(Callable[[str], bool], ext.required(ext.FILTERS, scope, "scope"))

    def is_admitted(url: str) -> bool:
        try:
            return bool(admits(url))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise MinicrawlError(f"the filter {scope!r} raised {reason} for {url}") from error

    return is_admitted


def gate_for(
    recorder: Recorder, scope: Scope, accept: Callable[[str], bool] | None = None
) -> ScopeGate:
    """Return the gate for the seeds and what they redirect to; it denies what was taken down."""
    gate = ScopeGate(scope, recorder.seeds.urls(), accept, tables.taken_down(recorder.counters))
    for url in recorder.seeds.redirect_targets():
        gate.widen(url)
    return gate

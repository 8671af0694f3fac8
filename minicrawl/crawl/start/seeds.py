"""Seeds: the pages that the user names, what they are given, and the scope that they span.

Laws: a page that the gate refuses is known and ranked, and no request is ever made for it. There
may be millions of seeds, so they are taken block by block. The endowment is shared once, when all
are known. Each seed that is added to a crawl later gets no less than the first ones did, even if
links led to it before. A page is endowed once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from minicrawl import config
from minicrawl.config import Scope
from minicrawl.crawl.events import Listener, Noted, nobody_listens
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import State
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.web.scope import ScopeRules, may_be_html
from minicrawl.web.urls import ResolvedUrl

NO_ENDINGS: frozenset[str] = frozenset()


class ScopeGate:
    """The user's scope and limits."""

    def __init__(self, scope: config.Scope, seeds: Iterable[str]) -> None:
        self._scope = scope
        self._rules = self._rules_for(seeds)
        self._wider = self._rules_for(())
        self._led_to: list[str] = []
        self._max_depth = scope.max_depth
        self._per_host = scope.per_host_pages

    def refusal(self, url: str, depth: int, pages_of_host: int) -> State | None:
        """Why not, or None."""
        if not may_be_html(url):
            return State.TYPE
        if not self._rules.allows(url) and not self._wider.allows(url):
            return State.SCOPE
        if self._max_depth is not None and depth > self._max_depth:
            return State.DEPTH
        if self._per_host is not None and pages_of_host >= self._per_host:
            return State.HOST_BUDGET
        return None

    def refusal_of_file(self, url: str, depth: int) -> State | None:
        """Why a file that is no page, such as a sitemap, is not asked for."""
        reaches = (replace(rules, not_html=NO_ENDINGS) for rules in (self._rules, self._wider))
        if not any(rules.allows(url) for rules in reaches):
            return State.SCOPE
        return State.DEPTH if self._max_depth is not None and depth > self._max_depth else None

    def widen(self, url: str) -> None:
        """A seed redirects here: the user who named the seed meant this page, whatever its host."""
        if not self._rules.allows(url) and not self._wider.allows(url):
            self._led_to.append(url)
            self._wider = self._rules_for(self._led_to)

    def _rules_for(self, seeds: Iterable[str]) -> ScopeRules:
        scope = self._scope
        return ScopeRules.of(scope.scope, seeds, allow=scope.allow, deny=scope.deny)


_AT_ONCE = 50_000
_FIRST = "first_seeds"  # how many shared the endowment


async def plant(
    recorder: Recorder,
    seeds: Iterable[ResolvedUrl],
    endowment: int,
    tell: Listener = nobody_listens,
) -> int:
    """Make the seeds known and endow them. Returns how many of them were no seeds before."""
    before = recorder.seeds.ids()
    named = await _introduce(recorder, iter(seeds), tell)
    new = sorted(named - before)
    if new:
        units = share_of_endowment(recorder, endowment, len(new), is_first=not before)
        recorder.apply_step(Step(StepKind.ENDOWED, spending=Spending(new), amount=units))
        await recorder.committer.commit()
    for page in before | named:
        recorder.frontier.urls.depth[page] = 0
    return len(new)


def share_of_endowment(recorder: Recorder, endowment: int, new: int, *, is_first: bool) -> int:
    """The units for so many new seeds together."""
    if is_first:
        recorder.counters.add(_FIRST, new)
    return -(-endowment * new // int(recorder.counters.number(_FIRST)))


def gate_for(recorder: Recorder, scope: Scope) -> ScopeGate:
    """The scope: that of the seeds, and of the pages that they have redirected to so far."""
    gate = ScopeGate(scope, recorder.seeds.urls())
    for url in recorder.seeds.redirect_targets():
        gate.widen(url)
    return gate


async def _introduce(recorder: Recorder, seeds: Iterator[ResolvedUrl], tell: Listener) -> set[int]:
    pages: set[int] = set()
    while block := dict(islice(seeds, _AT_ONCE)):
        originals = tuple([(url, original) for url, original in block.items() if original])
        meeting = recorder.meet(list(block), 0, originals)
        pages.update(meeting.pages)
        if meeting.urls:
            recorder.apply_step(Step(StepKind.BORN, born=len(meeting.urls)))
        await recorder.committer.commit()
        if len(block) == _AT_ONCE:
            tell(Noted(text=f"{len(pages):,} seeds so far"))
    return pages

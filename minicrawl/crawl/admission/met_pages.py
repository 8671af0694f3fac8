"""Refuses pages when a link to them is met: they never wait in the queue.

Most links of a page that is read lead to pages that nobody will request, because they are out of
the scope or too far. All of these that one page made known are refused by one step for each reason.

Laws: a page is refused here only for a reason that would close it in its turn, too. Seeds, pages
that seeds redirect to, and pages of hosts with sitemaps to read are judged in their turns. A page
waits again when a shorter path to it is found, or when the scope becomes wider.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf

from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import SkipReason
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.ports import Clock
from minicrawl.states import State
from minicrawl.store.records import NOT_ASKED, FetchRow
from minicrawl.web.robots.rules import ALLOW_ALL


@dataclass(slots=True)
class MetPages:
    """Judges pages that have just become known; `depths` limits their distances, if given."""

    recorder: Recorder
    clock: Clock
    gate: ScopeGate
    hosts: HostTable
    depths: DepthTracker | None
    onboarding: HostOnboarding

    def refuse(self, new: Sequence[PageId]) -> None:
        """Refuse those of the new pages that would be closed without a request."""
        refused = defaultdict[State, list[int]](list)
        judge, reaches = cache(self._judge), cache(self._reaches)
        farthest = inf if self.depths is None else self.depths.limit
        depth, host_of = self.recorder.frontier.urls.depth, self.recorder.frontier.urls.host_of
        for page in new:
            links = depth[page]  # between a seed and the page
            if not links:
                continue
            if not reaches(host_of[page]):
                refused[State.SCOPE].append(page)
            elif links > farthest:
                refused[State.DEPTH].append(page)
            elif (reason := judge(host_of[page])(page)) is not None:
                refused[reason.state].append(page)
                if reason.detail:
                    today = self.clock.today()
                    row = FetchRow(page, today, NOT_ASKED, None, 0, 0.0, reason.detail)
                    self.recorder.record(row)
        for state, pages in refused.items():
            self.recorder.apply_step(Step(StepKind.REFUSE, spending=Spending(pages)), state)

    def _reaches(self, host_id: int) -> bool:
        return self.gate.reaches(self.recorder.frontier.urls.origins[host_id])

    def _judge(self, host_id: int) -> Callable[[PageId], SkipReason | None]:
        """Return the function that judges new pages of this host, which are near enough."""
        gate, robots, url_of = self.gate, self.onboarding.robots, self.recorder.pages.url_of
        has_sitemaps = host_id in self.onboarding.sitemaps.named
        trouble, pages, rules = None, 0, None
        if (host := self.hosts.get(host_id)) is not None:
            trouble, pages = host.trouble_at(self.clock.now()), host.pages
            rules = robots.known(host)
        may_forbid = rules not in (None, ALLOW_ALL)

        def refusal(page: PageId) -> SkipReason | None:
            if has_sitemaps:  # a page has to lead to those that wait
                return None
            url = url_of(page)
            state = gate.refusal(url, 0, pages, is_within=gate.takes_whole_hosts) or trouble
            if state is not None:
                return SkipReason(state)
            return None if host is None or not may_forbid else robots.refusal(host, url)

        return refusal

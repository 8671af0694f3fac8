"""Refuses pages when a link to them is met: they never wait in the queue.

Most links of a page that is read lead to pages that nobody will request, because they are out of
the scope or too far. All of these that one page made known are refused by one step for each reason.

Laws: a page is refused here only for a reason that would close it in its turn, too. Seeds, pages
that seeds redirect to, and pages of hosts with sitemaps to read are judged in their turns. A page
waits again when a shorter path to it is found, or when the scope becomes wider.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import SkipReason
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.states import State
from minicrawl.store.records import NOT_ASKED, FetchRow


@dataclass(slots=True)
class MetPages:
    """Judges pages that have just become known; `depths` limits their distances, if given."""

    recorder: Recorder
    gate: ScopeGate
    depths: DepthTracker | None
    onboarding: HostOnboarding

    def refuse(self, new: Sequence[PageId]) -> None:
        """Refuse those of the new pages that would be closed without a request."""
        refused, reached = defaultdict[State, list[int]](list), dict[int, bool]()
        urls, clock = self.recorder.frontier.urls, self.onboarding.requests.clock
        depth, host_of, origins = urls.depth, urls.host_of, urls.origins
        now, depths, sitemaps = clock.now(), self.depths, self.onboarding.sitemaps.named
        for page in new:
            if not depth[page]:
                continue
            host_id = host_of[page]
            if host_id not in reached:
                reached[host_id] = self.gate.reaches(origins[host_id])
            # The first two reasons are those of most pages, and do not need the URL.
            if not reached[host_id]:
                refused[State.SCOPE].append(page)
            elif depths is not None and depths.is_too_far(page):
                refused[State.DEPTH].append(page)
            elif host_id in sitemaps:  # a page has to lead to those that wait
                continue
            elif (reason := self._refusal(page, host_id, now)) is not None:
                refused[reason.state].append(page)
                if reason.detail:
                    today = clock.today()
                    row = FetchRow(page, today, NOT_ASKED, None, 0, 0.0, reason.detail)
                    self.recorder.record(row)
        for state, pages in refused.items():
            self.recorder.apply_step(Step(StepKind.REFUSE, spending=Spending(pages)), state)

    def _refusal(self, page: PageId, host_id: int, now: float) -> SkipReason | None:
        url, host = self.recorder.pages.url_of(page), self.onboarding.requests.hosts.get(host_id)
        state, robots = self.gate.refusal(url, 0, host.pages if host else 0), self.onboarding.robots
        if state is None and host is not None:
            state = host.trouble_at(now)
            if state is None and robots.known(host) is not None:
                return robots.refusal(host, url)
        return None if state is None else SkipReason(state)

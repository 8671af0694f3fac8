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
from typing import NamedTuple

from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import SkipReason
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.states import State
from minicrawl.store.records import NOT_ASKED, FetchRow


class _MetHost(NamedTuple):
    """A host of new pages, as far as it decides about all of them."""

    host: Host | None
    is_reached: bool
    has_sitemaps: bool
    trouble: State | None
    has_rules: bool


@dataclass(slots=True)
class MetPages:
    """Judges pages that have just become known; `depths` limits their distances, if given."""

    recorder: Recorder
    gate: ScopeGate
    depths: DepthTracker | None
    onboarding: HostOnboarding

    def refuse(self, new: Sequence[PageId]) -> None:
        """Refuse those of the new pages that would be closed without a request."""
        refused, hosts = defaultdict[State, list[int]](list), dict[int, _MetHost]()
        depth, host_of = self.recorder.frontier.urls.depth, self.recorder.frontier.urls.host_of
        for page in new:
            if not depth[page]:
                continue
            host_id = host_of[page]
            if (met := hosts.get(host_id)) is None:
                met = hosts[host_id] = self._met(host_id)
            # The first two reasons are those of most pages, and do not need the URL.
            if not met.is_reached:
                refused[State.SCOPE].append(page)
            elif self.depths is not None and self.depths.is_too_far(page):
                refused[State.DEPTH].append(page)
            elif met.has_sitemaps:  # a page has to lead to those that wait
                continue
            elif (reason := self._refusal(page, met)) is not None:
                refused[reason.state].append(page)
                if reason.detail:
                    today = self.onboarding.requests.clock.today()
                    row = FetchRow(page, today, NOT_ASKED, None, 0, 0.0, reason.detail)
                    self.recorder.record(row)
        for state, pages in refused.items():
            self.recorder.apply_step(Step(StepKind.REFUSE, spending=Spending(pages)), state)

    def _met(self, host_id: int) -> _MetHost:
        requests, origin = self.onboarding.requests, self.recorder.frontier.urls.origins[host_id]
        host = requests.hosts.get(host_id)
        return _MetHost(
            host,
            self.gate.reaches(origin),
            host_id in self.onboarding.sitemaps.named,
            None if host is None else host.trouble_at(requests.clock.now()),
            host is not None and self.onboarding.robots.known(host) is not None,
        )

    def _refusal(self, page: PageId, met: _MetHost) -> SkipReason | None:
        url, host = self.recorder.pages.url_of(page), met.host
        pages, is_within = 0 if host is None else host.pages, self.gate.takes_whole_hosts
        state = self.gate.refusal(url, 0, pages, is_within=is_within) or met.trouble
        if state is None and host is not None and met.has_rules:
            return self.onboarding.robots.refusal(host, url)
        return None if state is None else SkipReason(state)

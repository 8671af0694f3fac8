"""Refuses pages when a link to them is met: they never wait in the queue.

Most links of a page that is read lead to pages that nobody will request, because they are out of
the scope or too far. All of these that one page made known are refused by one step for each reason.

Laws: a page is refused here only for a reason that would close it in its turn, too. Seeds, pages
that seeds redirect to, and pages of hosts with sitemaps to read are judged in their turns. A page
waits again when a shorter path to it is found, or when the scope becomes wider.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

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


class MetPages:
    """Judges pages that have just become known."""

    def __init__(
        self,
        recorder: Recorder,
        gate: ScopeGate,
        depths: DepthTracker | None,
        hosts: HostTable,
        onboarding: HostOnboarding,
        clock: Clock,
    ) -> None:
        """Set up; `depths` limits the distances of pages, if given."""
        self._recorder, self._gate, self._depths = recorder, gate, depths
        self._urls, self._url_of = recorder.frontier.urls, recorder.pages.url_of
        self._hosts, self._onboarding, self._clock = hosts, onboarding, clock

    def refuse(self, new: Sequence[PageId]) -> None:
        """Refuse those of the new pages that would be closed without a request."""
        refused, reached = defaultdict[State, list[int]](list), dict[int, bool]()
        depth, host_of, origins = self._urls.depth, self._urls.host_of, self._urls.origins
        now, depths = self._clock.now(), self._depths
        sitemaps = self._onboarding.sitemaps.named
        for page in new:
            if not depth[page]:
                continue
            host = host_of[page]
            if host not in reached:
                reached[host] = self._gate.reaches(origins[host])
            # The first two reasons are those of most pages, and do not need the URL.
            if not reached[host]:
                refused[State.SCOPE].append(page)
            elif depths is not None and depths.is_too_far(page):
                refused[State.DEPTH].append(page)
            elif host in sitemaps:  # a page has to lead to those that wait
                continue
            elif (reason := self._refusal(page, host, now)) is not None:
                refused[reason.state].append(page)
                if reason.detail:
                    today = self._clock.today()
                    row = FetchRow(page, today, NOT_ASKED, None, 0, 0.0, reason.detail)
                    self._recorder.record(row)
        for state, pages in refused.items():
            self._recorder.apply_step(Step(StepKind.REFUSE, spending=Spending(pages)), state)

    def _refusal(self, page: PageId, host_id: int, now: float) -> SkipReason | None:
        url, known = self._url_of(page), self._hosts.get(host_id)
        state = self._gate.refusal(url, 0, 0 if known is None else known.pages)
        if state is None and known is not None:
            state = known.trouble_at(now)
            if state is None and self._onboarding.robots.known(known) is not None:
                return self._onboarding.robots.refusal(known, url)
        return None if state is None else SkipReason(state)

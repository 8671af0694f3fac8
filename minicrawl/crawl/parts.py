"""The parts that the turns of a crawl share: wired here, and loaded with what earlier runs left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicrawl.config import Settings
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hooks import Hooks
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import hosts_of
from minicrawl.crawl.hosts.request_slots import RequestSlots
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.schedule.depth import DepthTracker, DistanceTracker
from minicrawl.crawl.schedule.leases import LeaseScheduler
from minicrawl.crawl.schedule.off_focus import OffFocusTracker
from minicrawl.crawl.schedule.orders import without_effect
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.crawl.settle.posting import Newborns, ReplayScheduler, StepPoster
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.settle.settler import Settler
from minicrawl.crawl.start.resume import reopen
from minicrawl.crawl.traps.detector import TrapDetector
from minicrawl.crawl.turns.turn import SuspendedTurns
from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT
from minicrawl.ports import Clock, WebAccess

if TYPE_CHECKING:
    from minicrawl.crawl.rendering.renderer import PageRenderer
    from minicrawl.crawl.shard.together import ShardCrawl


@dataclass(slots=True, kw_only=True)
class CrawlContext:
    """What a crawl is given from outside. Of the settings some may change while it runs."""

    settings: Settings
    recorder: Recorder
    web_access: WebAccess
    gate: ScopeGate
    clock: Clock
    tell: Listener
    wake: Callable[[], None]
    """To be called when something has happened that may let another page have its turn."""
    hooks: Hooks = field(default_factory=Hooks)
    renderer: PageRenderer | None = None  # if pages are rendered
    shard: ShardCrawl | None = None  # if the crawl has several


class CrawlParts:
    """What a crawl is made of."""

    def __init__(self, context: CrawlContext) -> None:
        settings, recorder, clock = context.settings, context.recorder, context.clock
        frontier = recorder.frontier
        endowment = float(settings.order.endowment * UNIT)
        self.trackers = tuple(_trackers(settings, recorder))
        self.leases = LeaseScheduler(
            settings, recorder, clock, lambda: self.traps.importance_of_sites(endowment)
        )
        shards = 1 if recorder.shard is None else recorder.shard.parts_of_pace
        origins = frontier.urls.origins
        self.hosts = hosts_of(settings, origins, self.leases.resume, clock, shards)
        self.side_requests = SideRequests(self.hosts, clock, context.wake)
        self.slots = RequestSlots(
            settings.politeness,
            lambda host: self.hosts.resume_when_ready(host, clock.now()),
            lambda: self.side_requests.idle,
            lambda: self.side_requests.waiting_to_be_read,
        )
        self.onboarding = HostOnboarding(
            settings, recorder, context.web_access, context.gate, self.side_requests
        )
        self.replays = ReplayScheduler(frontier, settings.order.replay)
        self.traps = TrapDetector(settings.traps, recorder, context.gate)
        order = settings.order
        newborns = None if order.newborn == "unit" else Newborns(frontier.urls.host_of)
        saw = self._saw if self.leases.reads_again else self.replays.saw
        poster = StepPoster(recorder, self.leases.queue, self.trackers, saw, newborns)
        self.settler = Settler(settings, recorder, poster, context.gate, self.traps)
        self.suspended = SuspendedTurns()

    def _saw(self, plans: list[Plan]) -> None:
        self.replays.saw(plans)
        self.leases.refresh.posted(plans)

    def restore(self, context: CrawlContext) -> None:
        """Load what earlier runs left: which pages wait, which wait again, what was read."""
        recorder = context.recorder
        for line in reopen(
            recorder, context.gate, self.trackers, context.settings, context.clock.today()
        ):
            context.tell(Noted(text=line))
        if note := without_effect(context.settings, len(recorder.frontier.urls.origins)):
            context.tell(Noted(text=note))
        recorder.agree_on_terms(context.settings.order)
        self.settler.poster.restore(recorder.frontier)
        self.leases.restore()
        for pages, contents in recorder.pages.contents():
            self.settler.load_contents(pages, contents)
            pages_by_host = list(recorder.hosts.of_pages(pages))
            self.traps.restore(pages_by_host)
            for host, count in pages_by_host:
                self.hosts[host].pages += count
                if recorder.shard is not None:
                    self.hosts.spare(host, recorder.shard.began)
        self.settler.finish_loading()


def _trackers(settings: Settings, recorder: Recorder) -> Iterator[DistanceTracker]:
    """How far the crawl may go, where the user limits that."""
    scope = settings.scope
    if scope.max_depth is not None:
        yield DepthTracker(recorder.frontier, scope.max_depth)
    if scope.focus_only is not None:
        yield OffFocusTracker(recorder, scope.focus_only, settings.order)

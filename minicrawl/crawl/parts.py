"""Parts that the turns of a crawl share, wired together, and the hooks of a Python program."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicrawl.config import Settings
from minicrawl.crawl.admission.met_pages import MetPages
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import TrapDetector
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hooks import Hooks
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import hosts_of
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.hosts.slots import RequestSlots
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.leases import LeaseScheduler
from minicrawl.crawl.schedule.orders import without_effect
from minicrawl.crawl.settle.posting import ReplayScheduler, StepPoster
from minicrawl.crawl.settle.settler import Settler
from minicrawl.crawl.shards import WHOLE
from minicrawl.crawl.start.waiting_again import reopen
from minicrawl.crawl.turns.listed_pages import ListedPages
from minicrawl.crawl.turns.turn_ends import TurnEnds
from minicrawl.memory.allocator import return_free_memory
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.ports import Clock, WebAccess

if TYPE_CHECKING:
    from minicrawl.crawl.rendering.renderer import PageRenderer
    from minicrawl.crawl.shards import Exchange


@dataclass(slots=True)
class CrawlContext:
    """Environment of a crawl. Some of the settings may change while it runs."""

    settings: Settings
    recorder: Recorder
    web_access: WebAccess
    gate: ScopeGate
    clock: Clock
    emit: Listener
    wake: Callable[[], None]
    """Wakes the loop, after an event that may let another page have its turn."""
    hooks: Hooks = field(default_factory=Hooks)
    renderer: "PageRenderer | None" = None  # if pages are rendered
    exchange: "Exchange" = WHOLE  # with the other shards, if any

    def are_bytes_spent(self) -> bool:
        """Return whether the bytes of the budget are spent."""
        limit = self.settings.budget.body_bytes
        return limit is not None and self.recorder.counters.number("wire_bytes") >= limit


class CrawlParts:
    """Parts of a crawl, wired together."""

    def __init__(self, context: CrawlContext) -> None:
        settings, recorder, clock = context.settings, context.recorder, context.clock
        frontier = recorder.frontier
        endowment = float(settings.order.endowment * UNIT)
        limit = settings.scope.max_depth
        self.depths = None if limit is None else DepthTracker(frontier, limit)
        # The importance of sites is looked up later, when `traps` exists.
        self.leases = LeaseScheduler(
            settings, recorder, clock, lambda: self.traps.quotas.inbound_cash.to_sites(endowment)
        )
        origins = frontier.urls.origins
        self.hosts = hosts_of(settings, origins, self.leases.resume, clock)
        self.side_requests = SideRequests(
            settings, recorder, context.web_access, self.hosts, clock, context.wake
        )
        self.slots = RequestSlots(
            settings.politeness,
            lambda host_id: self.hosts.resume_when_ready(self.hosts[host_id], clock.now()),
            self.side_requests,
            # Without families, a host is its own.
            (lambda host: (host, host))
            if frontier.siblings is None
            else frontier.siblings.budgets.families_of,
        )
        self.onboarding = HostOnboarding(
            settings, context.web_access, context.gate, self.side_requests, context.emit
        )
        self.replays = ReplayScheduler(frontier, settings.order.replay)
        self.traps = TrapDetector(settings.traps, recorder, context.gate)
        saw = self.replays.saw if self.replays.per_fetch else None
        if self.leases.reads_again:
            saw = self._saw
        met_pages = MetPages(
            recorder, clock, context.gate, self.hosts, self.depths, self.onboarding
        )
        self.poster = StepPoster(recorder, self.leases.queue, met_pages.refuse, self.depths, saw)
        self.settler = Settler(settings, recorder, self.poster, context.gate, self.traps)
        self.ends = TurnEnds(
            settings,
            recorder,
            clock,
            context.gate,
            self.poster,
            self.settler,
            self.leases,
            self.replays,
            ListedPages(self.onboarding.sitemaps, settings.limits.max_sitemaps),
            context.emit,
        )

    def _saw(self, plans: list[Plan]) -> None:
        if self.replays.per_fetch:
            self.replays.saw(plans)
        self.leases.refresh.posted(plans)

    def restore(self, context: CrawlContext) -> None:
        """Load the state of earlier runs: waiting pages, reopened pages, and contents."""
        recorder = context.recorder
        for line in reopen(
            recorder, context.gate, self.depths, context.settings, context.clock.today()
        ):
            context.emit(Noted(text=line))
        if note := without_effect(context.settings, len(recorder.frontier.urls.origins)):
            context.emit(Noted(text=note))
        recorder.agree_on_terms(context.settings.order)
        self.leases.restore()
        for pages, contents in recorder.pages.contents():
            self.settler.load_contents(pages, contents)
            pages_by_host = list(recorder.hosts.of_pages(pages))
            self.traps.quotas.restore(pages_by_host)
            for host_id, count in pages_by_host:
                host = self.hosts[host_id]
                host.pages += count
                # Another process may have contacted it until then.
                host.delay_next(recorder.shard.others_asked_until)
        self.settler.finish_loading()
        # Loading takes more memory than the crawl needs afterwards.
        return_free_memory()

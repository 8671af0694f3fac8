"""Parts that the turns of a crawl share: wired here, and loaded with the state of earlier runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import TYPE_CHECKING

from minicrawl.config import Settings
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.pacing import RequestSlots
from minicrawl.crawl.hosts.politeness import hosts_of
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.progress import Progress
from minicrawl.crawl.schedule.leases import LeaseScheduler
from minicrawl.crawl.schedule.orders import DepthTracker, DistanceTracker, without_effect
from minicrawl.crawl.schedule.scope_gate import OffFocusTracker, ScopeGate
from minicrawl.crawl.settle.posting import ReplayScheduler, StepPoster
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.settle.settler import Settler
from minicrawl.crawl.shards import WHOLE
from minicrawl.crawl.start.resume import reopen
from minicrawl.crawl.trap_detector import TrapDetector
from minicrawl.crawl.turns.turn import SuspendedTurns
from minicrawl.model import FetchResult, ParsedPage, Response
from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT
from minicrawl.ports import Clock, WebAccess

if TYPE_CHECKING:
    from minicrawl.crawl.rendering.renderer import PageRenderer
    from minicrawl.crawl.shards import Exchange


# ================================================================ hooks
#
# Hooks of a Python program: a filter of URLs, a call for each page, a stop rule.
#
# Laws: a crawl without hooks pays one comparison with None for each. A hook that raises ends the
# crawl as `stop` does, so that nothing is lost; the first exception is raised again when the crawl
# is over.


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """A page that was just read, for `on_page`."""

    url: str
    status: int
    headers: Mapping[str, str]  # by lower-case name
    body: bytes  # decoded; may be incomplete, see `cut`
    title: str
    links: tuple[str, ...]  # distinct, in the order of the page, without nofollow
    encoding: str
    cut: str = ""  # why the body is incomplete

    @property
    def text(self) -> str:
        """The body as text, decoded with its encoding; invalid bytes are replaced."""
        return self.body.decode(self.encoding, "replace")


Accept = Callable[[str], bool]
OnPage = Callable[[PageRead], Awaitable[None] | None]
StopRule = Callable[[Progress], bool]


class Hooks:
    """Hooks of one crawl.

    `halt` is called when the stop rule applies, or when a hook has raised.
    """

    def __init__(
        self,
        accept: Accept | None = None,
        on_page: OnPage | None = None,
        stop: StopRule | None = None,
    ) -> None:
        self._accept, self._on_page, self._stop = accept, on_page, stop
        self.halt: Callable[[], None] = _nothing
        self.error: Exception | None = None

    @property
    def filters(self) -> bool:
        """True if there is a filter."""
        return self._accept is not None

    @property
    def has_rule(self) -> bool:
        """True if there is a stop rule."""
        return self._stop is not None

    @property
    def needs_bodies(self) -> bool:
        """True if `on_page` needs the bodies of pages."""
        return self._on_page is not None

    def may_fetch(self, url: str) -> bool:
        """Return whether the filter lets the page be fetched; True without one."""
        if self._accept is None:
            return True
        try:
            return bool(self._accept(url))
        except Exception as error:
            self.fail(error)
            return False

    async def hand_over(self, url: str, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """Call `on_page`, if the page was read."""
        if self._on_page is None or parsed is None or not isinstance(fetched, Response):
            return
        page = PageRead(
            url=url,
            status=fetched.status,
            headers=fetched.headers,
            body=fetched.body,
            title=parsed.title,
            links=parsed.links,
            encoding=parsed.encoding,
            cut="" if fetched.cut is None else fetched.cut_detail or fetched.cut.value,
        )
        try:
            waits = self._on_page(page)
            if isawaitable(waits):
                await waits
        except Exception as error:
            self.fail(error)

    def look(self, progress: Progress | None) -> None:
        """Halt the crawl if the stop rule applies."""
        if self._stop is None or progress is None:
            return
        try:
            if self._stop(progress):
                self.halt()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Keep the exception of a hook and end the crawl."""
        self.error = self.error or error
        self.halt()


def _nothing() -> None:
    """Do nothing: there is no crawl yet."""


# ================================================================ parts


@dataclass(slots=True, kw_only=True)
class CrawlContext:
    """Environment of a crawl. Some of the settings may change while it runs."""

    settings: Settings
    recorder: Recorder
    web_access: WebAccess
    gate: ScopeGate
    clock: Clock
    tell: Listener
    wake: Callable[[], None]
    """To be called after an event that may let another page have its turn."""
    hooks: Hooks = field(default_factory=Hooks)
    renderer: PageRenderer | None = None  # if pages are rendered
    exchange: Exchange = WHOLE  # with the other shards, if any


class CrawlParts:
    """The parts of a crawl."""

    def __init__(self, context: CrawlContext) -> None:
        settings, recorder, clock = context.settings, context.recorder, context.clock
        frontier = recorder.frontier
        endowment = float(settings.order.endowment * UNIT)
        self.trackers = tuple(_trackers(settings, recorder))
        self.leases = LeaseScheduler(
            settings, recorder, clock, lambda: self.traps.importance_of_sites(endowment)
        )
        shards = recorder.shard.parts_of_pace
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
        saw = self._saw if self.leases.reads_again else self.replays.saw
        poster = StepPoster(recorder, self.leases.queue, self.trackers, saw)
        self.settler = Settler(settings, recorder, poster, context.gate, self.traps)
        self.suspended = SuspendedTurns()

    def _saw(self, plans: list[Plan]) -> None:
        self.replays.saw(plans)
        self.leases.refresh.posted(plans)

    def restore(self, context: CrawlContext) -> None:
        """Load the state of earlier runs: waiting pages, reopened pages, and contents."""
        recorder = context.recorder
        for line in reopen(
            recorder, context.gate, self.trackers, context.settings, context.clock.today()
        ):
            context.tell(Noted(text=line))
        if note := without_effect(context.settings, len(recorder.frontier.urls.origins)):
            context.tell(Noted(text=note))
        recorder.agree_on_terms(context.settings.order)
        self.leases.restore()
        for pages, contents in recorder.pages.contents():
            self.settler.load_contents(pages, contents)
            pages_by_host = list(recorder.hosts.of_pages(pages))
            self.traps.restore(pages_by_host)
            for host, count in pages_by_host:
                self.hosts[host].pages += count
                self.hosts.spare(host, recorder.shard.others_asked_until)
        self.settler.finish_loading()


def _trackers(settings: Settings, recorder: Recorder) -> Iterator[DistanceTracker]:
    """Yield the trackers of the distances that the user limits."""
    scope = settings.scope
    if scope.max_depth is not None:
        yield DepthTracker(recorder.frontier, scope.max_depth)
    if scope.focus_only is not None:
        yield OffFocusTracker(recorder, scope.focus_only, settings.order)

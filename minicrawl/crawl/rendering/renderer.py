"""Renders pages between parse and settle, and replaces them by the results.

Laws: a page that need not or cannot be rendered passes unchanged. A page whose browser ends fails
once; the second time it is used as it was fetched. While a page waits for a browser, no page of
its host is requested, and the bytes of waiting pages are bounded; requests of a page that is
being rendered are not affected.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext
from functools import partial

from minicrawl.config.values.kinds import AUTO
from minicrawl.crawl.admission.novelty import NoveltyTracker
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.slots import RequestSlots
from minicrawl.crawl.parts import CrawlContext
from minicrawl.crawl.progress import RenderingProgress
from minicrawl.crawl.rendering.page_resources import PageResources
from minicrawl.crawl.rendering.pool import RenderPool
from minicrawl.crawl.rendering.render_messages import NotRendered, PageToRender, Rendered
from minicrawl.crawl.turns.turn import Turn
from minicrawl.model import (
    NO_SCRIPTS,
    Failed,
    FetchResult,
    KeptAnswer,
    ParsedPage,
    Request,
    Response,
    Scripting,
    ScriptKind,
)
from minicrawl.states import State
from minicrawl.store.records import NOT_RENDERED

MOST_WAITING = 16_000_000
"""Bytes of pages that may wait for a browser without delaying others."""
RENDERED = "rendered"
"""Counter of pages that a browser has rendered."""
_MOST_SUSPECTS = 10_000
TRIES = {ScriptKind.NONE: 1, ScriptKind.SHELL: 3, ScriptKind.SOME: 2}
"""Number of renderings of a template before it is judged."""
WORTH = 0.2
"""Least share of a template's pages that must gain."""
HOST_TRIES = 12
"""Number of renderings of a host without any gain before it is given up."""
_MOST_KNOWN = 20_000

Read = tuple[FetchResult, ParsedPage | None]


class RenderPolicy:
    """Learns host by host, and template by template, whether pages gain links by rendering, for
    `--render auto`.

    Laws: a page without scripts is not rendered. A template without gain in a few tries is not
    rendered again, and neither is a host whose pages never gained anything. The table is bounded:
    what it drops is learned again. For an archive that is to be replayed, a template with any
    scripts is rendered, as what they fetch would be missing, unless it fetched nothing in its first
    tries.

    template   pages of a host with the same scripts
    gain       link that the page does not have without its scripts, or a redirect
    """

    def __init__(self, *, is_for_replay: bool = False) -> None:
        self._is_for_replay = is_for_replay
        self._known = OrderedDict[tuple[str, int], tuple[int, int]]()
        """Number of pages rendered, and of those that gained."""

    def is_worth(self, host: str, scripting: Scripting) -> bool:
        rendered, gained = self._known.get((host, scripting.signature), (0, 0))
        is_untried = rendered < TRIES[scripting.kind]
        if self._is_for_replay:
            return scripting.signature != 0 and (is_untried or gained > 0)
        of_host, gained_of_host = self._known.get((host, 0), (0, 0))
        if scripting.kind is ScriptKind.NONE or (of_host >= HOST_TRIES and not gained_of_host):
            return False
        return is_untried or gained >= WORTH * rendered

    def learn(self, host: str, scripting: Scripting, *, has_gained: bool) -> None:
        for key in {(host, 0), (host, scripting.signature)}:
            rendered, gained = self._known.pop(key, (0, 0))
            self._known[key] = rendered + 1, gained + has_gained
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


def has_gained(before: ParsedPage, after: ParsedPage) -> bool:
    """Return whether rendering brought a new link or redirect."""
    if after.refresh is not None and after.refresh != before.refresh:
        return True
    return not set(after.links) <= set(before.links)


class PageRenderer:
    """Renders the pages of one crawl."""

    def __init__(
        self,
        context: CrawlContext,
        onboarding: HostOnboarding,
        slots: RequestSlots,
        novelty: NoveltyTracker,
        pool: RenderPool,
    ) -> None:
        self._context, self._slots, self._novelty = context, slots, novelty
        self._requests = onboarding.requests
        self._resources = PageResources(
            context.settings,
            context.recorder,
            onboarding,
            context.clock,
            context.are_bytes_spent,
        )
        self._is_for_replay = context.settings.storing.is_for_replay
        self.pool, self._policy = pool, RenderPolicy(is_for_replay=self._is_for_replay)
        self._suspects = OrderedDict[str, None]()
        self._waiting = self._waiting_bytes = 0

    def progress(self) -> RenderingProgress:
        slots, today = self.pool.slots, self._context.clock.today()
        busy = [slot.activity.last for slot in slots if slot.activity.under_way]
        return RenderingProgress(
            browsers=len(slots),
            rendered=int(self._context.recorder.counters.number(RENDERED)),
            waiting=self._waiting,
            pages=tuple((url, max(today - since, 0.0)) for url, since in busy),
        )

    async def rendered(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> Read:
        """Return the page after its scripts have run, or unchanged if it needs no rendering."""
        name = turn.host.shared.name
        if not isinstance(fetched, Response) or parsed is None:
            return fetched, parsed
        if not fetched.body or fetched.broke_off:
            return fetched, parsed
        if not self._is_worth(name, parsed):
            return fetched, parsed._replace(scripting=None)
        async with AsyncExitStack() as held:
            with self._set_aside(turn.host, len(fetched.body)):
                browser = await held.enter_async_context(self.pool.free_for(name))
            # Asked again, since the wait may have been long and other pages of the host were
            # rendered meanwhile.
            if not self._is_worth(name, parsed):
                return fetched, parsed._replace(scripting=None)
            request = Request(
                url=turn.lease.url,
                request_url=turn.request_url,
                suspicious=self._novelty.suspicious(turn.host.id),
                dictionary=self._context.recorder.dictionary,
            )
            page = PageToRender(request, fetched._replace(record=b""))
            result = await browser.render(page, partial(self._resources.answer, turn.lease.url))
        self.pool.charge(name, result.cost_s)
        self._context.recorder.counters.add(RENDERED)
        if isinstance(result, NotRendered):
            return self._not_rendered(turn.lease.url, name, fetched, parsed, result)
        for picture, record in result.pictures:
            drawn = KeptAnswer(record, self._context.clock.today(), picture)
            self._context.recorder.keep(None, drawn)
        return self._taken(name, fetched, parsed, result)

    def _is_worth(self, host: str, parsed: ParsedPage) -> bool:
        if parsed.refresh is not None:
            return False
        if (render := self._context.settings.render_of(host)) != AUTO:
            return render != "never"
        return self._policy.is_worth(host, parsed.scripting or NO_SCRIPTS)

    def _taken(self, host: str, fetched: Response, before: ParsedPage, result: Rendered) -> Read:
        scripting, after = before.scripting or NO_SCRIPTS, result.parsed._replace(scripting=None)
        is_gain = has_gained(before, after) or (self._is_for_replay and result.fetches)
        self._policy.learn(host, scripting, has_gained=is_gain)
        if before.links and not after.links and after.refresh is None:
            # The scripts removed all links: probably one of their requests failed.
            return fetched, before._replace(scripting=None)
        fetched = fetched._replace(body=result.body)
        if self._context.settings.storing.keep == "text":
            return fetched._replace(record=result.record or fetched.record), after
        return fetched._replace(rendered=result.record), after

    def _not_rendered(
        self, url: str, host: str, fetched: Response, parsed: ParsedPage, result: NotRendered
    ) -> Read:
        """Fail the page, if another try may help; otherwise use it without its scripts."""
        # Only once: a page that crashes every browser would otherwise be tried until its retries
        # end, at the cost of a browser each time.
        if result.may_pass and url not in self._suspects:
            self._suspects[url] = None
            while len(self._suspects) > _MOST_SUSPECTS:
                self._suspects.popitem(last=False)
            detail = f"{NOT_RENDERED}{result.why}"
            return Failed(kind=State.LOST, detail=detail, status=fetched.status), None
        self._policy.learn(host, parsed.scripting or NO_SCRIPTS, has_gained=False)
        return fetched, parsed._replace(cut=f"{NOT_RENDERED}{result.why}")

    @contextmanager
    def _set_aside(self, host: Host, size: int) -> Iterator[None]:
        """Pause the host. Other hosts go on while the waiting pages stay below `MOST_WAITING`."""
        host.shared.to_render += 1
        self._waiting += 1
        self._waiting_bytes += size
        has_room = self._waiting_bytes <= MOST_WAITING
        try:
            with self._requests.reading() if has_room else nullcontext():
                yield
        finally:
            self._waiting -= 1
            self._waiting_bytes -= size
            host.shared.to_render -= 1
            self._requests.hosts.resume_name(host.shared, self._context.clock.now())
            self._slots.resume_one()

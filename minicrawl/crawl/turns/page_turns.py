"""The turn of a page, from its lease until it ends: request, parse, render, hand over.

Laws: whatever happens, the slot of a request is given back before its response is parsed, and the
lease when the turn ends or is suspended (`turn_ends`). Large pages wait for one another (see
`LargePages`). The cost of a page is charged to its host.
"""

from collections.abc import Coroutine

from minicrawl.crawl.admission.traps import TrapDetector
from minicrawl.crawl.events import Asked, Warned
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.slots import RequestSlots, Standing
from minicrawl.crawl.parts import CrawlContext
from minicrawl.crawl.schedule.leases import LeaseScheduler
from minicrawl.crawl.turns.large_pages import LargePages
from minicrawl.crawl.turns.turn import Turn
from minicrawl.crawl.turns.turn_ends import TurnEnds
from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.crawl.workers.scoring import page_read
from minicrawl.model import Failed, FetchResult, OwnRequest, ParsedPage, Refused, Request, Response
from minicrawl.opic.ledger.money import UNIT
from minicrawl.ports import Timed, Visit
from minicrawl.states import State
from minicrawl.web.responses.types import FROM_SEEDS, types_of
from minicrawl.web.sitemaps.sitemap import Sitemap

_PLAIN = OwnRequest(method="")
_GAVE_PLACE = Failed(
    kind=State.INTERRUPTED, detail="cancelled to free a slot for a responsive host"
)


class PageTurns:
    def __init__(
        self,
        context: CrawlContext,
        onboarding: HostOnboarding,
        slots: RequestSlots,
        leases: LeaseScheduler,
        traps: TrapDetector,
        ends: TurnEnds,
    ) -> None:
        """Set up; the settings, hooks and renderer of the `context` may change."""
        self._context, self._recorder, self._clock = context, context.recorder, context.clock
        self._hosts, self._slots, self._leases = onboarding.requests.hosts, slots, leases
        self._back_off, self._traps, self._ends = onboarding.robots.back_off, traps, ends
        self._large_pages = LargePages(self._recorder.frontier.urls, slots, onboarding.requests)
        self._before_parsing = LoopRounds()
        self._types = types_of(context.settings.scope.types)
        self._file_bytes = context.settings.file_bytes
        self.under_way = 0
        self._unscored = 0

    def begin(self, turn: Turn, now: float, standing: Standing) -> Coroutine[None, None, None]:
        host, lease = turn.host, turn.lease
        self.under_way += 1
        host.credit -= 1
        if not lease.again:
            host.pages += 1
            self._traps.quotas.spend(host.id)
        if self._leases.reads_again:
            self._leases.grant(lease)
        turn.slot = self._slots.take(now, host.id, standing)
        self._hosts.begin(host, now)
        return self._run(turn)

    async def _run(self, turn: Turn) -> None:
        fetched: FetchResult | None = None
        cash = self._recorder.frontier.ledger.cash(turn.page) / UNIT
        self._context.emit(Asked(url=turn.lease.url, cash=cash))
        try:
            visit = await self._request(turn)
            turn.crawler = visit.crawler
            parsed = visit.parsed
            if parsed is None and visit.read is not None:
                await self._before_parsing.turn()
                parsed = None if visit.quickly is None else await visit.quickly()
                if parsed is None:
                    async with self._large_pages.parsing(turn):
                        parsed = await visit.read()
            fetched, turn.parsed = parsed_visit(turn, visit, parsed)
            del visit, parsed  # free their memory: the content is in the turn by now, or on disk
            if (renderer := self._context.renderer) is not None:
                plain = turn.parsed
                fetched, turn.parsed = await renderer.rendered(turn, fetched, turn.parsed)
                if turn.parsed is not None and plain is not None:
                    turn.parsed = turn.parsed._replace(value=plain.value, unscored=plain.unscored)
            hooks, page = self._context.hooks, turn.parsed
            if page is not None and (hooks.scorer is not None or page.unscored):
                turn.parsed = await self._valued(turn, fetched, page)
            if hooks.on_page is not None:
                fetched, turn.parsed = await self._handed_over(turn, fetched, turn.parsed)
            del page
            if turn.parsed is not None and self._large_pages.waits(turn.parsed.links):
                async with self._large_pages.settling(turn):
                    await self._ends.end(turn, fetched, turn.parsed)
            else:
                await self._ends.end(turn, fetched, turn.parsed)
            if isinstance(fetched, Refused) and fetched.payload:  # so that few such files are open
                await self._recorder.committer.written()
        finally:
            self._hosts.charge(turn.host, turn.cost_s, self._clock.now())
            # Pages count towards the limit of their host from `begin` on, so that parallel requests
            # do not exceed it. A page that was not read gives its place back.
            if not isinstance(fetched, Response):
                turn.host.pages -= not turn.lease.again
            self.under_way -= 1

    async def _request(self, turn: Turn) -> Visit:
        """Request the page, with validators if it was read before."""
        page, host, recorder = turn.page, turn.host, self._recorder
        settings = self._context.settings
        state, known = State(recorder.frontier.state[page]), None
        if turn.lease.again and settings.storing.links and state.was_read:
            known = recorder.pages.document(page)
        is_seed = not recorder.frontier.urls.depth[page]
        own = turn.own or _PLAIN
        request = Request(
            url=turn.lease.url,
            max_bytes=settings.network.max_body_bytes,
            etag=None if known is None else known.etag,
            last_modified=None if known is None else known.last_modified,
            request_url=turn.request_url,
            suspicious=self._traps.novelty.suspicious(host.id),
            dictionary=recorder.dictionary,
            types=self._types | FROM_SEEDS if is_seed else self._types,
            keeps_failures=settings.storing.keeps_failures,
            file_bytes=self._file_bytes,
            method=own.method,
            headers=own.headers,
            body=own.body,
        )
        assert turn.slot is not None
        visit = Visit(_GAVE_PLACE)
        try:
            with self._slots.held(turn.slot, host.fall_silent):
                visit = await self._context.web_access.visit(request)
                self._hosts.hear(host, visit.fetched, self._clock.now())
                if not self._back_off.strike(host, visit.fetched):
                    host.recover()
        finally:
            host.end_page(visit.fetched)
            self._hosts.end(host, self._clock.now())
        return visit

    async def _handed_over(
        self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None
    ) -> tuple[FetchResult, ParsedPage | None]:
        """Hand the page to `on_page`. If that fails for good, the page is requested again later."""
        if parsed is None or not isinstance(fetched, Response):
            return fetched, parsed
        strip_marks = self._context.settings.storing.strip_marks
        handed = await self._context.hooks.hand_over(
            turn.lease.url, fetched, parsed, self._reading(turn), strip_marks=strip_marks
        )
        if isinstance(handed, ParsedPage):
            return fetched, handed
        turn.tries = 0  # the server has answered: its earlier failures do not count
        detail = f"on_page raised {type(handed).__name__}"
        return Failed(kind=State.INTERRUPTED, detail=detail), None

    def _reading(self, turn: Turn) -> int:
        """Return how many times the page was read before."""
        before = self._recorder.pages.document(turn.page)
        return 0 if before is None else before.checks + 1

    async def _valued(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage) -> ParsedPage:
        """Return the page with its value by the program's scorer, if any; warn if it has none."""
        scorer = self._context.hooks.scorer
        if scorer is not None and isinstance(fetched, Response):
            page = page_read(turn.lease.url, fetched, parsed, self._reading(turn))
            parsed = await scorer.scored(page, parsed)
        if parsed.unscored:
            self._unscored += 1
            if f"{self._unscored}".strip("0") == "1":  # 1, 10, 100, ...
                pages = "a page" if self._unscored == 1 else f"{self._unscored:,} pages"
                last = f"{turn.lease.url}: {parsed.unscored}"
                self._context.emit(Warned(text=f"{pages} got no value; the last is {last}"))
        return parsed


def parsed_visit(
    turn: Turn, visit: Visit, parsed: Timed[ParsedPage | Sitemap | Failed] | None
) -> tuple[FetchResult, ParsedPage | None]:
    """Return the fetch result and the parsed page, if any, and charge their cost to the turn."""
    fetched = visit.fetched
    if isinstance(fetched, Response | Refused | Failed):
        turn.cost_s += fetched.cost_s
    if parsed is None:
        return fetched, None
    result, cost_s = parsed
    turn.cost_s += cost_s
    if isinstance(result, Failed):
        return result, None
    if not isinstance(result, ParsedPage):
        return fetched, None
    if result.record and isinstance(fetched, Response):
        fetched, result = fetched._replace(record=result.record), result._replace(record=b"")
    return fetched, result

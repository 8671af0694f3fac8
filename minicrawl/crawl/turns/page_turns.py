"""The turn of a page, from its lease until its end is settled: request, parse, settle, record.

Laws: whatever happens, the slot of a request is given back before its response is parsed, and the
lease when the turn ends or is suspended. Large pages wait for one another (see `LargePages`). The
cost of a page is charged to its host.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from minicrawl.archive.packing import record_of, taken
from minicrawl.config.values.kinds import OFF
from minicrawl.crawl.events import Asked, Delayed, Settled, Warned
from minicrawl.crawl.hosts.slots import Standing
from minicrawl.crawl.settle.outcome import Retry, TurnEnd, decide_outcome, describe_outcome
from minicrawl.crawl.settle.posting import PageIntroducer, are_many
from minicrawl.crawl.turns.large_pages import LargePages
from minicrawl.crawl.turns.listed_pages import ListedPages
from minicrawl.crawl.turns.turn import Turn
from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.crawl.workers.scoring import page_read
from minicrawl.model import (
    Failed,
    FetchResult,
    KeptAnswer,
    OwnRequest,
    ParsedPage,
    Refused,
    Request,
    Response,
    Unchanged,
)
from minicrawl.opic.ledger.money import UNIT
from minicrawl.ports import Parse, Timed, Visit
from minicrawl.states import FailureKind, State
from minicrawl.store.records import FetchRow
from minicrawl.web.responses.headers import max_age_s
from minicrawl.web.responses.types import FROM_SEEDS, types_of

if TYPE_CHECKING:
    from minicrawl.crawl.parts import CrawlContext, CrawlParts
    from minicrawl.web.sitemaps.sitemap import Sitemap

_PLAIN = OwnRequest(method="")
_GAVE_PLACE = Failed(
    kind=FailureKind.INTERRUPTED, detail="cancelled to free a slot for a responsive host"
)


_MOST_NEW_LINKS = 16
"""New links of one reading that count for reading the page again."""


class PageTurns:
    """Takes pages through their turns."""

    def __init__(
        self, context: CrawlContext, parts: CrawlParts, introducer: PageIntroducer
    ) -> None:
        settings, recorder = context.settings, context.recorder
        self._context, self._settings = context, settings
        self._clock, self._tell = context.clock, context.tell
        self._recorder, self._frontier = recorder, recorder.frontier
        self._hosts, self._slots, self._leases = parts.hosts, parts.slots, parts.leases
        self._back_off, self._traps = parts.onboarding.back_off, parts.traps
        self._settler, self._suspended = parts.settler, parts.suspended
        self._replays, self._introducer = parts.replays, introducer
        self._large_pages = LargePages(context, parts)
        self._listed = ListedPages(parts.onboarding, settings.limits.max_sitemaps)
        self._gate = context.gate
        self._before_parsing, self._before_settling = LoopRounds(), LoopRounds()
        self._types = types_of(settings.scope.types)
        self._file_bytes = settings.file_bytes
        self._keeps_failures, self._keeps = settings.storing.keeps_failures, bool(recorder.keeping)
        self.under_way = 0
        self._unscored = 0

    def begin(self, turn: Turn, now: float) -> Coroutine[None, None, None]:
        """Begin the turn of a page whose host may be contacted."""
        host, lease = turn.host, turn.lease
        state = self._hosts[host]
        standing = Standing.of(state)
        self.under_way += 1
        if not lease.again:
            state.pages += 1
            self._traps.quotas.spend(host)
        if self._leases.reads_again:
            self._leases.grant(lease)
        turn.slot = self._slots.take(now, host, standing)
        self._hosts.begin(host, now)
        return self._run(turn)

    async def _run(self, turn: Turn) -> None:
        fetched: FetchResult | None = None
        url = turn.lease.url
        self._tell(Asked(url=url, cash=self._frontier.ledger.cash(turn.page) / UNIT))
        try:
            visit = await self._ask(turn)
            turn.crawler = visit.crawler
            if visit.read is None or visit.parsed is not None:
                fetched, turn.parsed = parsed_visit(turn, visit, visit.parsed)
            else:
                await self._before_parsing.turn()
                fetched, turn.parsed = await self._parsed(turn, visit, visit.read)
            del visit  # free its memory: the content is in the turn by now, or on disk
            if (renderer := self._context.renderer) is not None:
                plain = turn.parsed
                fetched, turn.parsed = await renderer.rendered(turn, fetched, turn.parsed)
                if turn.parsed is not None and plain is not None:
                    turn.parsed = turn.parsed._replace(value=plain.value, unscored=plain.unscored)
            hooks, parsed = self._context.hooks, turn.parsed
            if parsed is not None and (hooks.scorer is not None or parsed.unscored):
                turn.parsed = await self._valued(turn, fetched, parsed)
            if hooks.on_page is not None:
                fetched, turn.parsed = await self._handed_over(turn, fetched, turn.parsed)
            if turn.parsed is not None and self._large_pages.waits(turn.parsed.links):
                async with self._large_pages.settling(turn):
                    await self.end(turn, fetched, turn.parsed)
            else:
                await self.end(turn, fetched, turn.parsed)
            if isinstance(fetched, Refused) and fetched.payload:  # so that few such files are open
                await self._recorder.committer.written()
        finally:
            self._hosts.charge(turn.host, turn.cost_s, self._clock.now())
            # Pages count towards the limit of their host from `begin` on, so that parallel requests
            # do not exceed it. A page that was not read gives its place back.
            if not isinstance(fetched, Response):
                self._hosts[turn.host].pages -= not turn.lease.again
            self.under_way -= 1

    # ------------------------------------------------------------ request

    async def _ask(self, turn: Turn) -> Visit:
        """Request the page.

        Its host is free again before the page is parsed, which may take a while.
        """
        host, slot, task = turn.host, turn.slot, asyncio.current_task()
        assert slot is not None
        assert task is not None
        slot.give_up = task.cancel
        try:
            visit = await self._context.web_access.visit(self._request(turn))
        except asyncio.CancelledError:
            # `give_up` cancels the task of this turn. Only that one cancellation is taken back: if
            # the crawl has cancelled the turn as well, the turn ends.
            if not slot.was_given_up or task.uncancel():  # the whole turn is cancelled
                raise
            # The host counts as silent from now on. Otherwise it would get the next free slot, and
            # hosts that answer would wait behind it again.
            self._hosts[host].shared.answers = False
            return Visit(_GAVE_PLACE)
        else:
            self._hosts.hear(host, visit.fetched, self._clock.now())
            if not self._back_off.strike(host, visit.fetched):
                self._hosts[host].recover()
            return visit
        finally:
            self._slots.leave(slot)
            self._hosts.end(host, self._clock.now())

    def _request(self, turn: Turn) -> Request:
        """Return the request, with validators for a page that was read before."""
        page, lease, settings, recorder = turn.page, turn.lease, self._settings, self._recorder
        known = None
        if lease.again and settings.storing.links and State(self._frontier.state[page]).was_read:
            known = recorder.pages.document(page)
        is_seed = not self._frontier.urls.depth[page]
        own = turn.own or _PLAIN
        return Request(
            url=lease.url,
            max_bytes=settings.network.max_body_bytes,
            etag=None if known is None else known.etag,
            last_modified=None if known is None else known.last_modified,
            request_url=turn.request_url,
            suspicious=self._traps.novelty.suspicious(turn.host),
            dictionary=recorder.dictionary,
            types=self._types | FROM_SEEDS if is_seed else self._types,
            keeps_failures=self._keeps_failures,
            file_bytes=self._file_bytes,
            method=own.method,
            headers=own.headers,
            body=own.body,
        )

    # ------------------------------------------------------------ parse

    async def _parsed(
        self, turn: Turn, visit: Visit, read: Parse
    ) -> tuple[FetchResult, ParsedPage | None]:
        """Parse the page. Expensive pages are parsed one at a time, see `LargePages`."""
        found = None if visit.quickly is None else await visit.quickly()
        if found is None:
            async with self._large_pages.parsing(turn):
                found = await read()
        return parsed_visit(turn, visit, found)

    async def _handed_over(
        self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None
    ) -> tuple[FetchResult, ParsedPage | None]:
        """Hand the page to `on_page`. If that fails for good, the page is requested again later."""
        if parsed is None or not isinstance(fetched, Response):
            return fetched, parsed
        strip_marks = self._settings.storing.strip_marks
        handed = await self._context.hooks.hand_over(
            turn.lease.url, fetched, parsed, self._reading(turn), strip_marks=strip_marks
        )
        if isinstance(handed, ParsedPage):
            return fetched, handed
        turn.tries = 0  # the server has answered: its earlier failures do not count
        detail = f"on_page raised {type(handed).__name__}"
        return Failed(kind=FailureKind.INTERRUPTED, detail=detail), None

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
                told = f"{turn.lease.url}: {parsed.unscored}"
                self._tell(Warned(text=f"{pages} got no value; the last is {told}"))
        return parsed

    # ------------------------------------------------------------ settle

    async def end(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """Look up the links of the page and settle it, which ends its turn.

        If the page is requested again, its turn is suspended instead.
        """
        if parsed is not None:
            parsed = await self._with_known_links(turn, parsed)
        await self._before_settling.turn()
        began, today = perf_counter(), self._clock.today()
        page, settings = turn.page, self._settings
        # A request that we broke off says nothing about the page, and uses up no try.
        if not (isinstance(fetched, Failed) and fetched.kind is FailureKind.INTERRUPTED):
            turn.tries += 1
        turn.chain = self._suspended.chain_to(page)
        outcome = decide_outcome(
            turn.lease.url,
            fetched,
            parsed,
            turn.tries,
            max_tries=settings.limits.max_tries,
            strip_marks=settings.storing.strip_marks,
        )
        new_links = self._new_links(turn, parsed) if turn.lease.again else 0
        end = self._settler.settle(turn, outcome, today)
        row = self._record(turn, fetched, parsed, end, today)
        if end is None:
            self._suspend(turn, outcome.request_url if isinstance(outcome, Retry) else None, row)
        else:
            if self._leases.reads_again:
                self._leases.end(turn.lease, _fresh_s(fetched), new_links)
                if parsed is not None and parsed.changed:
                    self._leases.refresh.hear(turn.looked_up, parsed.changed)
            self._end(turn, end, row, sets_cookies=bool(fetched.cookies))
        turn.cost_s += perf_counter() - began

    def _new_links(self, turn: Turn, parsed: ParsedPage | None) -> int:
        """Return the number of links to pages that are not known yet, and are within the scope."""
        links = () if parsed is None else parsed.links
        depth = self._frontier.urls.depth[turn.page] + 1
        unknown = (link for link in links if link not in turn.looked_up)
        within = sum(self._gate.refusal(link, depth, 0) is None for link in unknown)
        # Limited, as an endless site offers new links at each reading.
        return min(within + len(turn.introduced), _MOST_NEW_LINKS)

    async def _with_known_links(self, turn: Turn, parsed: ParsedPage) -> ParsedPage:
        """Look up the links of the page. Return the page without links that it may not list.

        Very many links, and listed sitemaps, become known block by block before the turn ends.
        """
        if parsed.is_sitemap:
            parsed = self._listed.admit(turn.lease.url, parsed)
        links, depth = parsed.links, self._frontier.urls.depth[turn.page]
        if parsed.sitemaps:
            await self._introduce(turn, parsed.sitemaps, depth, parsed)
        if not are_many(links) or parsed.refresh is not None:
            turn.looked_up = await self._recorder.look_up_urls(links)
        else:
            # A link with its own request becomes known with the step, which stores that.
            own = dict(parsed.own_requests)
            await self._introduce(turn, [u for u in links if u not in own], depth + 1, parsed)
            turn.looked_up = {**turn.looked_up, **await self._recorder.look_up_urls(own)}
        return parsed

    async def _introduce(
        self, turn: Turn, links: Sequence[str], depth: int, parsed: ParsedPage
    ) -> None:
        """Make pages known before the turn ends."""
        found = await self._introducer.introduce(links, depth, parsed.originals, turn.page)
        turn.looked_up, turn.introduced = found.pages, [*turn.introduced, *found.new]
        turn.cost_s += found.cost_s

    def _suspend(self, turn: Turn, request_url: str | None, row: FetchRow) -> None:
        turn.request_url = request_url or turn.request_url
        self._suspended.suspend(turn)
        self._leases.give_back(turn.lease)
        why = f"{row.outcome} {row.detail}".rstrip()
        self._tell(Delayed(url=turn.lease.url, detail=why, crawler=turn.crawler))

    def _end(self, turn: Turn, end: TurnEnd, row: FetchRow, *, sets_cookies: bool) -> None:
        suspended, page, lease = self._suspended, turn.page, turn.lease
        suspended.end(page)
        if sets_cookies:
            suspended.cookies_came()
        if end.led_to:
            has_jar = self._settings.access.cookies != OFF
            chain = turn.chain.led_on(page, has_jar=has_jar, sets_cookies=sets_cookies)
            for target in end.led_to:
                suspended.redirected(target, chain)
        self._replays.allowed += self._replays.per_fetch
        self._tell(
            Settled(
                url=lease.url,
                state=end.state,
                detail=row.detail,
                elapsed_s=row.elapsed_s,
                crawler=turn.crawler,
                status=row.status,
            )
        )

    # ------------------------------------------------------------ record

    def _record(
        self,
        turn: Turn,
        fetched: FetchResult,
        parsed: ParsedPage | None,
        end: TurnEnd | None,
        today: float,
    ) -> FetchRow:
        """Record the request, and keep its response where responses are kept."""
        recorder, page = self._recorder, turn.page
        name, status, detail = describe_outcome(fetched, self._settings.network, parsed, end)
        wire_bytes = fetched.wire_bytes if isinstance(fetched, Response | Refused) else 0
        times = fetched.elapsed_s, detail, fetched.first_byte_s
        row = FetchRow(page, today, name, status, wire_bytes, *times)
        recorder.record_request(row, is_page=isinstance(fetched, Response | Unchanged))
        if self._keeps:
            record = record_of(turn.lease.url, fetched)
            if record is not None:
                long = fetched.payload if isinstance(fetched, Refused) else ""
                payload = taken(long) if long else None
                recorder.keep(page, KeptAnswer(record, today, turn.lease.url, payload=payload))
            if isinstance(fetched, Response) and fetched.rendered:
                recorder.keep(page, KeptAnswer(fetched.rendered, today, turn.lease.url))
        return row


def _fresh_s(fetched: FetchResult) -> float:
    """Return for how long the response says that the page will not change."""
    match fetched:
        case Response():
            return max_age_s(fetched.headers) or 0.0
        case Unchanged():
            return fetched.fresh_s or 0.0
    return 0.0


def parsed_visit(
    turn: Turn, visit: Visit, found: Timed[ParsedPage | Sitemap | Failed] | None
) -> tuple[FetchResult, ParsedPage | None]:
    """Return the fetch result and the parsed page, if any, and charge their cost to the turn."""
    fetched = visit.fetched
    if isinstance(fetched, Response | Refused | Failed):
        turn.cost_s += fetched.cost_s
    if found is None:
        return fetched, None
    result, cost_s = found
    turn.cost_s += cost_s
    if isinstance(result, Failed):
        return result, None
    if not isinstance(result, ParsedPage):
        return fetched, None
    if result.record and isinstance(fetched, Response):
        fetched, result = fetched._replace(record=result.record), result._replace(record=b"")
    return fetched, result

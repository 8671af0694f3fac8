"""The turns of pages: ask -> parse -> settle.

Laws: whatever happens, the slot of a request is given back before its answer is parsed, and the
lease when the turn ends or is suspended. Large pages wait for one another (see `large_pages`). What
a page costs is charged to its host.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from minicrawl.config.parts import OFF
from minicrawl.crawl.events import Asked, Delayed, Settled
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.settle.outcome import (
    Retry,
    TurnEnd,
    WasRead,
    decide_outcome,
    describe_outcome,
)
from minicrawl.crawl.settle.posting import PageIntroducer, are_many
from minicrawl.crawl.turns.large_pages import LargePages
from minicrawl.crawl.turns.listed_pages import ListedPages
from minicrawl.crawl.turns.loop_rounds import LoopRounds
from minicrawl.crawl.turns.turn import Turn
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    KeptAnswer,
    Moved,
    ParsedPage,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
)
from minicrawl.opic.money import UNIT
from minicrawl.ports import Timed, Visit
from minicrawl.store.records import FetchRow
from minicrawl.web.documents.kinds import FROM_SEEDS, types_of

if TYPE_CHECKING:
    from minicrawl.web.sitemaps.sitemap import Sitemap

_GAVE_PLACE = Failed(kind=FailureKind.INTERRUPTED, detail="it gave its place to hosts that answer")


class PageTurns:
    """The turns of pages that are under way."""

    def __init__(
        self, context: CrawlContext, parts: CrawlParts, introducer: PageIntroducer
    ) -> None:
        self._cash = context.recorder.frontier.ledger.cash
        self._hosts, self._leases, self._traps = parts.hosts, parts.leases, parts.traps
        self._context = context
        self._requests = PageRequests(context, parts)
        self._ends = TurnFinisher(context, parts, introducer)
        self._large_pages = LargePages(context, parts)
        self._rounds = LoopRounds()
        self.under_way = 0

    def begin(self, turn: Turn, now: float) -> Coroutine[None, None, None]:
        """The turn of a page whose host may be asked."""
        host, again = turn.host, turn.lease.again
        self.under_way += 1
        self._hosts[host].pages += not again
        self._traps.asks(host, again=again)
        self._leases.grant(turn.lease)
        self._requests.begin(turn, now)
        return self._run(turn)

    async def _run(self, turn: Turn) -> None:
        fetched: FetchResult | None = None
        self._context.tell(Asked(url=turn.lease.url, cash=self._cash(turn.page) / UNIT))
        try:
            visit = await self._requests.ask(turn)
            turn.crawler = visit.crawler
            await self._rounds.turn()
            fetched, turn.parsed = await self._parsed(turn, visit)
            del visit  # what it holds is in the turn by now, or on disk
            if (renderer := self._context.renderer) is not None:
                fetched, turn.parsed = await renderer.rendered(turn, fetched, turn.parsed)
            if turn.parsed is not None and self._large_pages.waits(turn.parsed.links):
                async with self._large_pages.settling(turn):
                    await self._ends.end(turn, fetched, turn.parsed)
            else:
                await self._ends.end(turn, fetched, turn.parsed)
            if (hooks := self._context.hooks).needs_bodies:
                await hooks.hand_over(turn.lease.url, fetched, turn.parsed)
        finally:
            self._hosts.charge(turn.host, turn.cost_s, self._context.clock.now())
            if not isinstance(fetched, Response):
                self._hosts[turn.host].pages -= not turn.lease.again
            self.under_way -= 1

    async def _parsed(self, turn: Turn, visit: Visit) -> tuple[FetchResult, ParsedPage | None]:
        """Parse the page. Dear ones wait for one another, and their hosts for them."""
        found = None if visit.quickly is None else await visit.quickly()
        if visit.read is None or found is not None:
            return parsed_visit(turn, visit, found)
        async with self._large_pages.parsing(turn):
            return parsed_visit(turn, visit, await visit.read())


def parsed_visit(
    turn: Turn, visit: Visit, found: Timed[ParsedPage | Sitemap | Failed] | None
) -> tuple[FetchResult, ParsedPage | None]:
    """What came, and what it says if it is a page; what that cost is charged to the turn."""
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


# ---------------------------------------------------------------- ask


class PageRequests:
    """Requests for pages, and what their answers mean for their hosts."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        settings = context.settings
        self._max_bytes = settings.network.max_body_bytes
        self._has_links = settings.storing.links
        self._keeps_failures = settings.storing.keeps_failures
        self._types = types_of(settings.scope.types)
        self._recorder, self._clock = context.recorder, context.clock
        self._web_access = context.web_access
        self._hosts, self._onboarding = parts.hosts, parts.onboarding
        self._slots, self._traps = parts.slots, parts.traps

    def begin(self, turn: Turn, now: float) -> None:
        """The request counts from now on."""
        state = self._hosts[turn.host]
        is_stranger = state.pages == (not turn.lease.again)
        turn.slot = self._slots.take(
            now, is_silent=not state.shared.answers, is_strange=is_stranger
        )
        self._hosts.begin(turn.host, now)

    async def ask(self, turn: Turn) -> Visit:
        """The host is free again before the page is parsed, which may take a while."""
        host, slot, task = turn.host, turn.slot, asyncio.current_task()
        assert slot is not None
        assert task is not None
        slot.give_up = task.cancel
        try:
            visit = await self._web_access.visit(self._request(turn))
        except asyncio.CancelledError:
            if not slot.was_given_up or task.uncancel():  # the whole turn is cancelled
                raise
            self._hosts[host].shared.answers = False
            return Visit(_GAVE_PLACE)
        else:
            self._hosts.hear(host, visit.fetched, self._clock.now())
            if not self._onboarding.strike(host, visit.fetched):
                self._hosts[host].recover()
            return visit
        finally:
            self._slots.leave(slot)
            self._hosts.end(host, self._clock.now())

    def _request(self, turn: Turn) -> Request:
        """For a page that was read before, with what lets the server say that it is the same."""
        page, lease = turn.page, turn.lease
        was_read = (
            lease.again and self._has_links and State(self._recorder.frontier.state[page]).was_read
        )
        known = self._recorder.pages.document(page) if was_read else None
        return Request(
            url=lease.url,
            max_bytes=self._max_bytes,
            etag=None if known is None else known.etag,
            last_modified=None if known is None else known.last_modified,
            spelled=turn.spelling,
            suspicious=self._traps.suspicious(turn.host),
            dictionary=self._recorder.dictionary,
            types=self._types
            if self._recorder.frontier.urls.depth[page]
            else self._types | FROM_SEEDS,
            keeps_failures=self._keeps_failures,
        )


# ---------------------------------------------------------------- settle


class TurnFinisher:
    """Ends turns with what came, or suspends them."""

    def __init__(
        self, context: CrawlContext, parts: CrawlParts, introducer: PageIntroducer
    ) -> None:
        self._settings, self._recorder = context.settings, context.recorder
        self._clock, self._tell = context.clock, context.tell
        self._parts, self._introducer = parts, introducer
        self._listed = ListedPages(parts.onboarding, self._settings.limits.max_sitemaps)
        self._rounds = LoopRounds()

    async def end(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """Look up what the page links to, and settle it."""
        if parsed is not None:
            if parsed.is_sitemap:
                parsed = self._listed.admit(turn.lease.url, parsed)
            await self._look_up(turn, parsed)
        await self._rounds.turn()
        self._settle(turn, fetched, parsed)

    async def _look_up(self, turn: Turn, parsed: ParsedPage) -> None:
        """The pages that it links to; of very many some become known before the turn ends."""
        links, depth = parsed.links, self._recorder.frontier.urls.depth[turn.page]
        if parsed.sitemaps:
            await self._introduce(turn, parsed.sitemaps, depth, parsed)
        if not are_many(links) or parsed.refresh is not None:
            turn.looked_up = await self._recorder.look_up_urls(links)
        else:
            await self._introduce(turn, links, depth + 1, parsed)

    async def _introduce(
        self, turn: Turn, links: Sequence[str], depth: int, parsed: ParsedPage
    ) -> None:
        """Make them known before the turn ends."""
        found = await self._introducer.introduce(links, depth, parsed.originals, turn.page)
        turn.looked_up, turn.introduced = found.pages, [*turn.introduced, *found.new]
        turn.cost_s += found.cost_s

    def _settle(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """The end of the turn, unless the page is asked for again."""
        began = perf_counter()
        page, url = turn.page, turn.lease.url
        turn.tries += _is_a_try(fetched)
        turn.chain = self._parts.suspended.chain_to(page)
        outcome = decide_outcome(
            url,
            fetched,
            parsed,
            turn.tries,
            max_tries=self._settings.limits.max_tries,
            strip_marks=self._settings.storing.strip_marks,
        )
        if isinstance(outcome, WasRead):
            outcome = WasRead(outcome.response, outcome.parsed, turn.looked_up, turn.introduced)
        end = self._parts.settler.settle(page, url, outcome, self._clock.today(), turn.chain)
        row = self._record(turn, fetched, parsed, end)
        if end is None:
            self._suspend(turn, outcome.spelled if isinstance(outcome, Retry) else None, row)
        else:
            self._end(turn, end, row, sets_cookies=bool(fetched.cookies))
        turn.cost_s += perf_counter() - began

    def _suspend(self, turn: Turn, spelling: str | None, row: FetchRow) -> None:
        turn.spelling = spelling or turn.spelling
        self._parts.suspended.suspend(turn)
        self._parts.leases.give_back(turn.lease)
        why = f"{row.outcome} {row.detail}".rstrip()
        self._tell(Delayed(url=turn.lease.url, detail=why, crawler=turn.crawler))

    def _end(self, turn: Turn, end: TurnEnd, row: FetchRow, *, sets_cookies: bool) -> None:
        self._parts.suspended.end(turn.page)
        if sets_cookies:
            self._parts.suspended.cookies_came()
        if end.led_to:
            has_jar = self._settings.access.cookies != OFF
            chain = turn.chain.led_on(turn.page, has_jar=has_jar, sets_cookies=sets_cookies)
            for page in end.led_to:
                self._parts.suspended.redirected(page, chain)
        self._parts.replays.fetched()
        self._parts.leases.end(turn.lease)
        self._tell(
            Settled(
                url=turn.lease.url,
                state=end.state,
                detail=row.detail,
                elapsed_s=row.elapsed_s,
                crawler=turn.crawler,
            )
        )

    def _record(
        self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None, end: TurnEnd | None
    ) -> FetchRow:
        name, status, detail = describe_outcome(fetched, self._settings.network, parsed, end)
        wire_bytes = fetched.wire_bytes if isinstance(fetched, Response) else 0
        today, elapsed_s = self._clock.today(), fetched.elapsed_s
        row = FetchRow(turn.page, today, name, status, wire_bytes, elapsed_s, detail)
        self._recorder.record(row)
        is_kept = self._recorder.keeping
        if is_kept and (record := _for_the_archive(turn.lease.url, fetched)) is not None:
            self._recorder.keep(turn.page, KeptAnswer(record, today, turn.lease.url))
        self._recorder.counters.add("requests")
        self._recorder.counters.add("wire_bytes", wire_bytes)
        self._recorder.counters.add("fetched", isinstance(fetched, Response | Unchanged))
        return row


def _for_the_archive(url: str, fetched: FetchResult) -> bytes | None:
    """The record of what came; no bytes if the page has not changed."""
    match fetched:
        case Response():
            return fetched.record or None
        case Moved():
            from minicrawl.archive.packing import pack_redirect

            return pack_redirect(url, fetched.status, fetched.target)
        case Unchanged():
            return b""
        case Failed(answer=Response() as answer):
            return answer.record or None
    return None


def _is_a_try(fetched: FetchResult) -> bool:
    """Whether the page had its chance."""
    return not (isinstance(fetched, Failed) and fetched.kind is FailureKind.INTERRUPTED)

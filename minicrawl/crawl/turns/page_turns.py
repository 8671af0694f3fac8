"""Turns of pages: request -> parse -> settle.

Laws: whatever happens, the slot of a request is given back before its response is parsed, and the
lease when the turn ends or is suspended. Large pages wait for one another (see `LargePages`). The
cost of a page is charged to its host.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from minicrawl.config.values import OFF
from minicrawl.crawl.events import Asked, Delayed, Settled
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.pacing import FairLock, Rank, RequestSlot
from minicrawl.crawl.hosts.politeness import resolve_targets
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.settle.outcome import Retry, TurnEnd, WasRead, decide_outcome, describe_outcome
from minicrawl.crawl.settle.posting import PageIntroducer, are_many
from minicrawl.crawl.turns.turn import Turn
from minicrawl.crawl.workers.parser import to_disk
from minicrawl.frontier.url_table import UrlTable
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
from minicrawl.web.responses import FROM_SEEDS, types_of
from minicrawl.web.urls import host, origin, split
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.web.sitemaps import Sitemap


# ================================================================ large pages
#
# Large pages, and pages with very many links: they wait on disk, and hosts share the time.
#
# Laws: large bodies are parsed one at a time, and pages with very many links are settled one at a
# time. Of the waiting hosts, the one that has cost least is next. All hosts that no page has come
# from yet count as one, so that endless new hosts cannot keep out known ones. A host whose page
# waits is not contacted.
#
# New URLs take memory. Pages that bring many of them add at most `URLS_A_SECOND` URLs on average:
# each URL has a price in time, and the next such page waits until the last one is paid for. Pages
# that bring few never wait for that.
#
# late   the new URLs so far are not paid for yet

URLS_A_SECOND = 25_000
"""Rate of new URLs, some 2.5 MB a second.

Pages that bring few find no more, even on a local network.
"""
A_HOST = 8
"""Price of a new host in URLs: its name, its site, its queue and its rules."""
LITTLE = 100
"""Number of new URLs up to which a page never waits."""
_CREDIT_S, _LONGEST_S = 1.0, 10.0
"""Credit for new URLs, and longest wait of a page."""
_UNCOUNTED = 1000
"""Number of new hosts after which their price is counted."""
_STRANGERS = ""


class Growth:
    """Price of new URLs and hosts, and when it will be paid."""

    def __init__(self, urls: UrlTable) -> None:
        self._urls = urls
        self._counted = len(urls.origins)
        self._paid_at = -inf
        self.is_late = False

    def has_grown(self) -> bool:
        """Return whether many hosts became known since the last look."""
        return len(self._urls.origins) - self._counted > _UNCOUNTED

    def look(self, now: float, urls: int = 0) -> None:
        """Add the price of these URLs, and of the hosts that became known since the last look."""
        hosts = len(self._urls.origins)
        price_s = (urls + A_HOST * (hosts - self._counted)) / URLS_A_SECOND
        self._counted = hosts
        self._paid_at = min(max(self._paid_at, now - _CREDIT_S) + price_s, now + _LONGEST_S)
        self.is_late = self._paid_at > now

    def wait_s(self, now: float) -> float:
        """Return the time until everything is paid for."""
        return max(self._paid_at - now, 0.0)

    def brings_much(self, links: Sequence[str]) -> bool:
        """Return whether these links would add many URLs or hosts."""
        find_host = self._urls.find_host
        hosts = sum(find_host(origin) is None for origin in {split(url)[0] for url in links})
        if A_HOST * hosts > LITTLE or not are_many(links):
            return A_HOST * hosts > LITTLE
        found, candidates = self._urls.find_recent(links)
        return len(links) - len(found) - len(candidates) > LITTLE


class LargePages:
    """Queues of large pages, and the page that has its turn in each."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._clock = context.clock
        self._hosts, self._side_requests, self._slots = (
            parts.hosts,
            parts.side_requests,
            parts.slots,
        )
        self._growth = Growth(context.recorder.frontier.urls)
        self._parsing, self._settling, self._bringing = FairLock(), FairLock(), FairLock()

    @asynccontextmanager
    async def parsing(self, turn: Turn) -> AsyncIterator[None]:
        """Hold the lock for parsing a large body; the host waits meanwhile."""
        with self._set_aside(turn.host):
            async with self._held(self._parsing, turn):
                yield

    def waits(self, links: Sequence[str]) -> bool:
        """Return whether a page with these links has to wait until it is settled."""
        growth = self._growth
        if are_many(links):
            return True
        if A_HOST * len(links) <= LITTLE or not (growth.is_late or growth.has_grown()):
            return False
        growth.look(self._clock.now())
        return growth.is_late and growth.brings_much(links)

    @asynccontextmanager
    async def settling(self, turn: Turn) -> AsyncIterator[None]:
        """Hold the lock for settling a page with very many links. They wait on disk."""
        with self._set_aside(turn.host):
            async with AsyncExitStack() as held:
                await self._wait(turn, held)
                yield
            self._growth.look(self._clock.now(), len(turn.introduced))

    async def _wait(self, turn: Turn, held: AsyncExitStack) -> None:
        brings_much = self._look_at_links(turn)
        is_free = not self._settling.is_taken
        if brings_much:
            is_free = is_free and not (self._bringing.is_taken or self._growth.is_late)
        with nullcontext() if is_free else _links_on_disk(turn):
            if brings_much:
                await held.enter_async_context(self._held(self._bringing, turn))
                await asyncio.sleep(self._growth.wait_s(self._clock.now()))
            await held.enter_async_context(self._held(self._settling, turn))

    def _look_at_links(self, turn: Turn) -> bool:
        """Return whether the page brings many new URLs, and update the price of those so far."""
        assert turn.parsed is not None
        began = perf_counter()
        self._growth.look(self._clock.now())
        brings_much = self._growth.brings_much(turn.parsed.links)
        turn.cost_s += perf_counter() - began
        return brings_much

    @asynccontextmanager
    async def _held(self, lock: FairLock, turn: Turn) -> AsyncIterator[None]:
        """Hold a lock, and charge the host for the cost of the turn meanwhile."""
        state, before_s = self._hosts[turn.host], turn.cost_s
        is_stranger = state.pages == (not turn.lease.again)
        name = _STRANGERS if is_stranger else state.shared.name
        async with lock.held_for(name):
            yield
        lock.charge(name, turn.cost_s - before_s)

    @contextmanager
    def _set_aside(self, host: int) -> Iterator[None]:
        """Keep the host from being contacted, while other hosts get its slot."""
        self._hosts.begin_reading(host)
        try:
            with self._side_requests.reading():
                yield
        finally:
            self._hosts.end_reading(host, self._clock.now())
            self._slots.resume_one()


@contextmanager
def _links_on_disk(turn: Turn) -> Iterator[None]:
    with to_disk(pickle.dumps(turn.parsed, pickle.HIGHEST_PROTOCOL)) as kept:
        turn.parsed = None
        yield
        turn.parsed = pickle.load(kept)


# ================================================================ loop rounds
#
# Pages that arrive at once do not block the loop: only some of them continue in each round.

ROUND_S = 0.004
"""Time after which the pages of a round continue in the next one. Between rounds the workers get
new pages: with 0.02 s they were idle for a while.
"""


class LoopRounds:
    """Rounds of the event loop, as far as pages continue in them."""

    def __init__(self) -> None:
        self._began: float | None = None

    async def turn(self) -> None:
        """Wait for a round that has time left."""
        while self._began is not None and perf_counter() - self._began > ROUND_S:
            await asyncio.sleep(0)
        if self._began is None:
            self._began = perf_counter()
            asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        """End the round. The loop calls this first in the next one."""
        self._began = None


# ================================================================ listed pages
#
# Sitemaps that are pages: seeds, or linked from pages. The URLs that they list are their links.
#
# Laws: a sitemap lists pages and sitemaps of its own host, and of hosts whose robots.txt names it
# (sitemaps.org, cross submission), as in `hosts.side_requests`; other URLs are no links. A sitemap
# in an index is as far from the seeds as the index, so the pages of a seed's sitemap are as far as
# links of a seed. At most `max_sitemaps` sitemaps of a host count as listed by an index, so a
# chain of indexes ends.


class ListedPages:
    """Decides which URLs sitemaps may list."""

    def __init__(self, onboarding: HostOnboarding, max_sitemaps: int) -> None:
        self._onboarding, self._max_sitemaps = onboarding, max_sitemaps
        self._listed = Counter[str]()

    def admit(self, url: str, parsed: ParsedPage) -> ParsedPage:
        """Return the sitemap at this URL with the links that it may list."""
        known: dict[str, bool] = {}
        own = host(url)
        for link in parsed.links:
            of_origin = origin(link)
            if of_origin not in known:
                is_own = host(link) == own
                known[of_origin] = is_own or self._onboarding.names_sitemap(of_origin, url)
        sitemaps = [one for one in parsed.sitemaps if known[origin(one)]]
        left = max(self._max_sitemaps - self._listed[own], 0)
        self._listed[own] += min(len(sitemaps), left)
        dropped = {*parsed.sitemaps} - {*sitemaps[:left]}
        links = [one for one in parsed.links if known[origin(one)] and one not in dropped]
        return parsed._replace(
            links=tuple(links),
            words=parsed.words[: len(links)],  # a sitemap has no words
            sitemaps=tuple(sitemaps[:left]),
            cut=_why_cut(parsed, len(links), self._max_sitemaps if sitemaps[left:] else None),
        )


def _why_cut(parsed: ParsedPage, links: int, most: int | None) -> str:
    reasons = [parsed.cut]
    if most is not None:
        reasons.append(f"cut at {counted(most, 'sitemap')}")
    elif links < len(parsed.links):
        others = counted(len(parsed.links) - links, "URL")
        reasons.append(f"{others} of hosts whose robots.txt does not name this sitemap")
    return "; ".join(filter(None, reasons))


# ================================================================ page turns

_GAVE_PLACE = Failed(kind=FailureKind.INTERRUPTED, detail="it gave its place to hosts that answer")


class PageTurns:
    """Turns of pages that are under way."""

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
        """Begin the turn of a page whose host may be contacted."""
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
            del visit  # free memory: its content is in the turn by now, or on disk
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
        """Parse the page. Expensive ones wait for one another, and their hosts for them."""
        found = None if visit.quickly is None else await visit.quickly()
        if visit.read is None or found is not None:
            return parsed_visit(turn, visit, found)
        async with self._large_pages.parsing(turn):
            return parsed_visit(turn, visit, await visit.read())


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


# ---------------------------------------------------------------- request


class PageRequests:
    """Requests for pages, and what their responses mean for their hosts."""

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
        """Count the request from now on."""
        state = self._hosts[turn.host]
        is_stranger = state.pages == (not turn.lease.again)
        turn.slot = self._slots.take(
            now, is_silent=not state.shared.answers, is_strange=is_stranger
        )
        self._hosts.begin(turn.host, now)

    async def ask(self, turn: Turn) -> Visit:
        """Request the page.

        Its host is free again before the page is parsed, which may take a while.
        """
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
        """Return the request, with validators for a page that was read before."""
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
    """Ends turns by their fetch results, or suspends them."""

    def __init__(
        self, context: CrawlContext, parts: CrawlParts, introducer: PageIntroducer
    ) -> None:
        self._settings, self._recorder = context.settings, context.recorder
        self._clock, self._tell = context.clock, context.tell
        self._parts, self._introducer = parts, introducer
        self._listed = ListedPages(parts.onboarding, self._settings.limits.max_sitemaps)
        self._rounds = LoopRounds()

    async def end(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """Look up the links of the page, and settle it."""
        if parsed is not None:
            if parsed.is_sitemap:
                parsed = self._listed.admit(turn.lease.url, parsed)
            await self._look_up(turn, parsed)
        await self._rounds.turn()
        self._settle(turn, fetched, parsed)

    async def _look_up(self, turn: Turn, parsed: ParsedPage) -> None:
        """Look up the linked pages.

        If there are very many, some become known before the turn ends.
        """
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
        """Make pages known before the turn ends."""
        found = await self._introducer.introduce(links, depth, parsed.originals, turn.page)
        turn.looked_up, turn.introduced = found.pages, [*turn.introduced, *found.new]
        turn.cost_s += found.cost_s

    def _settle(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """Settle the page and end its turn, or suspend it if the page is requested again."""
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
    """Return the record of a fetch result, empty if the page is unchanged; None without one."""
    match fetched:
        case Response():
            return fetched.record or None
        case Moved():
            from minicrawl.archive.record import pack_redirect

            return pack_redirect(url, fetched.status, fetched.target)
        case Unchanged():
            return b""
        case Failed(answer=Response() as answer):
            return answer.record or None
    return None


def _is_a_try(fetched: FetchResult) -> bool:
    """Return whether the request counts as a try."""
    return not (isinstance(fetched, Failed) and fetched.kind is FailureKind.INTERRUPTED)


# ================================================================ host turns
#
# Turns of hosts: a host is located, and its robots.txt requested, before its first page.
#
# Laws: one file of a host is requested per turn, robots.txt or a sitemap; meanwhile none of its
# pages has a turn. The slot of a turn is given back, whatever happens.


class HostTurns:
    """Hosts that are being onboarded."""

    def __init__(
        self, context: CrawlContext, parts: CrawlParts, introducer: PageIntroducer
    ) -> None:
        self._clock, self._tell = context.clock, context.tell
        self._hosts, self._onboarding = parts.hosts, parts.onboarding
        self._slots, self._traps = parts.slots, parts.traps
        self._introducer = introducer
        self._targets = resolve_targets(context.settings)
        self._under_way: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __contains__(self, host: int) -> bool:
        return host in self._under_way

    def begin(self, host: int, rank: Rank, now: float) -> Coroutine[None, None, None]:
        """Begin the turn of a host. It has the rank of the page that needs it."""
        state = self._hosts[host]
        is_silent, is_strange = not state.shared.answers, not state.pages
        slot = self._slots.take(now, is_silent=is_silent, is_strange=is_strange)
        self._under_way.add(host)
        return self._learn(host, slot, rank)

    def cancel(self) -> None:
        """Cancel all turns of hosts: nobody wants their pages any more."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _learn(self, host: int, slot: RequestSlot, rank: Rank) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if await self._locate(host):
                await self._ask(host, rank)
        finally:
            self._tasks.discard(task)
            self._slots.leave(slot)
            self._under_way.discard(host)
            self._hosts.resume_when_ready(host, self._clock.now())

    async def _locate(self, host: int) -> bool:
        """Locate the host.

        Hosts at one address share a quota of pages, unless the user wrote the address.
        """
        if not await self._onboarding.locate(host):
            return False
        address = self._hosts[host].address
        if address is not None and address not in self._targets:
            self._traps.located(host, address)
        return True

    async def _ask(self, host: int, rank: Rank) -> None:
        now = self._clock.now()
        self._onboarding.recall(host)
        if self._onboarding.is_known(host):
            return
        if self._hosts.has_room(host, now):
            await self._onboarding.learn(host, self._tell, self._introducer.introduce_listed)
        else:
            self._hosts.wait_for_room(host, now, rank)

"""The loop: lease -> fetch -> read -> settle -> commit.

Laws: the next page is the richest one whose host may be asked now, chosen when there is room for
it and not before; every lease is given back, whatever happens; what was settled is committed before
the loop ends, and what was not settled is fetched again; nothing begins while the store has no
room. What a page costs is charged to its host.

turn    what is done with a lease: the page is asked for, read and settled
news    something happened that may let another page have its turn
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from minicrawl.config import Settings
from minicrawl.crawl.events import Asked, Delayed, Ended, Event, Listener, Noted, Reason, Settled
from minicrawl.crawl.hosts.fairness import FairLock
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import Rank, hosts_of, resolve_targets
from minicrawl.crawl.hosts.request_slots import RequestSlot, RequestSlots
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.leases import Lease, LeaseScheduler
from minicrawl.crawl.schedule.replay import ReplayScheduler
from minicrawl.crawl.settle.committer import COMMIT_EVERY_S
from minicrawl.crawl.settle.outcome import Retry, WasRead, decide_outcome, describe_outcome
from minicrawl.crawl.settle.posting import StepPoster
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.settle.settler import Settler
from minicrawl.crawl.start.resume import LAST_AT, reopen
from minicrawl.crawl.start.scope_gate import ScopeGate
from minicrawl.crawl.traps.detector import Aside, TrapDetector
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Originals,
    ParsedPage,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
)
from minicrawl.opic.money import UNIT
from minicrawl.ports import Clock, Timed, Visit, WebAccess
from minicrawl.store.records import NOT_ASKED, FetchRow

CLOSED_AT_ONCE = 500
"""Pages that are settled without a fetch before the loop looks around."""
LONGEST_LOOK_S = 0.02
"""The same in time."""
LINKS_AT_ONCE = 1000
"""Pages of a sitemap, or links of a page, that become known before anybody else has a turn."""
GRACE_S = 5.0
"""For what is under way when the crawl is stopped, or its time is over."""
_GAVE_PLACE = Failed(kind=FailureKind.INTERRUPTED, detail="it gave its place to hosts that answer")
_AT_ONCE = 0.0
"""A moment that has passed, by any loop's clock."""


T = TypeVar("T")


class FoundLinks(NamedTuple):
    """The pages that a page links to, those of them that have become known, and what that cost."""

    found: PagesByUrl = NO_PAGES
    introduced: Sequence[int] = ()
    cost_s: float = 0.0


_NO_LINKS = FoundLinks()


class Crawler:
    """One crawl. `run` it once; `stop` it from the loop's own thread."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        clock: Clock,
        tell: Listener,
    ) -> None:
        frontier, limit = recorder.frontier, settings.scope.max_depth
        self._settings, self._recorder, self._web_access = settings, recorder, web_access
        self._frontier, self._gate, self._clock, self._tell = frontier, gate, clock, tell
        self._depths = None if limit is None else DepthTracker(frontier, limit)
        self._leasing = LeaseScheduler(settings, recorder, clock)
        self.hosts = hosts_of(settings, frontier.urls.origins, self._leasing.resume)
        self._targets = resolve_targets(settings)
        self._news = asyncio.Event()
        side_requests = SideRequests(self.hosts, clock, self._news.set)
        self._places = RequestSlots(settings.politeness, self._resume, lambda: side_requests.idle)
        self._onboarding = HostOnboarding(settings, recorder, web_access, gate, side_requests)
        self._replays = ReplayScheduler(frontier, settings.order.replay)
        leasing = self._leasing
        poster = StepPoster(recorder, leasing.queue, leasing.order, self._depths, self._replays.saw)
        self._traps = TrapDetector(settings.traps, recorder, gate)
        self._settler = Settler(settings, recorder, poster, gate, self._traps)
        self._stopping = False
        self._tries: dict[int, int] = {}
        self._spelled: dict[int, str] = {}
        self._hops: dict[int, int] = {}
        self._learning: set[int] = set()
        self._turns: set[asyncio.Task[None]] = set()
        self._learners: set[asyncio.Task[Any]] = set()
        self._pages_under_way = 0
        self._much_to_do = FairLock()
        self._restore()

    def _resume(self, host: int) -> None:
        """A host may be asked if its clock allows."""
        self.hosts.resume_when_ready(host, self._clock.now())

    def _restore(self) -> None:
        """What earlier runs left: who waits, or does so again, and what was read."""
        today = self._clock.today()
        for line in reopen(self._recorder, self._gate, self._settings, today):
            self._tell(Noted(text=line))
        self._recorder.agree_on_terms(self._settings.order.discovery)
        self._leasing.restore()
        for pages, contents in self._recorder.pages.contents():
            self._settler.load_contents(pages, contents)
            pages_by_host = list(self._recorder.hosts.of_pages(pages))
            self._traps.restore(pages_by_host)
            for host, count in pages_by_host:
                self.hosts[host].pages += count
        self._settler.finish_loading()

    # ------------------------------------------------------------ from the first to the last

    async def run(self) -> Reason:
        """Crawl until the budget is spent, nothing is left, or somebody stops it."""
        keeping = asyncio.create_task(self._recorder.committer.keep(self._hear_of_room))
        try:
            reason = await self._crawl_while(keeping)
            self._recorder.committer.finish()
            await keeping
        except BaseExceptionGroup as group:
            raise _first(group) from group
        finally:
            keeping.cancel()
        self._tell(Ended(reason=reason))
        return reason

    async def _crawl_while(self, keeping: asyncio.Task[None]) -> Reason:
        async with asyncio.TaskGroup() as turns:
            crawling = turns.create_task(self._crawl(turns))
            await asyncio.wait((crawling, keeping), return_when=asyncio.FIRST_COMPLETED)
            if not crawling.done():  # a store that fails ends the crawl
                keeping.result()
        return crawling.result()

    def stop(self) -> None:
        """Lease no more pages; what is under way gets a moment to end."""
        self._stopping = True
        self._news.set()

    def _hear_of_room(self, event: Event) -> None:
        """The store has none, or has some again."""
        self._tell(event)
        self._news.set()

    async def _crawl(self, turns: asyncio.TaskGroup) -> Reason:
        began = last = self._clock.now()
        reason = None
        while reason is None:
            now = self._clock.now()
            self._recorder.counters.add("running_s", now - last)
            self._recorder.counters[LAST_AT] = self._clock.today()
            last = now
            self._news.clear()
            self.hosts.wake(now)
            if self._recorder.committer.takes_more and not self._is_over(now - began):
                self._let_in(self._traps.due(self._recorder.counters.number("requests")))
                self._launch(turns)
            reason = self._reason_to_end(now - began)
            if reason is None:
                await self._wait(began)
        await self._let_end(GRACE_S if self._is_over(self._clock.now() - began) else None)
        return reason

    def _launch(self, turns: asyncio.TaskGroup) -> None:
        """Give pages their turns while there is room."""
        until = perf_counter() + LONGEST_LOOK_S
        while not self._is_spent():
            if self._is_full:
                self._make_room()
                return
            turn = self._next_turn(until)
            if turn is None:
                if not self._turns and self.hosts.release_expensive(self._clock.now()):
                    self._news.set()
                return
            task = turns.create_task(turn)
            self._turns.add(task)
            task.add_done_callback(self._end_turn)

    @property
    def _under_way(self) -> int:
        """Turns, but for those that hold no request."""
        return len(self._turns) - self._onboarding.side_requests.idle

    @property
    def _is_full(self) -> bool:
        return self._under_way >= self._settings.politeness.concurrency

    def _make_room(self) -> None:
        """Slow hosts that hold too many places give one to the next page, if there is any."""
        now = self._clock.now()
        if self._places.has_too_many_slow(now) and (lease := self._leasing.next()):
            self._leasing.give_back(lease)
            self._leasing.resume(lease.host)
            self._places.give_up_slowest(now)

    def _end_turn(self, turn: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        self._news.set()

    def _is_over(self, running_s: float) -> bool:
        """Whether no more pages may be leased, whatever waits."""
        seconds = self._settings.budget.seconds
        return self._stopping or (seconds is not None and running_s >= seconds)

    def _reason_to_end(self, running_s: float) -> Reason | None:
        if self._is_over(running_s):
            return Reason.STOPPED if self._stopping else Reason.BUDGET
        if self._under_way or self._news.is_set() or not self._recorder.committer.takes_more:
            return None
        if self._is_spent():
            return Reason.BUDGET
        if self._turns:
            return None
        if self.hosts.next_wake() is not None and self._wants_more():
            return None
        return None if self._finds_more() else Reason.EMPTY

    def _is_spent(self) -> bool:
        """Whether what is under way may use up the budget."""
        budget, fetched = self._settings.budget, self._recorder.counters.number("fetched")
        if budget.pages is not None and fetched + self._pages_under_way >= budget.pages:
            return True
        limit = budget.body_bytes
        return limit is not None and self._recorder.counters.number("wire_bytes") >= limit

    def _wants_more(self) -> bool:
        aside = len(self._depths) if self._depths is not None else 0
        return self._leasing.has_more(aside)

    def _finds_more(self) -> bool:
        """All is read: who has earned a turn has it, who waited for a shorter way is settled."""
        if self._let_in(self._traps.earned()):
            return True
        aside = self._depths.give_up() if self._depths is not None else []
        for page in aside:
            self._close(page, State.DEPTH, self._recorder.pages.url_of(page))
            self._news.set()
        return bool(aside)

    def _let_in(self, pages: list[int]) -> bool:
        """These were put aside, and wait again."""
        if pages:
            self._settler.poster.reopen(pages)
            self._news.set()
        return bool(pages)

    async def _wait(self, began: float) -> None:
        """Until there is news, or a host's time comes, or ours is over."""
        takes_more = self._recorder.committer.takes_more
        if takes_more:
            self._replays.run(self._settler.poster)
        await asyncio.sleep(0)  # news that is there already lets nobody else have a turn
        seconds, now = self._settings.budget.seconds, self._clock.now()
        wake = self.hosts.next_wake() if takes_more else now + COMMIT_EVERY_S
        times = [wake, None if seconds is None else began + seconds]
        if self._is_full:
            times.append(self._places.next_slow(now))
        due = min((time for time in times if time is not None), default=None)
        with suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(due - now, 0)):
                await self._news.wait()

    async def _let_end(self, grace_s: float | None) -> None:
        self._onboarding.side_requests.leave()
        for turn in tuple(self._learners):  # what they ask for is for pages that nobody wants now
            turn.cancel()
        if self._turns:
            _, late = await asyncio.wait(tuple(self._turns), timeout=grace_s)
            for task in late:
                task.cancel()

    # ------------------------------------------------------------ who is next

    def _next_turn(self, until: float) -> Coroutine[None, None, None] | None:
        """The turn of the next page, or first of all of its host."""
        now = self._clock.now()
        for _ in range(CLOSED_AT_ONCE):
            lease = self._leasing.next()
            if lease is None:
                if self._places.resume_one():
                    continue
                return None
            began = perf_counter()
            aside = self._aside(lease, now)
            if aside is not None:
                self._settle_unasked(lease, aside, now, began)
            elif self._must_wait(lease, now):
                self._leasing.give_back(lease)
            else:
                return self._turn_of(lease, now, perf_counter() - began)
            if perf_counter() >= until:
                break
        self._news.set()
        return None

    def _must_wait(self, lease: Lease, now: float) -> bool:
        """Whether the host, of which earlier runs are recalled, may not be asked now.

        It is resumed when it may.
        """
        host = lease.host
        if host in self._learning or not self.hosts.has_room(host, now, lambda: self._rank(lease)):
            return True
        if not self.hosts.may_be_asked(host, now):
            self.hosts.resume_when_ready(host, now)
            return True
        return not (self.hosts.answers(host) or self._places.has_room_for_silent(host))

    def _rank(self, lease: Lease) -> Rank:
        """Richer pages are first at their address, and of equal ones those of hosts we know."""
        return -self._leasing.order.keys[lease.page], not self._onboarding.are_known(lease.host)

    def _turn_of(self, lease: Lease, now: float, cost_s: float) -> Coroutine[None, None, None]:
        host = lease.host
        place = self._places.take(now, is_silent=not self.hosts.answers(host))
        if not self._onboarding.are_known(host):
            self._leasing.give_back(lease)
            self._learning.add(host)
            return self._learn(host, place, self._rank(lease))
        self._pages_under_way += 1
        self.hosts[host].pages += not lease.again
        self._traps.asks(host, again=lease.again)
        self._leasing.grant(lease)
        self.hosts.begin(host, now)
        return self._visit(lease, place, cost_s)

    def _aside(self, lease: Lease, now: float) -> Aside | None:
        """How the turn ends if the page is not asked for."""
        state = self._refusal(lease, now)
        if state is not None:
            return Aside(state)
        return None if lease.again else self._traps.aside(lease.page, lease.host, lease.url)

    def _refusal(self, lease: Lease, now: float) -> State | None:
        """Why the page is not asked for."""
        clock = self.hosts[lease.host]
        depth = self._frontier.urls.depth[lease.page] if self._depths is None else 0
        state = self._gate.refusal(lease.url, depth, 0 if lease.again else clock.pages)
        if state is not None:
            return state
        if self._depths is not None and self._depths.is_too_deep(lease.page):
            return State.UNREAD
        state = self.hosts.trouble(lease.host, now)
        if state is None and self._onboarding.are_known(lease.host):
            url = self._spelled.get(lease.page, lease.url)
            return None if self._onboarding.allow(lease.host, url) else State.ROBOTS
        return state

    def _settle_unasked(self, lease: Lease, aside: Aside, now: float, began: float) -> None:
        """No request for this page: the host may be asked for another one at once."""
        self._end_unasked(lease, aside, now)
        self.hosts.charge_unasked(lease.host, perf_counter() - began, now)
        self.hosts.resume_when_ready(lease.host, now)

    def _end_unasked(self, lease: Lease, aside: Aside, now: float) -> None:
        self._tries.pop(lease.page, None)
        state = aside.state
        if lease.again and state is self.hosts.trouble(lease.host, now):
            self._leasing.refresh.release(lease.page)
            if self._settings.budget.continuous:
                self.hosts.rest(lease.host)
        elif lease.again:
            self._leasing.refresh.forget(lease.page)
        elif state is not State.UNREAD:
            self._put_aside(lease, aside)

    def _put_aside(self, lease: Lease, aside: Aside) -> None:
        page, (state, detail, original) = lease.page, aside
        self._spelled.pop(page, None)
        self._hops.pop(page, None)
        if original is None:
            self._settler.close(page, state)
        else:
            self._settler.fold(page, original)
        if detail:
            today = self._clock.today()
            self._recorder.record(FetchRow(page, today, NOT_ASKED, None, 0, 0.0, detail))
        self._tell(Settled(url=lease.url, state=state, detail=detail))

    def _close(self, page: int, state: State, url: str) -> None:
        self._spelled.pop(page, None)
        self._hops.pop(page, None)
        self._settler.close(page, state)
        self._tell(Settled(url=url, state=state))

    # ------------------------------------------------------------ turns

    async def _learn(self, host: int, place: RequestSlot, rank: Rank) -> None:
        """The turn of a host: where it is, and how it wants to be asked."""
        turn = asyncio.current_task()
        assert turn is not None
        self._learners.add(turn)
        try:
            if not await self._locate(host) or self._onboarding.are_known(host):
                return
            if self.hosts.has_room(host, self._clock.now(), lambda: rank):
                await self._onboarding.learn(host, self._tell, self._introduce)
        finally:
            self._learners.discard(turn)
            self._places.leave(place)
            self._learning.discard(host)
            self._resume(host)

    async def _locate(self, host: int) -> bool:
        """Hosts at one address share what they may have, unless the user has put them there."""
        if not await self._onboarding.locate(host):
            return False
        address = self.hosts[host].address
        if address is not None and address not in self._targets:
            self._traps.located(host, address)
        return True

    async def _introduce(self, pages: tuple[str, ...], depth: int, originals: Originals) -> float:
        """Pages of a sitemap; what it has cost."""
        cost_s = 0.0
        for start in range(0, len(pages), LINKS_AT_ONCE):
            block = pages[start : start + LINKS_AT_ONCE]
            await self._recorder.committer.caught_up()
            looked_up = await self._recorder.look_up_urls(block)
            began = perf_counter()
            self._settler.poster.introduce(block, depth, originals, looked_up)
            cost_s += perf_counter() - began
            await asyncio.sleep(0)
        return cost_s

    async def _visit(self, lease: Lease, place: RequestSlot, cost_s: float) -> None:
        """The turn of a page, whose leasing has cost so much."""
        host = lease.host
        self._tell(Asked(url=lease.url, cash=self._frontier.ledger.cash(lease.page) / UNIT))
        is_page = False
        try:
            visit = await self._ask(lease, place)
            cost_s += _cost_s(visit.fetched)
            if visit.is_large:
                finished = await self._one_by_one(host, lambda: self._finish(lease, visit))
            else:
                finished = await self._finish(lease, visit)
            is_page, finish_s = finished
            cost_s += finish_s
        finally:
            self.hosts.charge(host, cost_s, self._clock.now())
            if not is_page:
                self.hosts[host].pages -= not lease.again
            self._pages_under_way -= 1

    async def _one_by_one(
        self, host: int, work: Callable[[], Coroutine[None, None, Timed[T]]]
    ) -> Timed[T]:
        """Work that is much for one page: of all hosts the one that has cost least is next.

        The host is asked for nothing meanwhile: what waits is held in memory.
        """
        name = self.hosts[host].pace.name
        self.hosts.begin_reading(host)
        try:
            with self._onboarding.side_requests.reading():
                async with self._much_to_do.held_for(name):
                    done = await work()
        finally:
            self.hosts.end_reading(host, self._clock.now())
        self._much_to_do.charge(name, done.cost_s)
        return done

    async def _finish(self, lease: Lease, visit: Visit) -> Timed[bool]:
        """Read what came and settle it; whether it was a page."""
        fetched, reading = visit.fetched, None
        cost_s = 0.0
        if visit.read is not None:
            read, cost_s = await visit.read()
            if isinstance(read, Failed):
                fetched = read
            elif isinstance(read, ParsedPage):
                reading = read
        has_many = reading is not None and len(reading.links) > LINKS_AT_ONCE
        if has_many and not visit.is_large:
            settled = await self._one_by_one(
                lease.host, lambda: self._settle_links(lease, fetched, reading)
            )
        else:
            settled = await self._settle_links(lease, fetched, reading)
        return Timed(isinstance(fetched, Response), cost_s + settled.cost_s)

    async def _settle_links(
        self, lease: Lease, fetched: FetchResult, reading: ParsedPage | None
    ) -> Timed[None]:
        page = lease.page
        links = _NO_LINKS if reading is None else await self._find_links(page, reading)
        began = perf_counter()
        self._tries[page] = self._tries.get(page, 0) + _is_a_try(fetched)
        self._settle(lease, fetched, reading, links)
        return Timed(None, links.cost_s + perf_counter() - began)

    async def _find_links(self, page: int, reading: ParsedPage) -> FoundLinks:
        """The pages that it links to; of very many some are found while others have their turn."""
        urls = reading.links
        if len(urls) <= LINKS_AT_ONCE or reading.refresh is not None:
            return FoundLinks(await self._recorder.look_up_urls(urls))
        found: dict[str, int] = {}
        introduced: list[int] = []
        depth, cost_s = self._frontier.urls.depth[page] + 1, 0.0
        for start in range(0, len(urls), LINKS_AT_ONCE):
            block = urls[start : start + LINKS_AT_ONCE]
            await self._recorder.committer.caught_up()
            looked_up = await self._recorder.look_up_urls(block)
            began = perf_counter()
            meeting = self._settler.poster.introduce(block, depth, reading.originals, looked_up)
            cost_s += perf_counter() - began
            found.update(zip(block, meeting.pages, strict=True))
            introduced += [row.id for row in meeting.urls]
            await asyncio.sleep(0)
        return FoundLinks(found, introduced, cost_s)

    async def _ask(self, lease: Lease, place: RequestSlot) -> Visit:
        """The host is free again before the page is read, which may take a while."""
        host = lease.host
        try:
            return await self._answer(lease, place)
        finally:
            self._places.leave(place)
            self.hosts.end(host, self._clock.now())

    async def _answer(self, lease: Lease, place: RequestSlot) -> Visit:
        """What came of a request, and what follows for its host."""
        host = lease.host
        try:
            async with asyncio.timeout(None) as patience:
                place.give_up = lambda: patience.reschedule(_AT_ONCE)
                visit = await self._web_access.visit(self._request(lease))
        except TimeoutError:
            self.hosts[host].pace.answers = False
            return Visit(_GAVE_PLACE)
        self.hosts.heard(host, visit.fetched)
        if not self._onboarding.strike(host, visit.fetched):
            self.hosts.heal(host)
        return visit

    def _request(self, lease: Lease) -> Request:
        """For a page that was read before, with what lets the server say that it is the same."""
        was_read = State(self._frontier.state[lease.page]).was_read
        known = self._recorder.pages.document(lease.page) if lease.again and was_read else None
        has_links = self._settings.storing.links
        return Request(
            url=lease.url,
            max_bytes=self._settings.network.max_body_bytes,
            etag=known.etag if known is not None and has_links else None,
            last_modified=known.last_modified if known is not None and has_links else None,
            spelled=self._spelled.get(lease.page),
            suspicious=self._traps.suspicious(lease.host),
        )

    def _settle(
        self, lease: Lease, fetched: FetchResult, reading: ParsedPage | None, links: FoundLinks
    ) -> None:
        """The end of the turn, or not yet."""
        how = decide_outcome(
            lease.url,
            fetched,
            reading,
            self._tries[lease.page],
            max_tries=self._settings.limits.max_tries,
            strip_marks=self._settings.storing.strip_marks,
        )
        if isinstance(how, WasRead):
            how = replace(how, looked_up=links.found, introduced=links.introduced)
        hops = self._hops.get(lease.page, 0)
        end = self._settler.settle(lease.page, lease.url, how, self._clock.today(), hops)
        row = self._record(
            lease.page, fetched, describe_outcome(fetched, self._settings.network, reading, end)
        )
        if isinstance(how, Retry) and how.spelled:
            self._spelled[lease.page] = how.spelled
        if end is None:
            self._leasing.give_back(lease)
            self._tell(Delayed(url=lease.url, detail=f"{row.outcome} {row.detail}".rstrip()))
            return
        self._tries.pop(lease.page, None)
        self._spelled.pop(lease.page, None)
        self._hops.pop(lease.page, None)
        if (other := end.redirected_to) is not None:
            self._hops[other] = max(hops + 1, self._hops.get(other, 0))
        self._replays.fetched()
        self._leasing.end(lease)
        elapsed_s = fetched.elapsed_s
        detail = row.detail
        self._tell(Settled(url=lease.url, state=end.state, detail=detail, elapsed_s=elapsed_s))

    def _record(
        self, page: int, fetched: FetchResult, words: tuple[str, int | None, str]
    ) -> FetchRow:
        name, status, detail = words
        wire_bytes = fetched.wire_bytes if isinstance(fetched, Response) else 0
        now, elapsed_s = self._clock.today(), fetched.elapsed_s
        row = FetchRow(page, now, name, status, wire_bytes, elapsed_s, detail)
        self._recorder.record(row)
        self._recorder.counters.add("requests")
        self._recorder.counters.add("wire_bytes", wire_bytes)
        self._recorder.counters.add("fetched", isinstance(fetched, Response | Unchanged))
        return row


def _cost_s(fetched: FetchResult) -> float:
    """What it cost to undo what the body was coded in."""
    return fetched.cost_s if isinstance(fetched, Response | Refused | Failed) else 0.0


def _is_a_try(fetched: FetchResult) -> bool:
    """Whether the page had its chance."""
    return not (isinstance(fetched, Failed) and fetched.kind is FailureKind.INTERRUPTED)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first; the others followed from it."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

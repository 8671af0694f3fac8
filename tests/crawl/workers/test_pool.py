"""A pool of workers: first ones that the tests play, then real ones that are killed."""

import asyncio
import os
import signal
import time
from collections import deque
from io import BytesIO
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Crawl, Reason, Settings, Settled
from minicrawl.crawl.workers import pool
from minicrawl.crawl.workers.parser import to_disk
from minicrawl.crawl.workers.pool import (
    BUSY,
    FEWEST_LEFT,
    LOOK_EVERY_S,
    MOST_BY_CORES,
    OWN_AT_ONCE,
    SPARE,
    Activity,
    LoadShedder,
    WorkerPool,
    WorkerProcess,
    WorkerSlot,
    open_web_access,
    worker_count,
)
from minicrawl.crawl.workers.supervisor import ChildLost
from minicrawl.crawl.workers.visitor import Visitor, WorkerConfig
from minicrawl.crawl.workers.worker import VisitReply, WorkerCommand
from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb
from minicrawl.model import COORDINATOR, CrawlerId, Failed, ParsedPage, Request, Response
from minicrawl.ports import Timed
from minicrawl.states import State
from minicrawl.web.robots.rules import FORBID_ALL
from minicrawl.web.sitemaps.sitemap import Sitemap
from tests.crawl.children import children, nothing_left_behind
from tests.crawl.coroutines import in_loop
from tests.crawl.fakes import FakeWeb, failed, html, states_of, text
from tests.crawl.workers.large_bodies import A_BLINK_S, PAGE_OF_5_MB
from tests.fetch.wire import answer, wire

A, B, C = "http://a.example/", "http://b.example/", "https://c.example/"
CONFIG = WorkerConfig.of(Settings())
PAGE = Response(status=200, headers={}, body=b"")
VISITED = VisitReply(1, PAGE, Timed(ParsedPage(title="read by a worker")))


class Alternating(LoadShedder):
    """Sheds every other page."""

    def __init__(self) -> None:
        self._turns = cycle((False, True))

    def sheds(self, now: float, worker_cpu_s: float, *, left: int, own: int) -> bool:
        return next(self._turns)


class Hand(WorkerProcess):
    """A worker that gives the answers in `answers`, or ends."""

    def __init__(self, *answers: Any, is_there: bool = True, is_busy: bool = False) -> None:
        self._replies, self.is_over = int(is_there), False
        self.number, self.pid = 3, 4711
        self.cpu_s, self.load_shedder = 0.0, Alternating() if is_busy else LoadShedder()
        self.activity = Activity()
        self.answers = deque(answers)
        self.asked: list[tuple[int, Any]] = []

    async def call(self, command: int, argument: object) -> Any:
        self.asked.append((command, argument))
        await asyncio.sleep(0)
        answer = self.answers.popleft() if self.answers else VISITED
        if isinstance(answer, ChildLost):
            raise answer
        return answer

    async def visit(self, request: Request) -> VisitReply:
        reply: VisitReply = await self.call(WorkerCommand.VISIT, request)
        return reply

    @property
    def urls(self) -> list[str]:
        return [argument.url for command, argument in self.asked if command is WorkerCommand.VISIT]


class Place(WorkerSlot):
    """A slot that always has the same worker."""

    def __init__(self, hand: Hand) -> None:
        self.hand = hand

    def worker(self) -> WorkerProcess:
        return self.hand


class Desk:
    """A pool of played workers, and a web that the own process can reach."""

    def __init__(self, *crew: Hand, first_own: int = 0) -> None:
        self.web = FakeWeb({A: html(title="read here")})
        self.crew, self.apart = crew, Hand()
        here = Visitor(self.web, CONFIG)
        self.workers = WorkerPool(
            here, [Place(hand) for hand in crew], Place(self.apart), first_own
        )

    async def visit(self, url: str) -> str | State:
        """Return the title of the page, or the kind of its failure."""
        visit = await self.workers.visit(Request(url=url))
        if visit.read is None:
            assert isinstance(visit.fetched, Failed)
            return visit.fetched.kind
        reading, _ = await visit.read()
        assert not isinstance(reading, Sitemap)
        return reading.title if isinstance(reading, ParsedPage) else reading.kind


@in_loop
async def test_a_visit_names_the_process_that_sent_the_request() -> None:
    hand = Hand(VISITED, VisitReply(1, failed(State.RESET), None), ChildLost())
    desk = Desk(hand, first_own=1)
    found = [(await desk.workers.visit(Request(url=A))).crawler for _ in range(4)]
    assert found == [COORDINATOR, *3 * [CrawlerId(3, 4711)]]


@in_loop
async def test_a_host_has_one_worker_and_hosts_are_assigned_in_turn() -> None:
    one, other = Hand(), Hand()
    desk = Desk(one, other)
    for url in (A, B, C, f"{A}1", f"{B}1", f"{C}1"):
        assert await desk.visit(url) == "read by a worker"
    assert one.urls == [A, C, f"{A}1", f"{C}1"]
    assert other.urls == [B, f"{B}1"]


@in_loop
async def test_the_own_process_does_the_first_requests_and_those_of_a_starting_worker() -> None:
    desk = Desk(Hand(is_there=False), Hand(), first_own=2)
    titles = [await desk.visit(A) for _ in range(3)]
    assert titles == ["read here"] * 3
    assert await desk.visit(B) == "read by a worker"
    # As after its first reply, for which it cannot be made to wait.
    desk.crew[0]._replies = 1
    assert await desk.visit(A) == "read by a worker"


@in_loop
async def test_the_own_process_does_some_pages_of_a_busy_worker_but_not_beside_suspects() -> None:
    desk = Desk(Hand(VISITED, VISITED, ChildLost(), is_busy=True))
    titles = [await desk.visit(A) for _ in range(5)]
    by_worker = "read by a worker"
    assert titles == [by_worker, "read here", by_worker, "read here", State.LOST]
    assert [await desk.visit(B) for _ in range(3)] == [by_worker] * 3
    desk.apart.answers.append(ChildLost())  # the suspect was the cause
    desk.web.answers[B] = html(title="read here")
    assert [await desk.visit(url) for url in (A, B)] == [State.LOST, "read here"]


@in_loop
async def test_workers_do_other_calls_and_the_own_process_repeats_lost_ones() -> None:
    page = html("/1")
    desk = Desk(Hand("1.2.3.4", page, ChildLost(), ChildLost()))
    assert await desk.workers.locate(A) == "1.2.3.4"
    assert await desk.workers.fetch(Request(url=A)) is page
    assert await desk.workers.locate(A) == "a.example"
    assert await desk.workers.fetch(Request(url=A)) == html(title="read here")
    assert (
        await desk.workers.parse_rules(text("User-agent: *\nDisallow: /"), A)
    ).value == FORBID_ALL


@in_loop
async def test_a_large_page_is_parsed_by_the_worker_that_fetched_it() -> None:
    moved = VISITED._replace(fetched=failed(State.DNS), parsed=None)
    unread = VISITED._replace(number=7, parsed=None)
    hand = Hand(unread, Timed(ParsedPage(title="large")), unread, ChildLost(), moved)
    desk = Desk(hand)
    assert await desk.visit(A) == "large"
    assert hand.asked[1] == (WorkerCommand.PARSE, 7)
    assert await desk.visit(A) == State.INTERRUPTED
    assert await desk.visit(A) == State.DNS
    assert not desk.apart.asked


@in_loop
async def test_large_bodies_of_the_own_process_are_parsed_by_a_worker_that_runs() -> None:
    before = children()
    async with open_web_access(CONFIG, 1) as outside:
        with to_disk(b"abc") as body:
            assert await outside.parse_body(len, body, "a.example") is None
            outside.start()
            parsed = await outside.parse_body(len, body, "a.example")
            assert parsed is not None
            assert parsed.value == 3
            rules = text("User-agent: *\nDisallow: /\n" * 50_000)
            assert (await outside.parse_rules(rules, A)).value == FORBID_ALL
            assert len(children()) == len(before) + 1  # the worker's parser is its child
            assert await outside.parse_body(len, BytesIO(b"abc"), "a.example") is None
            ((_, worker),) = outside.processes()
            worker.is_over = True
            assert await outside.parse_body(len, body, "a.example") is None
            worker.is_over = False


@in_loop
async def test_pages_under_way_when_a_worker_ends_are_fetched_one_by_one_in_quarantine() -> None:
    hand = Hand(*[ChildLost()] * 3)
    desk = Desk(hand)
    pages = [A, f"{A}1", f"{A}2"]
    assert await asyncio.gather(*map(desk.visit, pages)) == [State.LOST] * 3
    desk.apart.answers.extend((VISITED, ChildLost(), VISITED))
    again = await asyncio.gather(*map(desk.visit, pages))
    assert again == ["read by a worker", State.LOST, "read by a worker"]
    assert desk.apart.urls == pages
    await asyncio.gather(*map(desk.visit, pages))
    assert hand.urls == [*pages, A, f"{A}2"]


@in_loop
async def test_a_page_that_a_worker_was_not_busy_with_when_it_ended_is_no_suspect() -> None:
    desk = Desk(Hand(ChildLost(is_to_blame=False), ChildLost()))
    kinds = list(await asyncio.gather(desk.visit(A), desk.visit(f"{A}1")))
    assert kinds == [State.INTERRUPTED, State.LOST]
    await asyncio.gather(desk.visit(A), desk.visit(f"{A}1"))
    assert desk.apart.urls == [f"{A}1"]


@in_loop
async def test_without_workers_no_process_is_started() -> None:
    async with open_web_access(CONFIG, 0) as outside:
        assert outside.processes() == []


def test_workers_are_as_many_as_set_or_as_cores_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker_count(Settings.of(workers=7).network) == 7
    auto = Settings().network
    for cores, wanted in ((1, 0), (2, 1), (3, 2), (64, MOST_BY_CORES)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert worker_count(auto) == wanted
    monkeypatch.delattr(os, "sched_getaffinity")
    for told, wanted in ((None, 0), (2, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda told=told: told)
        assert worker_count(auto) == wanted


BUDGET = 250


@pytest.fixture
def _never_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers send all requests, even those that are made while they start."""
    monkeypatch.setattr(pool, "FIRST_OWN", 0)
    monkeypatch.setattr(WorkerProcess, "is_ready", property(lambda worker: not worker.is_over))


@pytest.mark.slow
@pytest.mark.usefixtures("_never_here")
def test_workers_fetch_the_pages_even_if_each_of_them_is_killed(path: Path) -> None:
    web, settled, killed = DemoWeb(1000), count(1), set[int]()

    def listen(event: object) -> None:
        if isinstance(event, Settled) and next(settled) in (60, 120):
            (oldest, *_) = children()
            killed.add(oldest)
            os.kill(oldest, signal.SIGKILL)

    with nothing_left_behind(), DemoServer(web) as server:
        spread: dict[str, Any] = {"per_host": 4, "per_address": 32, "delay": 0}
        there = [f"*={server.address}"]
        settings = Settings.of(workers=2, pages=BUDGET, store=path, resolve=there, **spread)
        crawl = Crawl(web.seeds, settings)
        crawl.subscribe(listen)
        assert crawl.run() is Reason.BUDGET
    assert len(killed) == 2
    states = list(states_of(path).values())
    assert sum(state.was_read for state in states) == BUDGET
    assert State.LOST not in states


@pytest.mark.usefixtures("_never_here")
def test_a_crawl_that_fails_leaves_no_worker_behind() -> None:
    async def fail() -> None:
        async with open_web_access(WorkerConfig.of(Settings.of(allow_private=True)), 1) as outside:
            assert await outside.locate("http://127.0.0.1/") == "127.0.0.1"
            assert children()
            raise ZeroDivisionError

    with nothing_left_behind(), pytest.raises(ZeroDivisionError):
        asyncio.run(fail())


@pytest.mark.slow
@pytest.mark.usefixtures("_never_here")
@pytest.mark.parametrize("crew", [0, 1])
def test_a_page_of_5_mb_costs_the_loop_less_than_a_blink(crew: int) -> None:
    """All rounds of the loop together are measured, in processor time of its thread."""

    async def work() -> None:
        config = WorkerConfig.of(Settings.of(allow_private=True))
        async with wire(answer(PAGE_OF_5_MB)) as server, open_web_access(config, crew) as outside:
            for _ in range(2):  # the first visit starts processes
                began = time.thread_time()
                visit = await outside.visit(Request(url=server.url()))
                assert visit.read is not None
                reading, _ = await visit.read()
                took_s = time.thread_time() - began
                assert isinstance(reading, ParsedPage)
                assert len(reading.links) == 10_000
            assert took_s < A_BLINK_S

    with nothing_left_behind():
        asyncio.run(work())


def test_the_activity_of_an_idle_process_says_when_its_last_request_began() -> None:
    activity = Activity()
    assert activity.last == ("", 0.0)
    first, second = activity.begin("http://a.example/1"), activity.begin("http://a.example/2")
    _, began = activity.last
    activity.end(first)
    assert activity.last == ("http://a.example/2", began)
    activity.end(second)
    assert activity.last == ("", began)


class Two:
    """The own process and a worker, each busy for a part of the time."""

    def __init__(self) -> None:
        self.now, self.here_s, self.there_s = 1000.0, 7.0, 5.0
        self.shedder = LoadShedder(lambda: self.here_s)
        self.are_shed(0, 0)

    def are_shed(self, here: float, there: float) -> bool:
        """Let both be busy for these parts of an interval. Return whether the next page is shed."""
        self.now += LOOK_EVERY_S
        self.here_s += here * LOOK_EVERY_S
        self.there_s += there * LOOK_EVERY_S
        return self.is_shed()

    def is_shed(self, *, left: int = FEWEST_LEFT, own: int = 0) -> bool:
        return self.shedder.sheds(self.now, self.there_s, left=left, own=own)


@pytest.mark.parametrize(
    ("here", "there", "are_shed"),
    [
        *((0, there, False) for there in (0, 0.1, BUSY - 0.01)),  # the worker waits for the web
        (0.3, 0.95, True),
        (SPARE - 0.01, 0.6, True),
        (0.95, 0.6, False),
        (0.95, 0.99, True),
        (0.99, 0.98, False),
    ],
)
def test_a_busy_worker_sheds_pages_while_the_own_process_has_more_time(
    here: float, there: float, are_shed: bool
) -> None:
    assert Two().are_shed(here, there) == are_shed


def test_few_pages_are_shed_at_once_and_the_worker_keeps_enough() -> None:
    two = Two()
    assert two.are_shed(0.3, 0.95)
    assert two.is_shed(own=OWN_AT_ONCE - 1)
    assert not two.is_shed(own=OWN_AT_ONCE)
    assert not two.is_shed(left=FEWEST_LEFT - 1)


def test_the_decision_holds_until_loads_are_measured_again() -> None:
    two = Two()
    assert two.are_shed(0.3, 0.95)
    two.now += 0.9 * LOOK_EVERY_S
    assert two.is_shed()
    two.now += 0.2 * LOOK_EVERY_S  # the worker has been idle since
    assert not two.is_shed()

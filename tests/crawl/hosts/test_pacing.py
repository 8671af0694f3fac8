"""Pace of the whole crawl, and processor time of hosts."""

import asyncio
import time
from math import inf
from pathlib import Path

import pytest

from minicrawl import Progress, Reason, Settings
from minicrawl.config import Politeness
from minicrawl.crawl.hosts.costs import FREE_S, MANY_TIMES, SHARE, WINDOW_S, FairShare
from minicrawl.crawl.hosts.crawl_pace import closed_s
from minicrawl.crawl.hosts.fair_lock import FairLock
from minicrawl.crawl.hosts.host import Host, NameState
from minicrawl.crawl.hosts.politeness import change_pace, hosts_of
from minicrawl.crawl.progress import ProgressMeter
from minicrawl.web.robots.rules import Rules
from tests.crawl.coroutines import in_jumping_time, in_loop
from tests.crawl.fakes import FakeWeb, Scene, crawl, html, intervals
from tests.crawl.jumping_clock import NOON, FakeClock, Loop

USUAL_S = 0.0005
DEAR_S = 0.05


def crowd(count: int, cost_s: float = USUAL_S) -> FairShare:
    """Return a `FairShare` that knows cheap hosts, each requested a moment ago."""
    fair = FairShare()
    for number in range(count):
        fair.pause_s(f"cheap{number}", cost_s, 0.0)
    return fair


def test_all_expensive_hosts_share_that_half() -> None:
    fair = crowd(5)
    pauses = [fair.pause_s(f"dear{n}", DEAR_S, 1.0) for n in range(64)]
    assert pauses[-1] == pytest.approx(64 * (DEAR_S - FREE_S) / SHARE)


def test_a_host_that_is_alone_waits_for_nobody() -> None:
    fair = FairShare()
    assert fair.pause_s("dear", DEAR_S, 1.0) == 0
    assert fair.pause_s("dear", DEAR_S, 1.0, was_requested=False) == 0


def test_where_all_hosts_cost_the_same_none_waits() -> None:
    fair = crowd(20, cost_s=DEAR_S)
    fair.pause_s("one", DEAR_S, 2.0)  # the usual cost is measured now and then
    assert fair.pause_s("cheap1", DEAR_S * (MANY_TIMES - 1), 2.0) == 0


def test_many_expensive_hosts_do_not_raise_the_usual_cost() -> None:
    fair = crowd(20)
    for round_s in (2.0, 4.0):
        for number in range(64):
            fair.pause_s(f"dear{number}", DEAR_S, round_s)
    assert fair.pause_s("dear0", DEAR_S, 6.0) > DEAR_S
    assert fair.pause_s("cheap0", USUAL_S, 6.0) == 0


def test_a_host_that_was_expensive_long_ago_does_not_count() -> None:
    fair = crowd(5)
    fair.pause_s("was", DEAR_S, 1.0)
    pause_s = fair.pause_s("is", DEAR_S, 2 + WINDOW_S)
    assert pause_s == pytest.approx((DEAR_S - FREE_S) / SHARE)


def test_a_page_settled_without_a_request_may_cost_less_than_a_request() -> None:
    fair = crowd(5)
    assert fair.pause_s("dear", FREE_S / 10, 1.0, was_requested=False) == 0
    assert fair.pause_s("dear", FREE_S, 1.0, was_requested=False) > 0


def test_of_very_many_hosts_only_the_last_are_remembered() -> None:
    fair = crowd(10_000)
    # A pause does not show how much is remembered.
    assert len(fair._means) < 5000


class LockUsers:
    """A lock, and the hosts that held it, in order, after those that it knows the cost of."""

    def __init__(self, **costs_s: float) -> None:
        self.lock, self.held = FairLock(), list[str]()
        for host, cost_s in costs_s.items():
            self.lock.charge(host, cost_s)

    async def hold(self, host: str, cost_s: float = 0.0) -> None:
        async with self.lock.held_for(host):
            self.held.append(host)
            await asyncio.sleep(0)
            self.lock.charge(host, cost_s)


@in_loop
async def test_the_cheapest_waiting_host_is_next_and_of_equals_the_first() -> None:
    users = LockUsers(dear=5.0)
    hosts = ("dear", "dear", "one", "other", "one")
    await asyncio.gather(*(users.hold(host, 1.0) for host in hosts))
    assert users.held == ["dear", "one", "one", "dear", "other"]


@in_loop
async def test_hosts_that_were_never_charged_count_as_one() -> None:
    users = LockUsers(known=0.1)
    strangers = [f"stranger {number}" for number in range(10)]
    await asyncio.gather(*(users.hold(host, 1.0) for host in (*strangers, "known")))
    assert users.held.index("known") <= 1


@pytest.mark.parametrize("has_the_lock", [False, True])
@in_loop
async def test_a_cancelled_waiter_does_not_keep_the_lock_from_others(has_the_lock: bool) -> None:
    users = LockUsers()
    first = asyncio.create_task(users.hold("first"))
    cancelled = asyncio.create_task(users.hold("cancelled"))
    last = asyncio.create_task(users.hold("last"))
    for _ in range(2 if has_the_lock else 1):  # rounds; in the second, the first host releases it
        await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.gather(first, last)
    assert "cancelled" not in users.held
    assert "last" in users.held
    await asyncio.wait_for(users.hold("another"), 60)


@in_loop
async def test_all_waiters_may_be_cancelled_at_once() -> None:
    users = LockUsers()
    tasks = [asyncio.create_task(users.hold(f"{number}")) for number in range(5)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await asyncio.wait_for(users.hold("another"), 60)


def test_of_hosts_that_held_the_lock_only_the_last_are_remembered() -> None:
    lock = FairLock()
    for number in range(5000):
        lock.charge(f"{number}", 1.0)
    # The lock does not show how much it remembers.
    assert len(lock._costs_s) <= 1000


PAGES = 20
SEEDS = [f"https://h{number}.example/" for number in range(PAGES)]


@pytest.mark.parametrize(
    ("hours", "at", "expected_s"),
    [
        ((1320, 360), (23, 0, 0), 0.0),
        ((1320, 360), (5, 59, 59), 0.0),
        ((1320, 360), (6, 0, 0), 16 * 3600.0),
        ((1320, 360), (21, 59, 30), 30.0),
        ((480, 1440), (7, 0, 0), 3600.0),
        ((480, 1440), (23, 59, 59), 0.0),
        ((0, 360), (0, 0, 0), 0.0),
    ],
)
def test_outside_its_hours_a_crawl_waits_for_them(
    hours: tuple[int, int], at: tuple[int, int, int], expected_s: float
) -> None:
    assert closed_s(hours, *at) == expected_s


@pytest.mark.parametrize(("address", "delay_s"), [("127.0.0.1", 0.1), ("203.0.113.9", 0.5)])
def test_an_adaptive_delay_has_no_minimum_on_this_machine(address: str, delay_s: float) -> None:
    name = NameState("a.example", Politeness(delay_s="auto"))
    state = Host(0, "http://a.example", name, address=address)
    name.note_answer(0.02, was_answered=True)
    assert state.delay_s == pytest.approx(delay_s)
    state.keep_rules(Rules(crawl_delay_s=3), inf)
    assert state.delay_s == 3


def test_slower_answers_count_at_once_quicker_ones_by_half_and_quick_failures_not_at_all() -> None:
    name = NameState("a.example", Politeness())
    name.note_answer(9.0, was_answered=False)
    assert name.answer_s is None
    found: list[float | None] = []
    for elapsed_s, was_answered in (
        (1.0, True),
        (3.0, True),
        (1.0, True),
        (0.1, False),
        (8, False),
    ):
        name.note_answer(elapsed_s, was_answered=was_answered)
        found.append(name.answer_s)
    assert found == [1.0, 3.0, 2.0, 2.0, 8.0]


def web() -> FakeWeb:
    return FakeWeb({seed: html() for seed in SEEDS})


def test_requests_of_all_kinds_keep_the_rate(path: Path) -> None:
    fake = web()
    assert crawl(fake, path, *SEEDS, max_rate="2").reason is Reason.EMPTY
    assert len(fake.visits) == 2 * PAGES
    assert min(intervals(fake.visits)) >= 0.5 - 1e-6
    assert max(intervals(fake.visits)) <= 0.5 + 1.0


@pytest.mark.parametrize("step_s", [0.01, 0.03, 0.035, 0.1])
def test_a_pause_may_end_between_two_readings_of_the_clock(path: Path, step_s: float) -> None:
    async def during(scene: Scene) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)

        def now() -> float:
            loop.go_by(step_s)
            return loop.time()

        scene.clock.now = now  # type: ignore[method-assign]  # a clock that goes on at each look

    seeds = [f"{SEEDS[0]}{number}" for number in range(PAGES)]  # a host that never has to wait
    fake = FakeWeb({seed: html() for seed in seeds})
    assert crawl(fake, path, *seeds, during=during, max_rate="2").reason is Reason.EMPTY
    assert set(fake.asked) >= set(seeds)


def test_bytes_keep_the_rate_on_average(path: Path) -> None:
    answer = html(body="x" * 1000)._replace(wire_bytes=1000)
    fake = FakeWeb(dict.fromkeys(SEEDS, answer))
    crawl(fake, path, *SEEDS, max_rate="1kB", concurrency=1)
    assert sum(intervals(fake.visits)) >= (PAGES - 2) * 1.0


def test_outside_its_hours_no_request_begins_and_progress_says_why(path: Path) -> None:
    now = time.localtime(NOON)
    begin = (now.tm_hour * 60 + now.tm_min + 30) % 1440
    hours = f"{begin // 60}:{begin % 60:02}-{(begin // 60 + 2) % 24}"
    fake, said = web(), list[Progress | None]()

    async def during(scene: Scene) -> None:
        await asyncio.sleep(60)
        said.append(scene.crawler.completed(ProgressMeter(scene.recorder, scene.clock).read()))

    assert crawl(fake, path, *SEEDS, during=during, hours=hours).reason is Reason.EMPTY
    first = time.localtime(NOON + min(visit.began for visit in fake.visits))
    assert (first.tm_hour * 60 + first.tm_min - begin) % 1440 < 5
    assert said[0] is not None
    assert said[0].waits_for == f"{begin // 60}:{begin % 60:02} (--hours)"
    assert "(--hours), 0:" in said[0].long_wait


def test_a_crawl_that_waits_for_its_hours_can_be_stopped(path: Path) -> None:
    now = time.localtime(NOON)
    hours = f"{(now.tm_hour + 2) % 24}-{(now.tm_hour + 3) % 24}"
    fake = web()

    async def during(scene: Scene) -> None:
        await asyncio.sleep(5)
        scene.crawler.stop()

    assert crawl(fake, path, *SEEDS, during=during, hours=hours).reason is Reason.STOPPED
    assert fake.visits == []


@pytest.mark.parametrize(("elapsed_s", "least_s", "most_s"), [(2.0, 6.0, 6.5), (0.1, 0.3, 0.6)])
def test_an_adaptive_delay_follows_the_answers(
    elapsed_s: float, least_s: float, most_s: float, path: Path
) -> None:
    answer = html()._replace(elapsed_s=elapsed_s)
    fake = FakeWeb({f"https://a.example/{n}": answer for n in range(6)})
    crawl(fake, path, *fake.answers, delay="auto", delay_factor=3, robots=False)
    assert all(least_s <= gap_s <= most_s for gap_s in intervals(fake.visits)[1:])


@in_jumping_time
async def test_a_shard_keeps_its_share_of_a_new_rate() -> None:
    """If four shards get a new rate of 8 requests a second, they send 8 together."""
    clock, settings = FakeClock(), Settings.of(max_rate="4")
    hosts = hosts_of(settings, [], lambda _host: None, clock)
    for share, rate, expected_s in ((0.25, "8", 1 / 2), (0.5, "8", 1 / 4), (0.5, "16", 1 / 8)):
        assert hosts.pace is not None
        hosts.pace.take_share(share, clock.now())
        change_pace(hosts, settings.with_values({"max-rate": rate}).politeness, clock)
        assert hosts.pace.wait_s(clock.now()) == pytest.approx(expected_s)

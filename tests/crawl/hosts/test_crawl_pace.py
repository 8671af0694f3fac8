"""Pace of the whole crawl: --hours, --max-rate and adaptive delays, by a clock that jumps."""

import asyncio
import time
from itertools import pairwise
from math import inf
from pathlib import Path

import pytest

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.events import Reason
from minicrawl.crawl.hosts.pacing import closed_s
from minicrawl.crawl.hosts.politeness import HostState, NameState, change_pace, hosts_of
from minicrawl.crawl.progress import Progress, ProgressMeter
from minicrawl.web.robots import Rules
from tests.crawl import fakes
from tests.crawl.fakes import FakeClock, FakeWeb, Scene, crawl, html

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
    state = HostState(NameState("a.example"), address=address)
    state.shared.note_answer(0.02, was_answered=True)
    politeness = Politeness(delay_s="auto")
    assert state.delay_s(politeness) == pytest.approx(delay_s)
    state.keep_rules(Rules(crawl_delay_s=3), inf)
    assert state.delay_s(politeness) == 3


def test_slower_answers_count_at_once_quicker_ones_by_half_and_quick_failures_not_at_all() -> None:
    name = NameState("a.example")
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


def gaps(web: FakeWeb) -> list[float]:
    """Return the times between the starts of all requests, robots.txt included."""
    began = sorted(visit.began for visit in web.visits)
    return [later - earlier for earlier, later in pairwise(began)]


def web() -> FakeWeb:
    return FakeWeb({seed: html() for seed in SEEDS})


def test_requests_of_all_kinds_keep_the_rate(tmp_path: Path) -> None:
    fake = web()
    run = crawl(fake, tmp_path / "crawl.db", *SEEDS, max_rate="2", delay=0)
    assert run.reason is Reason.EMPTY
    assert len(fake.visits) == 2 * PAGES
    assert min(gaps(fake)) >= 0.5 - 1e-6
    assert max(gaps(fake)) <= 0.5 + 1.0


@pytest.mark.parametrize("step_s", [0.01, 0.03, 0.035, 0.1])
def test_a_pause_may_end_between_two_readings_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    def now(_: FakeClock) -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, fakes.Loop)
        loop.go_by(step_s)
        return loop.time()

    monkeypatch.setattr(FakeClock, "now", now)
    seeds = [f"{SEEDS[0]}{number}" for number in range(PAGES)]  # a host that never has to wait
    fake = FakeWeb({seed: html() for seed in seeds})
    assert crawl(fake, tmp_path / "crawl.db", *seeds, max_rate="2", delay=0).reason is Reason.EMPTY
    assert set(fake.asked) >= set(seeds)


def test_bytes_keep_the_rate_on_average(tmp_path: Path) -> None:
    answer = html(body="x" * 1000)._replace(wire_bytes=1000)
    fake = FakeWeb(dict.fromkeys(SEEDS, answer))
    crawl(fake, tmp_path / "crawl.db", *SEEDS, max_rate="1kB", concurrency=1)
    took_s = max(visit.began for visit in fake.visits) - min(visit.began for visit in fake.visits)
    assert took_s >= (PAGES - 2) * 1.0


def test_outside_its_hours_no_request_begins_and_progress_says_why(tmp_path: Path) -> None:
    now = time.localtime(fakes.NOON)
    begin = (now.tm_hour * 60 + now.tm_min + 30) % 1440
    hours = f"{begin // 60}:{begin % 60:02}-{(begin // 60 + 2) % 24}"
    fake, said = web(), list[Progress | None]()

    async def during(scene: Scene) -> None:
        await asyncio.sleep(60)
        said.append(scene.crawler.completed(ProgressMeter(scene.recorder, scene.clock).read()))

    run = crawl(fake, tmp_path / "crawl.db", *SEEDS, during=during, hours=hours)
    assert run.reason is Reason.EMPTY
    first = time.localtime(fakes.NOON + min(visit.began for visit in fake.visits))
    assert (first.tm_hour * 60 + first.tm_min - begin) % 1440 < 5
    assert said[0] is not None
    assert said[0].waits_for == f"{begin // 60}:{begin % 60:02} (--hours)"
    assert "(--hours), 0:" in said[0].long_wait


def test_a_crawl_that_waits_for_its_hours_can_be_stopped(tmp_path: Path) -> None:
    now = time.localtime(fakes.NOON)
    hours = f"{(now.tm_hour + 2) % 24}-{(now.tm_hour + 3) % 24}"
    fake = web()

    async def during(scene: Scene) -> None:
        await asyncio.sleep(5)
        scene.crawler.stop()

    assert crawl(fake, tmp_path / "crawl.db", *SEEDS, during=during, hours=hours).reason is (
        Reason.STOPPED
    )
    assert fake.visits == []


def test_an_adaptive_delay_follows_the_answers(tmp_path: Path) -> None:
    pages = {f"https://a.example/{n}": html() for n in range(6)}
    slow = {url: answer._replace(elapsed_s=2.0) for url, answer in pages.items()}
    fake = FakeWeb({**slow})
    crawl(fake, tmp_path / "crawl.db", *slow, delay="auto", delay_factor=3, robots=False)
    assert min(gaps(fake)[1:]) >= 6.0
    fake = FakeWeb({url: answer._replace(elapsed_s=0.1) for url, answer in pages.items()})
    crawl(fake, tmp_path / "b.db", *slow, delay="auto", delay_factor=3, robots=False)
    assert max(gaps(fake)[1:]) <= 0.6


class StoppedClock:
    """A clock that never advances."""

    def now(self) -> float:
        return 100.0

    def today(self) -> float:
        return 100.0


def test_a_shard_keeps_its_share_of_a_new_rate(tmp_path: Path) -> None:
    """If four shards get a new rate of 8 requests a second, they send 8 together."""
    clock, settings = StoppedClock(), Settings.of(store=tmp_path / "crawl.db", max_rate="4")
    hosts = hosts_of(settings, [], lambda _host: None, clock, shards=4)
    former = hosts.pace
    assert former is not None
    for share, rate, expected_s in ((0.25, "8", 1 / 2), (0.5, "8", 1 / 4), (0.5, "16", 1 / 8)):
        assert hosts.pace is not None
        hosts.pace.take_share(share, clock.now())
        change_pace(hosts, settings.with_values({"max-rate": rate}).politeness, clock)
        assert hosts.pace.wait_s(clock.now()) == pytest.approx(expected_s)

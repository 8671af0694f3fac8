"""A crawl that is steered while it runs keeps its promises."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Reason, Settled, Steered
from minicrawl.control import ControlRequest, Reply, Verb
from minicrawl.crawl.progress import ProgressMeter
from minicrawl.crawl.shards import Whole
from minicrawl.crawl.steering.steering import CrawlSteering
from minicrawl.crawl.workers.pool import Activity, WorkerPool
from minicrawl.opic.ledger.money import SMALL_EDGE
from minicrawl.report.integrity.audit import audit
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from tests.crawl.fakes import (
    Answer,
    During,
    FakeWeb,
    Run,
    Scene,
    crawl,
    frontier_of,
    html,
    text,
    waits,
    web_of,
)

A, B = "http://a.example", "http://b.example"


class NoPool(WorkerPool):
    """The pool of a crawl without workers, which records the sizes it is told."""

    def __init__(self) -> None:
        self.activity, self.sizes = Activity(), list[int]()

    def resize(self, workers: int) -> None:
        self.sizes.append(workers)

    def processes(self) -> list[Any]:
        return []


def steering(scene: Scene, pool: WorkerPool | None = None) -> CrawlSteering:
    context = scene.crawler.context
    meter = ProgressMeter(context.recorder, context.clock)
    return CrawlSteering(scene.crawler, pool or NoPool(), 0, meter)


async def send(scene: Scene, verb: Verb, **rest: Any) -> Reply:
    return await steering(scene).handle(ControlRequest(verb=verb, **rest))


def chain(origin: str, pages: int) -> dict[str, Answer]:
    return web_of({f"{origin}/{n}": [f"{origin}/{n + 1}"] for n in range(pages)})


def steer(path: Path, web: dict[str, Answer], during: During, **settings: Any) -> Run:
    """Crawl with requests that take a tenth of a second."""
    return crawl(FakeWeb(web, takes_s=0.1), path, f"{A}/0", during=during, **settings)


def steered(run: Run) -> list[str]:
    return [event.text for event in run.events if isinstance(event, Steered)]


async def requested(scene: Scene, pages: int) -> None:
    while len(scene.web.asked) < pages:
        await asyncio.sleep(0.01)


def test_a_paused_crawl_requests_nothing_until_it_is_resumed(path: Path) -> None:
    seen: list[int] = []

    async def during(scene: Scene) -> None:
        await requested(scene, 5)
        reply = await send(scene, Verb.PAUSE)
        assert reply["state"] == "paused"
        await asyncio.sleep(1)
        seen.append(len(scene.web.asked))
        running_s = scene.recorder.counters.number("running_s")
        await asyncio.sleep(60)
        seen.append(len(scene.web.asked))
        assert scene.recorder.counters.number("running_s") == running_s
        assert (await send(scene, Verb.RESUME))["state"] == "running"

    run = steer(path, chain(A, 15), during)
    assert run.reason is Reason.EMPTY
    assert seen[0] == seen[1]
    assert sum(state is State.FETCHED for state in run.states.values()) == 15
    assert steered(run) == ["paused", "resumed"]


def test_a_paused_crawl_does_not_wake_hosts(path: Path) -> None:
    turns: list[int] = []

    async def during(scene: Scene) -> None:
        await requested(scene, 3)
        await send(scene, Verb.PAUSE)
        await asyncio.sleep(10)
        wake, count = scene.crawler.parts.hosts.wake, 0

        def counting(now: float) -> None:
            nonlocal count
            count += 1
            wake(now)

        scene.crawler.parts.hosts.wake = counting  # type: ignore[method-assign]
        await asyncio.sleep(60)
        turns.append(count)
        await send(scene, Verb.STOP)

    run = steer(path, chain(A, 30), during)
    assert run.reason is Reason.STOPPED
    assert turns == [0]


def test_a_pause_does_not_outlast_the_time_limit_of_the_crawl(path: Path) -> None:
    async def during(scene: Scene) -> None:
        await requested(scene, 3)
        await send(scene, Verb.PAUSE)

    run = steer(path, chain(A, 3000), during, for_=100)
    assert run.reason is Reason.BUDGET


def test_the_budget_of_pages_may_grow_and_shrink(path: Path) -> None:
    async def during(scene: Scene) -> None:
        await requested(scene, 2)
        await send(scene, Verb.SET, values={"pages": "20"})
        await requested(scene, 12)
        await send(scene, Verb.SET, values={"pages": 14})

    run = steer(path, chain(A, 30), during, pages=5)
    assert run.reason is Reason.BUDGET
    assert len(run.asked) == 14
    assert steered(run) == ["pages 20 (was 5)", "pages 14 (was 20)"]
    with reading(path) as connection:
        assert tables.counters(connection)[tables.MAXIMUM] == 14


@pytest.mark.parametrize(("first", "then", "crawl_delay"), [(10, 1, 0), (10, 1, 3), (1, 10, 3)])
def test_a_new_delay_holds_at_once_and_a_crawl_delay_always(
    path: Path, first: int, then: int, crawl_delay: int
) -> None:
    moment: list[float] = []
    robots = text(f"User-agent: *\nCrawl-delay: {crawl_delay}")

    async def during(scene: Scene) -> None:
        await requested(scene, 3)
        moment.append(scene.clock.now())
        await send(scene, Verb.SET, values={"delay": then})

    run = steer(path, {**chain(A, 12), f"{A}/robots.txt": robots}, during, delay=first)
    assert run.reason is Reason.EMPTY
    since = moment[0] - first - 1
    found = waits(visit for visit in run.web.page_visits if visit.began >= since)[1:]
    wanted = max(then, crawl_delay)
    assert len(found) >= 8
    assert all(wanted <= gap + 1e-6 for gap in found)
    assert all(gap <= wanted + 0.5 for gap in found[1:])


def test_the_limit_of_requests_at_once_may_be_raised(path: Path) -> None:
    pages = [f"http://h{host}.example/{n}" for host in range(12) for n in range(10)]
    fake = FakeWeb(web_of({f"{A}/": pages} | {page: [] for page in pages}), takes_s=0.1)
    most: list[int] = []

    async def during(scene: Scene) -> None:
        await requested(scene, 10)
        most.append(scene.web.most_at_once)
        await send(scene, Verb.SET, values={"concurrency": 8})

    crawl(fake, path, f"{A}/", during=during, concurrency=2, per_address=64)
    assert most == [2]
    assert fake.most_at_once == 8


def test_a_rate_holds_from_when_the_user_sets_it_until_there_is_none(path: Path) -> None:
    web, counts = FakeWeb(chain(A, 12), takes_s=0.1), list[int]()

    async def during(scene: Scene) -> None:
        await requested(scene, 4)
        reply = await send(scene, Verb.SET, values={"max-rate": 0.2})
        assert reply["settings"]["max-rate"] == "0.2"
        counts.append(len(scene.web.asked))
        await requested(scene, counts[0] + 3)
        await send(scene, Verb.SET, values={"max-rate": "none"})
        counts.append(len(scene.web.asked))

    crawl(web, path, f"{A}/0", during=during, delay=0.5)
    found = waits(web.page_visits)
    first, last = counts
    slow, quick = found[first : last - 1], found[last:]
    assert all(gap >= 5 - 0.1 - 1e-6 for gap in slow)  # the rate counts from start to start
    assert slow
    assert all(gap < 2 for gap in quick)
    assert quick


def test_the_small_edge_may_change_while_a_crawl_runs(path: Path) -> None:
    async def during(scene: Scene) -> None:
        await requested(scene, 4)
        reply = await send(scene, Verb.SET, values={"small-edge": "0.5"})
        assert reply["settings"]["small-edge"] == 0.5

    steer(path, chain(A, 12), during)
    assert frontier_of(path).small_edge == 0.5
    assert frontier_of(path).terms.small_edge == SMALL_EDGE
    assert audit(path).is_intact
    with reading(path) as connection:
        assert tables.settings(connection)["small-edge"] == 0.5


@pytest.mark.slow
def test_no_request_begins_outside_hours_that_the_user_sets(path: Path) -> None:
    web, closed = FakeWeb(chain(A, 9), takes_s=0.1), list[int]()

    async def during(scene: Scene) -> None:
        await requested(scene, 3)
        hour = time.localtime(scene.crawler.context.clock.today()).tm_hour
        later = f"{(hour + 2) % 24}-{(hour + 3) % 24}"
        await send(scene, Verb.SET, values={"hours": later})
        closed.append(len(scene.web.asked))
        await asyncio.sleep(1800)
        closed.append(len(scene.web.asked))
        await send(scene, Verb.SET, values={"hours": "none"})

    run = crawl(web, path, f"{A}/0", during=during)
    assert run.reason is Reason.EMPTY
    assert closed[1] - closed[0] <= 1


def test_the_number_of_workers_is_passed_to_the_pool(path: Path) -> None:
    pool = NoPool()

    async def during(scene: Scene) -> None:
        steer = steering(scene, pool)
        await requested(scene, 1)
        for wanted in ("3", 0, "auto"):
            reply = await steer.handle(ControlRequest(verb=Verb.SET, values={"workers": wanted}))
            assert reply["workers"] == pool.sizes[-1]

    steer(path, chain(A, 9), during)
    assert pool.sizes[:2] == [3, 0]


@pytest.mark.parametrize("strategy", ["greedy", "siblings", "breadth-first", "random"])
def test_a_url_that_is_added_is_a_seed(path: Path, strategy: str) -> None:
    async def during(scene: Scene) -> None:
        await requested(scene, 3)
        for _ in range(2):
            await send(scene, Verb.ADD, urls=("http://b.example/0", "http://a.example/1"))

    web = FakeWeb({**chain(A, 20), **chain(B, 20)}, takes_s=0.1)
    settings: dict[str, Any] = {"scope": "host", "max_depth": 25, "strategy": strategy}
    run = crawl(web, path, f"{A}/0", during=during, **settings)
    states = run.states
    assert sum(state is State.FETCHED for state in states.values()) == 40
    assert web.asked.count(f"{A}/1") == 1


@pytest.mark.parametrize("continuous", [True, False])
def test_only_a_continuous_crawl_reads_a_pinged_page_again(path: Path, *, continuous: bool) -> None:
    pinged: list[str] = []

    async def during(scene: Scene) -> None:
        await requested(scene, 15)
        asked = scene.web.asked
        # Just read for the first time, this page would be the last one to be read again.
        pinged.append([url for url in asked if asked.count(url) == 1][-1])
        page = scene.recorder.frontier.urls.find(pinged[0])
        await send(scene, Verb.CHANGED, pages=(page, 10**9))
        await requested(scene, 19)
        await send(scene, Verb.STOP)

    run = steer(path, chain(A, 20), during, continuous=continuous)
    assert run.web.asked.count(pinged[0]) == 1 + continuous


@pytest.mark.parametrize(
    ("urls", "says"),
    [
        ((f"{B}/0", f"{B}/1"), ["2 URLs belong to other shards, and cannot be added here"]),
        (
            (f"{B}/0", f"{A}/2"),
            ["1 URL belongs to other shards, and cannot be added here", f"added {A}/2"],
        ),
    ],
)
def test_urls_of_other_shards_are_reported_and_not_added(
    path: Path, urls: tuple[str, ...], says: list[str]
) -> None:
    class ShardOfA(Whole):
        def is_own(self, url: str) -> bool:
            return url.startswith(A)

    async def during(scene: Scene) -> None:
        scene.recorder.shard = ShardOfA()
        await requested(scene, 1)
        await send(scene, Verb.ADD, urls=urls)

    run = steer(path, {**chain(A, 5), **chain(B, 5)}, during)
    assert steered(run) == says


def test_a_seed_brings_pages_that_were_too_deep_within_reach(path: Path) -> None:
    async def during(scene: Scene) -> None:
        await requested(scene, 10)
        await send(scene, Verb.ADD, urls=(f"{A}/3",))

    others = web_of({f"{B}/": [f"{B}/{n}" for n in range(30)]})
    web = FakeWeb({**chain(A, 20), **others}, takes_s=0.1)
    run = crawl(web, path, f"{A}/0", f"{B}/", during=during, max_depth=2)
    assert [run.states[f"{A}/{n}"] for n in range(6)] == [State.FETCHED] * 6
    assert run.states[f"{A}/6"] is State.DEPTH


def test_a_running_crawl_describes_itself_and_its_hosts(path: Path) -> None:
    replies: list[Reply] = []

    async def during(scene: Scene) -> None:
        steer = steering(scene)
        await requested(scene, 3)
        steer.hear(Settled(url=f"{A}/0", state=State.NOT_FOUND))
        replies.append(await steer.handle(ControlRequest(verb=Verb.SHOW)))
        replies.append(await steer.handle(ControlRequest(verb=Verb.HOSTS, hosts=(0, 99))))

    web = FakeWeb({f"{A}/": html("/1", "/2", "/3")}, takes_s=1.0)
    crawl(web, path, f"{A}/", during=during, delay=5, pages=9)
    shown, hosts = replies
    assert shown["state"] == "running"
    assert shown["settings"]["delay"] == 5
    assert shown["settings"]["pages"] == 9
    assert 0 < shown["importance_gathered"] < 1
    assert shown["last_event"] == f"not-found: {A}/0"
    assert [one["name"] for one in shown["crawlers"]] == ["coordinator"]
    ((host, _in_use, wait_s),) = hosts["hosts"]
    assert host == 0
    assert 0 < wait_s <= 6

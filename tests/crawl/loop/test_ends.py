"""Ends of a crawl, on purpose or by an error, and what the next run finds."""

import asyncio
from pathlib import Path

import pytest

from minicrawl import Asked, Ended, Event, Reason, Settled
from minicrawl.crawl.loop import GRACE_S
from minicrawl.errors import StoreError
from minicrawl.model import FetchResult, Request
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch
from tests.crawl.fakes import (
    Disk,
    FakeWeb,
    Scene,
    books_balance,
    crawl,
    crawling,
    frontier_of,
    html,
    moved,
    states_of,
    web_of,
)
from tests.crawl.jumping_clock import in_time
from tests.crawl.loop.webs import A, star, stars, tangle


def test_listeners_hear_of_each_turn_and_of_the_end(path: Path) -> None:
    run = crawl(web_of({f"{A}/": ["/gone"]}), path, f"{A}/", endowment=4)
    assert [type(event) for event in run.events] == [Asked, Settled, Asked, Settled, Ended]
    assert run.events[0] == Asked(url=f"{A}/", cash=5)
    assert run.settled == {f"{A}/": State.FETCHED, f"{A}/gone": State.NOT_FOUND}
    assert run.events[-1] == Ended(reason=Reason.EMPTY)


def test_stop_lets_requests_under_way_finish_and_begins_no_others(path: Path) -> None:
    web = FakeWeb(stars(3, 9), takes_s=2)
    seeds = [f"http://h{n}.example/" for n in range(3)]

    async def stop(scene: Scene) -> None:
        while len(web.visits) < 10 or not web.under_way:
            await asyncio.sleep(0.3)
        began = len(web.visits) + len(web.under_way)
        scene.crawler.stop()
        await asyncio.sleep(1)
        assert len(web.visits) + len(web.under_way) == began

    run = crawl(web, path, *seeds, during=stop)
    assert run.reason is Reason.STOPPED
    assert list(run.states.values()).count(State.FETCHED) == len(web.asked)


def test_a_request_that_outlasts_the_grace_period_is_repeated_by_the_next_run(path: Path) -> None:
    async def never(_: Request) -> FetchResult:
        await asyncio.Event().wait()
        raise AssertionError

    web = FakeWeb(star(A, 2) | {f"{A}/1": never})

    async def stop(scene: Scene) -> None:
        while f"{A}/1" not in web.under_way:
            await asyncio.sleep(0.5)
        stopped = scene.clock.now()
        scene.crawler.stop()
        while web.under_way:
            await asyncio.sleep(0.5)
        assert scene.clock.now() - stopped == pytest.approx(GRACE_S, abs=0.5)

    run = crawl(web, path, f"{A}/", during=stop)
    assert run.reason is Reason.STOPPED
    assert run.states[f"{A}/1"] is State.UNREAD
    web.answers[f"{A}/1"] = html()
    assert crawl(web, path, f"{A}/").states[f"{A}/1"] is State.FETCHED


@pytest.mark.parametrize("cut", [2, 11])
def test_a_resumed_crawl_ends_like_an_uninterrupted_one(cut: int, tmp_path: Path) -> None:
    links = tangle(24, hosts=4, links=5)
    web = web_of(links) | {next(reversed(links)): moved("/moved")}
    seed = next(iter(links))
    whole = crawl(web, tmp_path / "whole.db", seed, delay=1)
    for pages in range(cut, len(links), cut):
        crawl(web, tmp_path / "cut.db", seed, pages=pages, delay=1)
    run = crawl(web, tmp_path / "cut.db", seed, delay=1)
    assert run.states == whole.states


def test_a_finished_crawl_requests_nothing_when_resumed(path: Path) -> None:
    web = FakeWeb(star(A, 3))
    crawl(web, path, f"{A}/")
    before = len(web.visits)
    assert crawl(web, path, f"{A}/").reason is Reason.EMPTY
    assert len(web.visits) == before


def loadable(path: Path) -> bool:
    frontier = frontier_of(path)
    with reading(path) as connection:
        return books_balance(frontier) and tables.last_step(connection) == frontier.last_seq


@pytest.mark.parametrize("bad_commit", [3, 5])
def test_an_error_of_the_store_ends_the_crawl(bad_commit: int, path: Path, disk: Disk) -> None:
    commits: list[Batch] = []

    def fail(batch: Batch) -> None:
        commits.append(batch)
        if len(commits) >= bad_commit:
            raise StoreError("the disk is full")

    disk.before_commit = fail
    web = FakeWeb(star(A, 20), takes_s=0.2)
    with pytest.raises(StoreError, match="the disk is full"):
        crawl(web, path, f"{A}/", delay=1)
    assert len(commits) == bad_commit
    assert not web.under_way
    assert loadable(path)


def test_a_crawl_whose_last_checkpoint_fails_reports_no_end(path: Path, disk: Disk) -> None:
    def fail(_: object) -> None:
        raise StoreError("the disk is full")

    disk.before_checkpoint = fail
    events: list[Event] = []
    with pytest.raises(StoreError):
        crawl(star(A, 2), path, f"{A}/", hear=lambda _, event: events.append(event))
    assert not any(isinstance(event, Ended) for event in events)
    assert loadable(path)


def test_a_bug_ends_the_crawl_and_leaves_a_whole_store(path: Path) -> None:
    def mistake(_: Request) -> FetchResult:
        raise ZeroDivisionError("a mistake")

    web = FakeWeb(star(A, 30) | {f"{A}/20": mistake})
    with pytest.raises(ZeroDivisionError, match="a mistake"):
        crawl(web, path, f"{A}/", delay=1, strategy="breadth-first")
    assert loadable(path)
    web.answers[f"{A}/20"] = html(title="20")
    run = crawl(web, path, f"{A}/", strategy="breadth-first")
    assert set(run.states.values()) == {State.FETCHED}


@pytest.mark.parametrize("after_s", [0, 0.3, 4.2])
def test_a_crawl_that_is_cancelled_leaves_a_whole_store(after_s: float, path: Path) -> None:
    web = FakeWeb(star(A, 12), takes_s=0.2)

    async def cancelled() -> None:
        running = asyncio.create_task(crawling(web, path, [f"{A}/"], delay=1))
        await asyncio.sleep(after_s)
        running.cancel()
        await asyncio.wait((running,))
        assert running.cancelled()

    in_time(cancelled())
    assert not web.under_way
    assert not after_s or loadable(path)
    assert crawl(web, path, f"{A}/").reason is Reason.EMPTY
    assert set(states_of(path).values()) == {State.FETCHED}

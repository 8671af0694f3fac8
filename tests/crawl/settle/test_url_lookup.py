"""Queries of the store beside the crawl are joined, and each caller gets its answer or error."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import pytest

from minicrawl.crawl import events
from minicrawl.crawl.settle.recorder import UrlLookup
from minicrawl.frontier import url_table as url_index
from minicrawl.store import tables
from tests.crawl.fakes import FakeWeb, Scene, crawl, in_time, keeping, web_of
from tests.crawl.settle.recording import A, B, bear

URLS = [f"{A}/{number}" for number in range(9)]
A_WHILE_S = 10.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Store with nine pages."""
    path = tmp_path / "crawl.db"
    with keeping(path) as recorder:
        bear(recorder, *URLS)
        in_time(recorder.committer.commit())
    return path


class SlowStore:
    """A store that answers queries of other threads only when it may."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.may_answer = Event()
        self.fails = False
        self.in_the_loop = 0
        self._paths = tables.paths

    def paths(self, connection: tables.Connection, pages: Sequence[int]) -> list[Any]:
        if current_thread() is main_thread():
            self.in_the_loop += 1
        else:
            self.asked.append(list(pages))
            assert self.may_answer.wait(A_WHILE_S), "the test should have let it answer"
            if self.fails:
                raise sqlite3.OperationalError("disk I/O error")
        return self._paths(connection, pages)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowStore:
    slow = SlowStore()
    monkeypatch.setattr(tables, "paths", slow.paths)
    return slow


@pytest.fixture
def lookup(path: Path) -> Iterator[UrlLookup]:
    with closing(UrlLookup(path)) as lookup:
        yield lookup


def asked_while_busy(
    lookup: UrlLookup, slow: SlowStore, *pages: int
) -> Coroutine[Any, Any, list[Any]]:
    """Ask for these pages while a first query is under way; return all answers and errors."""

    async def work() -> list[Any]:
        tasks = [asyncio.create_task(lookup.homes([0]))]
        while not slow.asked:
            await asyncio.sleep(0)
        tasks += [asyncio.create_task(lookup.homes([page])) for page in pages]
        await asyncio.sleep(0)
        slow.may_answer.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    return work()


# ---------------------------------------------------------------- queries


def test_pages_that_the_store_does_not_have_are_left_out(lookup: UrlLookup) -> None:
    assert in_time(lookup.homes([1, 99])) == {1: (0, "/1")}


def test_pages_wanted_during_a_query_share_the_next_one(lookup: UrlLookup, slow: SlowStore) -> None:
    first, *others = in_time(asked_while_busy(lookup, slow, 5, 2, 5, 7))
    assert slow.asked == [[0], [2, 5, 7]]
    assert first == {0: (0, "/0")}
    assert others == 4 * [{page: (0, f"/{page}") for page in (2, 5, 7)}]


def test_a_cancelled_caller_leaves_the_answer_to_others(lookup: UrlLookup, slow: SlowStore) -> None:
    async def work() -> dict[int, tuple[int, str]]:
        impatient, patient = (asyncio.create_task(lookup.homes([page])) for page in (1, 2))
        while not slow.asked:
            await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.wait((impatient,))
        slow.may_answer.set()
        return await patient

    assert in_time(work()) == {page: (0, f"/{page}") for page in (1, 2)}


def test_an_error_reaches_all_callers_but_no_later_ones(lookup: UrlLookup, slow: SlowStore) -> None:
    slow.fails = True
    failed = in_time(asked_while_busy(lookup, slow, 1, 2))
    assert [type(error) for error in failed] == 3 * [sqlite3.OperationalError]
    slow.fails = False
    assert in_time(lookup.homes([3])) == {3: (0, "/3")}


# ---------------------------------------------------------------- crawls


@pytest.fixture
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep hardly any URL in memory until it is met."""
    monkeypatch.setattr(url_index, "RECENT", 1)
    monkeypatch.setattr(url_index, "ROOM", 1)


@pytest.mark.usefixtures("_forgetful")
def test_a_page_whose_commit_is_pending_is_met(path: Path) -> None:
    new = [f"{B}/new{number}" for number in range(4)]
    with keeping(path) as recorder:
        bear(recorder, *new)
        in_time(recorder.look_up_urls(new))
        assert recorder.meet(new, 0).pages == [9, 10, 11, 12]


def test_recent_and_new_urls_are_not_looked_up(path: Path, slow: SlowStore) -> None:
    with keeping(path) as recorder:
        slow.may_answer.set()
        in_time(recorder.look_up_urls(URLS))
        slow.asked.clear()
        in_time(recorder.look_up_urls([*URLS, f"{B}/new"]))
        assert slow.asked == []


def test_a_slow_lookup_delays_only_the_page_that_needs_it(tmp_path: Path, slow: SlowStore) -> None:
    links = {
        f"{A}/": [f"{A}/1", f"{A}/2", f"{B}/"],
        f"{A}/1": [f"{A}/2"],
        f"{A}/2": [],
        f"{B}/": [],
    }
    path, seed = tmp_path / "crawl.db", f"{A}/"
    assert crawl(web_of(links), path, seed, pages=1).settled.keys() == {seed}
    assert not slow.asked

    def hear(_: Scene, event: events.Event) -> None:
        if isinstance(event, events.Settled) and event.url == f"{B}/":
            slow.may_answer.set()

    run = crawl(FakeWeb(web_of(links)), path, seed, hear=hear)
    assert slow.asked == [[2]]
    assert {*run.settled} == links.keys() - {seed}
    assert run.asked.index(f"{A}/1") < run.asked.index(f"{B}/")
    assert [*run.settled].index(f"{A}/1") > [*run.settled].index(f"{B}/")


@pytest.mark.usefixtures("_forgetful")
def test_the_loop_does_not_query_urls_looked_up_before(tmp_path: Path, slow: SlowStore) -> None:
    """The loop queries the seed alone, even if hardly any URL stays in memory until it is met."""
    slow.may_answer.set()
    urls = [f"{A}/", *URLS]
    links = {url: [other for other in urls if other != url] for url in urls}
    path = tmp_path / "crawl.db"
    crawl(web_of(links), path, urls[0], pages=1)
    slow.in_the_loop = 0
    assert {*crawl(web_of(links), path, urls[0]).settled} == {*URLS}
    assert slow.asked
    assert slow.in_the_loop == 1

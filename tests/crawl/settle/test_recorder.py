"""Records are known at once, and in the store with the next commit."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import pytest

from minicrawl import Event as CrawlEvent, Settled
from minicrawl.crawl.record import commits
from minicrawl.crawl.record.commits import COMMIT_EVERY_S
from minicrawl.crawl.record.known_rows import UrlLookup
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.frontier import url_table as url_index
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch
from tests.crawl.coroutines import in_jumping_time
from tests.crawl.fakes import Disk, FakeWeb, Scene, crawl, keeping, web_of
from tests.crawl.jumping_clock import in_time
from tests.crawl.settle.recording import A, B, bear, document, steps_in, visit


def test_records_are_found_before_and_after_their_commit(recorder: Recorder) -> None:
    bear(recorder, f"{A}/", f"{A}/1")
    visit(recorder, 0, 1)
    recorder.describe(document(0, "before"))
    for _ in range(2):
        assert recorder.pages.url_of(1) == f"{A}/1"
        assert list(recorder.frontier.spendings.of(0).links) == [1]
        assert recorder.pages.document(0) == document(0, "before")
        assert recorder.pages.document(1) is None
        in_time(recorder.committer.commit())


def test_without_news_nothing_is_written(recorder: Recorder, disk: Disk) -> None:
    disk.takes_batches = False
    in_time(recorder.committer.commit())
    assert disk.tries == 0


def test_steps_are_committed_at_intervals_and_at_the_end(recorder: Recorder, path: Path) -> None:
    async def work() -> None:
        committing = asyncio.create_task(recorder.committer.keep())
        await asyncio.sleep(0)
        bear(recorder, f"{A}/")
        await asyncio.sleep(COMMIT_EVERY_S / 2)
        assert steps_in(path) == 0
        await asyncio.sleep(COMMIT_EVERY_S)
        assert steps_in(path) == 1
        bear(recorder, f"{A}/1")
        recorder.committer.finish()
        await committing

    in_time(work())
    with reading(path) as connection:
        assert tables.saved(connection)[0] == tables.last_step(connection) == 2


@in_jumping_time
async def test_a_full_batch_is_committed_at_once(recorder: Recorder, path: Path) -> None:
    committing = asyncio.create_task(recorder.committer.keep())
    await asyncio.sleep(0)
    for number in range(commits.STEPS_A_BATCH):
        bear(recorder, f"{A}/{number}")
    began = asyncio.get_running_loop().time()
    while not steps_in(path):
        await asyncio.sleep(0.01)
    assert asyncio.get_running_loop().time() - began < COMMIT_EVERY_S
    recorder.committer.finish()
    await committing


@pytest.mark.parametrize(
    ("urls", "chars"), [(commits.MANY_URLS, 3), (1000, commits.MANY_CHARS // 1000)]
)
@in_jumping_time
async def test_a_page_with_many_or_long_new_urls_waits_until_they_are_written(
    recorder: Recorder, urls: int, chars: int
) -> None:
    bear(recorder, *(f"{A}/{number:0{chars - 1}}" for number in range(urls - 1)))
    await recorder.committer.caught_up()  # returns at once, though nothing is written
    bear(recorder, f"{A}/last")
    bear(recorder, f"{A}/{'x' * chars}")
    waiting = asyncio.create_task(recorder.committer.caught_up())
    await asyncio.sleep(0)
    assert not waiting.done()
    writing = asyncio.create_task(recorder.committer.keep())
    await waiting
    recorder.committer.finish()
    await writing


def test_many_changed_rows_cause_a_checkpoint(recorder: Recorder, path: Path) -> None:
    pages = bear(recorder, f"{A}/", f"{A}/1")
    links = [pages[1]] * (commits.CHANGES_A_CHECKPOINT // 2)  # each changes a row
    for page, watermark in zip(pages, (0, 3), strict=True):
        visit(recorder, page, *links)
        in_time(recorder.committer.commit())
        with reading(path) as connection:
            assert tables.saved(connection)[0] == watermark


@in_jumping_time
async def test_steps_during_a_commit_are_kept(recorder: Recorder, path: Path, disk: Disk) -> None:
    written = Event()

    def wait(_: Batch) -> None:
        written.wait()

    disk.before_commit = wait
    bear(recorder, f"{A}/")
    recorder.describe(document(0, "before"))
    writing = asyncio.create_task(recorder.committer.commit())
    await asyncio.sleep(0)
    recorder.describe(document(0, "after"))
    bear(recorder, f"{A}/1")
    written.set()
    await writing
    assert recorder.pages.document(0) == document(0, "after")
    assert recorder.pages.url_of(1) == f"{A}/1"
    assert steps_in(path) == 1
    await recorder.committer.commit()
    assert steps_in(path) == 2


URLS = [f"{A}/{number}" for number in range(9)]
A_WHILE_S = 10.0


@pytest.fixture
def nine_pages(path: Path) -> Path:
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
def lookup(nine_pages: Path) -> Iterator[UrlLookup]:
    with closing(UrlLookup(nine_pages)) as lookup:
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


@pytest.fixture
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep hardly any URL in memory until it is met."""
    monkeypatch.setattr(url_index, "GENERATION", 1)
    monkeypatch.setattr(url_index, "ROOM", 1)


@pytest.mark.usefixtures("_forgetful")
def test_a_page_whose_commit_is_pending_is_met(nine_pages: Path) -> None:
    new = [f"{B}/new{number}" for number in range(4)]
    with keeping(nine_pages) as recorder:
        bear(recorder, *new)
        in_time(recorder.look_up_urls(new))
        assert recorder.meet(new, 0).pages == [9, 10, 11, 12]


def test_recent_and_new_urls_are_not_looked_up(nine_pages: Path, slow: SlowStore) -> None:
    with keeping(nine_pages) as recorder:
        slow.may_answer.set()
        in_time(recorder.look_up_urls(URLS))
        slow.asked.clear()
        in_time(recorder.look_up_urls([*URLS, f"{B}/new"]))
        assert slow.asked == []


def test_a_slow_lookup_delays_only_the_page_that_needs_it(path: Path, slow: SlowStore) -> None:
    links = {
        f"{A}/": [f"{A}/1", f"{A}/2", f"{B}/"],
        f"{A}/1": [f"{A}/2"],
        f"{A}/2": [],
        f"{B}/": [],
    }
    seed = f"{A}/"
    assert crawl(web_of(links), path, seed, pages=1).settled.keys() == {seed}
    assert not slow.asked

    def hear(_: Scene, event: CrawlEvent) -> None:
        if isinstance(event, Settled) and event.url == f"{B}/":
            slow.may_answer.set()

    run = crawl(FakeWeb(web_of(links)), path, seed, hear=hear)
    assert slow.asked == [[2]]
    assert {*run.settled} == links.keys() - {seed}
    assert run.asked.index(f"{A}/1") < run.asked.index(f"{B}/")
    assert [*run.settled].index(f"{A}/1") > [*run.settled].index(f"{B}/")


@pytest.mark.usefixtures("_forgetful")
def test_the_loop_does_not_query_urls_looked_up_before(path: Path, slow: SlowStore) -> None:
    """The loop queries the seed alone, even if hardly any URL stays in memory until it is met."""
    slow.may_answer.set()
    urls = [f"{A}/", *URLS]
    links = {url: [other for other in urls if other != url] for url in urls}
    crawl(web_of(links), path, urls[0], pages=1)
    slow.in_the_loop = 0
    assert {*crawl(web_of(links), path, urls[0]).settled} == {*URLS}
    assert slow.asked
    assert slow.in_the_loop == 1

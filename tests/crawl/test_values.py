"""Crawls by value: scores are logged, so that a crawl can be resumed, checked and explained."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from math import nan
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from minicrawl import Crawl, PageRead, Settings, Store, Warned
from minicrawl.crawl.workers.scoring import PageScorer, page_read
from minicrawl.errors import UsageError
from minicrawl.model import FULL_VALUE, ParsedPage, Response
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.explanation import explain
from minicrawl.store import tables
from minicrawl.store.reader import reading
from tests.crawl.fakes import loaded_and_folded
from tests.crawl.jumping_clock import in_time

HOST = "http://a.example"
TOPICS = 6


def answer(request: httpx.Request) -> httpx.Response:
    """A page of a topic links to pages of the same topic; topic 1 is wanted."""
    if request.url.path == "/robots.txt":
        return httpx.Response(404)
    _, topic, number = (*request.url.path.split("/"), "", "")[:3]
    if not topic:
        return httpx.Response(200, html="".join(f"<a href=/{n}/0>x</a>" for n in range(TOPICS)))
    links = [f"/{topic}/{5 * int(number) + step}" for step in range(1, 6)]
    text = f"page {number} of topic {topic}" + " wanted" * (topic == "1")
    return httpx.Response(200, html=text + "".join(f"<a href={link}>x</a>" for link in links))


WEB = httpx.MockTransport(answer)


def of_topic(page: PageRead) -> float:
    return float("wanted" in page.text)


def run(
    path: Path, pages: int, own: Any = None, *, in_no_time: bool = False, **settings: Any
) -> list[str]:
    """Crawl on, and return the warnings. Time in which a scorer hangs may be skipped."""
    usual: dict[str, Any] = {
        "delay": 0,
        "address_delay": 0,
        "concurrency": 1,
        "barren_pages": "none",
        "keep": "none",
    }
    made = Settings.of(**(usual | {"store": str(path), "pages": pages} | settings))
    crawl, heard = Crawl([HOST], made, transport=WEB, score=own), list[str]()
    crawl.subscribe(lambda event: heard.append(event.text) if isinstance(event, Warned) else None)
    if in_no_time:
        in_time(crawl.run_async())
    else:
        crawl.run()
    return heard


def values(path: Path) -> dict[str, float | None]:
    with Store.open(path) as store:
        found = (page for page in store.pages() if page.state == "fetched")
        return {page.url.removeprefix(HOST): page.value for page in found}


def follows_from_log(path: Path) -> bool:
    """Return whether the loaded estimate of values is the one that all steps of the log make."""
    loaded, folded = (frontier.values for frontier in loaded_and_folded(path))
    return loaded is not None and folded is not None and loaded.state() == folded.state()


@pytest.mark.slow
def test_valuable_pages_come_first_and_their_estimates_follow_from_the_log(path: Path) -> None:
    for pages in (20, 60):  # the second run resumes the first
        run(path, pages, of_topic)
        assert follows_from_log(path)
    found = values(path)
    assert found == {url: float(url.startswith("/1/")) for url in found}
    assert sum(url.startswith("/1/") for url in found) > 30
    plain = path.with_name("plain.db")
    run(plain, 60)
    assert sum(url.startswith("/1/") for url in values(plain)) < 20
    assert audit(path).is_intact
    with Store.open(path) as store:
        unread = next(page.url for page in store.pages() if page.state == "unread")
    with snapshot(path, ordered=True) as seen:
        reasons = explain(seen, unread).reasons
        assert any("expected value" in one and "host" in one for one in reasons)
        assert any("1.00" in one for one in explain(seen, f"{HOST}/1/0").reasons)


def committed(path: Path) -> int:
    with closing(sqlite3.connect(path)) as store:
        return int(store.execute("SELECT count(*) FROM scored").fetchone()[0])


def test_a_kill_loses_no_value_that_was_committed(path: Path) -> None:
    """A copy of the files in the middle of a crawl is what a kill leaves."""
    killed = path.with_name("killed.db")

    def score(page: PageRead) -> float:
        if page.url.endswith("/1/5") and not killed.exists():
            while not committed(path):
                time.sleep(0.01)
            for suffix in ("", "-wal"):
                shutil.copyfile(f"{path}{suffix}", f"{killed}{suffix}")
        return of_topic(page)

    run(path, 40, score)
    assert killed.exists()
    with closing(sqlite3.connect(killed)) as store:
        steps = store.execute("SELECT seq, page, value FROM scored ORDER BY seq").fetchall()
        last = store.execute("SELECT max(seq) FROM steps").fetchone()[0]
    assert steps
    with closing(sqlite3.connect(path)) as store:
        sql = "SELECT seq, page, value FROM scored WHERE seq <= ? ORDER BY seq"
        assert store.execute(sql, (last,)).fetchall() == steps
    run(killed, 40, of_topic)
    assert follows_from_log(killed)
    assert all(value is not None for value in values(killed).values())
    assert audit(killed).is_intact


async def of_a_coroutine(page: PageRead) -> float:
    await asyncio.sleep(0)
    return of_topic(page)


def test_a_coroutine_function_may_score(path: Path) -> None:
    assert run(path, 8, of_a_coroutine) == []
    assert values(path)["/1/0"] == 1


def hang(_page: PageRead) -> None:
    Event().wait()


async def wait(_page: PageRead) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (lambda _page: 1 / 0, "ZeroDivisionError"),
        (lambda _page: nan, "nan is not a number"),
        (lambda _page: 1.5, "1.5 is not"),
        (lambda _page: "x", "x"),
        (lambda _page: None, "None is not"),
        (hang, "longer than"),
        (wait, "longer than"),
    ],
)
def test_pages_on_which_a_scorer_fails_have_no_value_and_the_crawl_goes_on(
    path: Path, score: Callable[[PageRead], Any], told: str
) -> None:
    (line,) = run(path, 3, score, in_no_time=told == "longer than")
    assert told in line
    assert set(values(path).values()) == {None}
    assert len(values(path)) == 3


def test_no_page_is_scored_beside_one_that_takes_too_long(path: Path) -> None:
    calls, may_end = list[str](), Event()

    def slow(page: PageRead) -> float:
        calls.append(page.url)
        may_end.wait(60)
        return 1.0

    try:
        run(path, 5, slow, in_no_time=True)
    finally:
        may_end.set()
    assert len(calls) == 1
    assert set(values(path).values()) == {None}


def test_scorers_of_packages_run_in_a_process_and_the_largest_value_counts(path: Path) -> None:
    run(path, 8, score=["url:/1/", "words:wanted,harbour", "url:/2/"])
    found = values(path)
    assert found["/1/0"] == found["/2/0"] == 1
    assert found["/0/0"] == 0
    with reading(path) as connection:
        kept = tables.settings(connection)["score"]
    assert kept == ["url:/1/", "words:wanted,harbour", "url:/2/"]


@pytest.mark.slow
def test_a_scorer_that_hangs_is_killed() -> None:
    async def score(pattern: str, within_s: float) -> ParsedPage:
        scorer = PageScorer([f"url:{pattern}"], within_s)
        page = page_read(f"{HOST}/", Response(status=200, headers={}, body=b""), ParsedPage())
        try:
            return await scorer.scored(page, ParsedPage(), BytesIO())
        finally:
            await scorer.close()

    assert asyncio.run(score("/", 10.0)).value == FULL_VALUE
    hung = asyncio.run(score("(.*.*.*.*.*.*)*!", 0.5))
    assert "stopped: not parsed within 0.5 s of processor time" in hung.unscored
    assert hung.value is None


def test_without_a_scorer_no_values_are_stored_and_none_are_estimated(path: Path) -> None:
    run(path, 5)
    with reading(path) as connection:
        assert not tables.has_values(connection)
        assert not any(name.startswith("value") for name in tables.siblings(connection))


@pytest.mark.parametrize("strategy", ["greedy", "breadth-first"])
def test_an_order_that_ignores_values_is_refused(path: Path, strategy: str) -> None:
    with pytest.raises(UsageError, match="--score needs --strategy siblings"):
        run(path, 1, of_topic, strategy=strategy)


def test_values_are_whole_numbers_in_the_log(path: Path) -> None:
    run(path, 2, lambda _page: 0.25)
    with closing(sqlite3.connect(path)) as store:
        found = store.execute("SELECT DISTINCT value FROM scored").fetchall()
    assert found == [(round(FULL_VALUE / 4),)]

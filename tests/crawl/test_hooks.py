"""A crawl calls the hooks of a Python program, and loses nothing when they raise."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
import respx
from fastapi import FastAPI

from minicrawl import Crawl, PageRead, Progress, Reason, Settings, Store, Warned
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.report.integrity.audit import audit
from minicrawl.report.links.written_links import links_of
from minicrawl.report.snapshot import snapshot
from tests.crawl.fakes import frontier_of
from tests.crawl.jumping_clock import in_time

HOST = "http://a.example"
PAGES = {
    "/": '<title>Home</title><a href="/b">b</a> <a href="/c">c</a>',
    "/b": '<title>B</title><a href="/d">d</a>',
    "/c": "<title>C</title>the third",
    "/d": "<title>D</title>the fourth",
}


def answer(request: httpx.Request) -> httpx.Response:
    body = PAGES.get(request.url.path)
    return httpx.Response(404) if body is None else httpx.Response(200, html=body)


Web = Callable[[httpx.Request], httpx.Response]
WEB = httpx.MockTransport(answer)


@pytest.fixture
def settings(path: Path) -> Settings:
    return Settings.of(delay=0, address_delay=0, store=str(path))


def crawl(settings: Settings, *seeds: str, web: Web = answer, **hooks: Any) -> Reason:
    return Crawl(seeds, settings, transport=httpx.MockTransport(web), **hooks).run()


def states(settings: Settings) -> dict[str, str]:
    with Store.open(settings.storing.store) as store:
        return {page.url.removeprefix(HOST): page.state for page in store.pages()}


def test_of_several_exceptions_the_first_is_raised(settings: Settings) -> None:
    def refuse(url: str) -> bool:
        raise ValueError(url)

    with pytest.raises(ValueError, match=r"^http://a\.example/$"):
        crawl(settings, f"{HOST}/", f"{HOST}/b", accept=refuse)


def test_respx_answers(settings: Settings) -> None:
    with respx.mock(assert_all_called=False) as web:
        web.get(f"{HOST}/robots.txt").respond(404)
        web.get(f"{HOST}/").respond(html=PAGES["/c"])
        assert Crawl([HOST], settings, transport=httpx.AsyncHTTPTransport()).run() is Reason.EMPTY
    assert states(settings) == {"/": "fetched"}


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "localhost", "x.localhost"])
def test_links_to_private_addresses_are_always_refused(settings: Settings, host: str) -> None:
    def lead_inside(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, html=f'<a href="http://{host}/secret">in</a>')

    crawl(settings, HOST, web=lead_inside)
    assert states(settings)[f"http://{host}/secret"] == "address"


class TestAccept:
    def test_a_refused_page_is_known_and_the_next_run_asks_its_own_filter(
        self, settings: Settings
    ) -> None:
        crawl(settings, HOST, accept=lambda url: not url.endswith("/b"))
        assert states(settings) == {"/": "fetched", "/b": "scope", "/c": "fetched"}
        crawl(settings, accept=lambda url: not url.endswith("/d"))
        assert states(settings)["/b"] == "fetched"
        assert states(settings)["/d"] == "scope"
        crawl(settings)
        assert states(settings) == dict.fromkeys(PAGES, "fetched")


class TestOnPage:
    @pytest.mark.parametrize("workers", [0, 1])
    def test_the_hook_gets_the_content_of_each_page(self, settings: Settings, workers: int) -> None:
        read: dict[str, PageRead] = {}

        def hear(page: PageRead) -> None:
            read[page.url.removeprefix(HOST)] = page

        crawl(settings.with_values({"workers": workers}), HOST, on_page=hear)
        assert {path: page.text for path, page in read.items()} == PAGES
        home = read["/"]
        assert (home.status, home.title, home.cut) == (200, "Home", "")
        assert home.links == (f"{HOST}/b", f"{HOST}/c")
        assert home.headers["content-type"].startswith("text/html")

    def test_after_an_exception_the_next_run_hands_the_page_over(self, settings: Settings) -> None:
        handed: list[str] = []

        def fail_at_c(page: PageRead) -> None:
            if page.url.endswith("/c"):
                raise ZeroDivisionError(page.url)
            handed.append(page.url.removeprefix(HOST))

        with pytest.raises(ZeroDivisionError, match="/c"):
            crawl(settings, HOST, on_page=fail_at_c)
        assert states(settings)["/c"] == "unread"
        assert frontier_of(Path(settings.storing.store)).ledger.missing() == 0
        on_page = lambda page: handed.append(page.url.removeprefix(HOST))  # noqa: E731
        assert crawl(settings, on_page=on_page) is Reason.EMPTY
        assert states(settings) == dict.fromkeys(PAGES, "fetched")
        assert sorted(handed) == sorted(PAGES)

    @pytest.mark.slow
    def test_a_page_that_raises_after_a_failure_is_not_given_up(self, settings: Settings) -> None:
        asked: list[str] = []

        def fail_once(request: httpx.Request) -> httpx.Response:
            asked.append(request.url.path)
            return httpx.Response(500) if asked.count("/c") == 1 else answer(request)

        def fail(page: PageRead) -> None:
            raise ZeroDivisionError(page.url)

        with pytest.raises(ZeroDivisionError):
            crawl(settings, f"{HOST}/c", web=fail_once, on_page=fail)
        assert asked.count("/c") == 2
        assert states(settings) == {"/c": "unread"}

    @pytest.mark.parametrize(("on_error", "calls"), [("retry", 2), ("skip", 1)])
    def test_a_page_is_retried_or_skipped_without_another_request(
        self, settings: Settings, on_error: str, calls: int
    ) -> None:
        called: list[str] = []
        warned: list[str] = []

        def fail_once(page: PageRead) -> None:
            called.append(page.url)
            if called.count(f"{HOST}/c") == 1 and page.url.endswith("/c"):
                raise ZeroDivisionError

        run = Crawl([HOST], settings, transport=WEB, on_page=fail_once, on_error=on_error)
        run.subscribe(lambda told: warned.append(str(told)), (Warned,))
        assert in_time(run.run_async()) is Reason.EMPTY
        assert called.count(f"{HOST}/c") == calls
        assert len(called) == len(PAGES) + calls - 1
        assert [f"{HOST}/c" in line for line in warned] == [True] * (on_error == "skip")
        assert states(settings) == dict.fromkeys(PAGES, "fetched")

    def test_after_the_last_retry_the_exception_ends_the_crawl(self, settings: Settings) -> None:
        called: list[str] = []

        def fail(page: PageRead) -> None:
            called.append(page.url)
            raise ZeroDivisionError

        run = Crawl([HOST], settings, transport=WEB, on_page=fail, on_error="retry")
        with pytest.raises(ZeroDivisionError):
            in_time(run.run_async())
        assert len(called) == 3

    def test_an_unknown_way_to_handle_errors_is_refused(self, settings: Settings) -> None:
        with pytest.raises(UsageError, match="on_error"):
            Crawl([HOST], settings, on_error="ignore")

    @pytest.mark.parametrize("keep", ["none", "links"])
    def test_an_enqueued_url_is_a_link_of_the_page(
        self, settings: Settings, keep: Literal["none", "links"]
    ) -> None:
        urls = "d?sid=1#x", "/d?sid=1", "/b", "/c", "mailto:x", "http://10.0.0.1/", "/never"
        answers: list[bool] = []

        def find(page: PageRead) -> None:
            if page.url == f"{HOST}/c":
                answers.extend(map(page.enqueue, urls))

        focused = Settings.of(
            delay=0, store=settings.storing.store, keep=keep, deny=["/never"], weight_internal=0.5
        )
        crawl(focused, f"{HOST}/c", on_page=find)
        assert answers == [True, True, True, False, False, True, True]
        path = Path(settings.storing.store)
        with Store.open(path) as store:
            linked = {page.url: page.state for page in store.links(f"{HOST}/c")}
        assert linked[f"{HOST}/b"] == "fetched"
        assert linked[f"{HOST}/never"] == "scope"
        assert linked["http://10.0.0.1/"] == "address"
        assert len(linked) == 4
        assert audit(path).is_intact

    def test_a_link_of_the_page_that_is_enqueued_too_keeps_its_text(
        self, settings: Settings
    ) -> None:
        def enqueue(page: PageRead) -> None:
            page.enqueue("/b")

        crawl(settings.with_values({"keep": "links"}), HOST, on_page=enqueue)
        with snapshot(Path(settings.storing.store)) as seen:
            texts = {link.target: link.text for link in links_of(seen, f"{HOST}/")}
        assert texts == {f"{HOST}/b": "b", f"{HOST}/c": "c"}

    @pytest.mark.parametrize(("on_error", "fetched"), [("retry", ["/c", "/d"]), ("skip", ["/c"])])
    def test_urls_that_a_call_enqueued_before_it_raised_do_not_count(
        self, settings: Settings, on_error: str, fetched: list[str]
    ) -> None:
        calls: list[str] = []

        def fail_once(page: PageRead) -> None:
            calls.append(page.url)
            page.enqueue("/b" if len(calls) == 1 else "/d")
            if len(calls) == 1:
                raise ZeroDivisionError

        seeds = [f"{HOST}/c"]
        run = Crawl(seeds, settings, transport=WEB, on_page=fail_once, on_error=on_error)
        in_time(run.run_async())
        assert states(settings) == dict.fromkeys(fetched, "fetched")

    def test_kept_pages_are_handed_over_again_without_requests(self, settings: Settings) -> None:
        seen: list[list[PageRead]] = [[], []]
        kept = settings.with_values({"keep": "pages"})
        crawl(kept, HOST, on_page=seen[0].append)

        async def hear(page: PageRead) -> None:
            await asyncio.sleep(0)
            seen[1].append(page)

        async def in_notebook(store: Store) -> int:
            return store.replay(lambda _page: None)

        with Store.open(settings.storing.store) as store:
            assert store.replay(hear) == len(PAGES)
            assert asyncio.run(in_notebook(store)) == len(PAGES)
            assert store.body(f"{HOST}/b") == PAGES["/b"].encode()
            assert store.replay(print, host="a.example") == len(PAGES)
        first, again = (sorted(pages, key=lambda page: page.url) for pages in seen)
        assert first == again

    def test_a_store_of_texts_cannot_be_replayed(self, settings: Settings) -> None:
        crawl(settings.with_values({"keep": "text"}), HOST)
        with Store.open(settings.storing.store) as store, pytest.raises(UsageError, match="--keep"):
            store.replay(print)

    def test_a_second_reading_has_another_number(self, settings: Settings) -> None:
        readings: list[int] = []
        for _ in range(2):
            again = settings.with_values({"refresh": 1.0})
            note = lambda page: readings.append(page.reading)  # noqa: E731
            crawl(again, f"{HOST}/c", on_page=note)
        assert readings == [0, 1]

    @pytest.mark.slow
    def test_a_sink_has_each_page_once_whenever_the_crawl_is_killed(self, tmp_path: Path) -> None:
        """The sink records each call, and keeps the last one of each URL and reading.

        One crawl after the other is killed at its first, second, ... moment of each kind, and then
        resumed.
        """
        command = [sys.executable, "-c", KILLED, str(tmp_path)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        deaths, calls = json.loads(ran.stdout)
        assert set(deaths) == {"call", "return", "step", "commit", "committed"}
        assert min(deaths.values()) >= 3, "a crawl dies at least once for each page"
        # Each page was handed over once, or again if its step was not committed before the kill.
        assert set(calls) == {1, 2}


KILLED = """
import json, os, signal, sqlite3, sys
from pathlib import Path
import httpx
from minicrawl import Crawl, Settings, Store
from minicrawl.crawl.record import commits as recording
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.store.writer import StoreWriter

PAGES = 3
PLACES = "call return step commit committed".split()
recording.COMMIT_EVERY_S, recording.STEPS_A_BATCH = 0, 1
moment = ["", 0]

def reach(place):
    moment[1] -= place == moment[0]
    if place == moment[0] and not moment[1]:
        os.kill(os.getpid(), signal.SIGKILL)

def watched(function, before, after=""):
    def call(*arguments, **named):
        reach(before)
        found = function(*arguments, **named)
        reach(after)
        return found
    return call

StoreWriter.commit = watched(StoreWriter.commit, "commit", "committed")
Recorder.apply_step = watched(Recorder.apply_step, "step")

def answer(request):
    if request.url.path == "/robots.txt":
        return httpx.Response(404)
    number = int(request.url.path.strip("/") or 0)
    next_ones = (one for one in (2 * number + 1, 2 * number + 2) if one < PAGES)
    links = "".join(f'<a href="/{one}">x</a>' for one in next_ones)
    return httpx.Response(200, html=f"<title>{number}</title>page {number} {links}")

def crawl(folder):
    sink = sqlite3.connect(folder / "sink.db", isolation_level=None)
    columns = "(url, reading, calls, PRIMARY KEY (url, reading))"
    sink.execute(f"CREATE TABLE IF NOT EXISTS items {columns}")
    put = "INSERT INTO items VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET calls = calls + 1"
    keep = watched(lambda page: sink.execute(put, (page.url, page.reading)), "call", "return")
    on_page = lambda page: keep(page) and None
    settings = Settings.of(delay=0, address_delay=0, store=folder / "crawl.db", converge=False)
    transport = httpx.MockTransport(answer)
    Crawl(["http://a.example"], settings, transport=transport, on_page=on_page).run()

def survives(folder, place="", number=0):
    child = os.fork()
    if not child:
        moment[:] = place, number
        crawl(folder)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return not status

deaths, calls = dict.fromkeys(PLACES, 0), set()
for place in PLACES:
    while True:
        folder = Path(sys.argv[1], f"{place}-{deaths[place]}")
        folder.mkdir()
        if survives(folder, place, deaths[place] + 1):
            break
        deaths[place] += 1
        assert survives(folder)
        rows = sqlite3.connect(folder / "sink.db").execute("SELECT * FROM items").fetchall()
        with Store.open(folder / "crawl.db") as store:
            read = sorted(page.url for page in store.pages() if page.state == "fetched")
        assert len(read) == PAGES
        assert sorted(row[:2] for row in rows) == [(url, 0) for url in read], (place, rows)
        calls |= {row[2] for row in rows}
print(json.dumps([deaths, sorted(calls)]))
"""


class TestStop:
    def test_a_rule_ends_the_crawl(self, settings: Settings) -> None:
        settings = settings.with_values({"concurrency": 1})
        assert crawl(settings, HOST, stop=lambda now: now.fetched >= 2) is Reason.STOPPED
        assert sum(state == "fetched" for state in states(settings).values()) == 2

    def test_the_exceptions_of_a_rule_and_of_a_filter_are_raised(self, settings: Settings) -> None:
        def rule(now: Progress) -> bool:
            raise ZeroDivisionError(str(now))

        def accept(url: str) -> bool:
            raise ZeroDivisionError(url)

        with pytest.raises(ZeroDivisionError, match="fetched=1"):
            crawl(settings, HOST, stop=rule)
        with pytest.raises(ZeroDivisionError, match=HOST):
            crawl(settings, accept=accept)


def test_in_a_running_loop_the_caller_must_await_the_crawl(settings: Settings) -> None:
    async def in_a_notebook() -> Reason:
        run = Crawl([HOST], settings, transport=WEB)
        with pytest.raises(UsageError, match=r"run_async"):
            run.run()
        return await run.run_async()

    assert asyncio.run(in_a_notebook()) is Reason.EMPTY


def test_a_server_crawls_into_several_stores_at_once(tmp_path: Path) -> None:
    app = FastAPI()

    @app.get("/crawl/{name}")
    async def crawl(name: str) -> dict[str, object]:
        own = Settings.of(delay=0, store=str(tmp_path / f"{name}.db"))
        run = Crawl([HOST], own, transport=WEB)
        reason, progress = await run.run_async(), run.progress()
        assert progress is not None
        return {"reason": reason.name, "fetched": progress.fetched}

    async def ask() -> list[httpx.Response]:
        server = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=server, base_url="http://app.example") as client:
            return await asyncio.gather(*(client.get(f"/crawl/{name}") for name in "ab"))

    expected = {"reason": "EMPTY", "fetched": len(PAGES)}
    assert [found.json() for found in asyncio.run(ask())] == [expected] * 2
    assert states(Settings.of(store=str(tmp_path / "a.db"))) == dict.fromkeys(PAGES, "fetched")


def test_a_store_has_one_crawl_at_a_time_and_any_number_of_readers(settings: Settings) -> None:
    seen: list[int] = []

    async def look(_page: PageRead) -> None:
        with Store.open(settings.storing.store) as store:
            seen.append(len(store))
        with pytest.raises(MinicrawlError, match="in use by another crawl"):
            await Crawl([], settings, transport=WEB).run_async()

    assert crawl(settings, HOST, on_page=look) is Reason.EMPTY
    assert len(seen) == len(PAGES)

"""What a Python program hangs into a crawl is called, and nothing is lost when it raises."""

import asyncio
from pathlib import Path

import httpx
import pytest
import respx

from minicrawl import Crawl, PageRead, Progress, Reason, Settings, Store, Warned
from minicrawl.errors import UsageError

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


WEB = httpx.MockTransport(answer)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.of(delay=0, store=str(tmp_path / "crawl.db"), converge=False)


def states(settings: Settings) -> dict[str, str]:
    with Store.open(settings.storing.store) as store:
        return {page.url.removeprefix(HOST): page.state for page in store.pages()}


def test_a_transport_takes_the_place_of_the_network(settings: Settings) -> None:
    assert Crawl([HOST], settings, transport=WEB).run() is Reason.EMPTY
    assert states(settings) == dict.fromkeys(PAGES, "fetched")


def test_respx_answers(settings: Settings) -> None:
    with respx.mock(assert_all_called=False) as web:
        web.get(f"{HOST}/robots.txt").respond(404)
        web.get(f"{HOST}/").respond(html=PAGES["/c"])
        assert Crawl([HOST], settings, transport=httpx.AsyncHTTPTransport()).run() is Reason.EMPTY
    assert states(settings) == {"/": "fetched"}


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "localhost", "x.localhost"])
def test_a_link_to_an_address_that_is_not_public_is_refused_whatever_the_transport(
    settings: Settings, host: str
) -> None:
    def lead_inside(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, html=f'<a href="http://{host}/secret">in</a>')

    Crawl([HOST], settings, transport=httpx.MockTransport(lead_inside)).run()
    assert states(settings)[f"http://{host}/secret"] == "address"


class TestAccept:
    def test_a_page_that_it_refuses_is_known_but_not_fetched(self, settings: Settings) -> None:
        Crawl([HOST], settings, transport=WEB, accept=lambda url: not url.endswith("/b")).run()
        assert states(settings) == {"/": "fetched", "/b": "scope", "/c": "fetched"}

    def test_the_next_run_asks_anew(self, settings: Settings) -> None:
        Crawl([HOST], settings, transport=WEB, accept=lambda url: not url.endswith("/b")).run()
        Crawl([], settings, transport=WEB, accept=lambda url: not url.endswith("/d")).run()
        assert states(settings)["/b"] == "fetched"
        assert states(settings)["/d"] == "scope"
        Crawl([], settings, transport=WEB).run()
        assert states(settings) == dict.fromkeys(PAGES, "fetched")


class TestOnPage:
    @pytest.mark.parametrize("workers", [0, 1])
    def test_it_is_given_what_the_page_says(self, settings: Settings, workers: int) -> None:
        read: dict[str, PageRead] = {}
        crawl = Crawl(
            [HOST],
            settings.with_values({"workers": workers}),
            transport=WEB,
            on_page=lambda page: read.update({page.url.removeprefix(HOST): page}),
        )
        crawl.run()
        assert {path: page.text for path, page in read.items()} == PAGES
        home = read["/"]
        assert (home.status, home.title, home.cut) == (200, "Home", "")
        assert home.links == (f"{HOST}/b", f"{HOST}/c")
        assert home.headers["content-type"].startswith("text/html")

    def test_it_may_be_a_coroutine_function(self, settings: Settings) -> None:
        read = []

        async def hear(page: PageRead) -> None:
            await asyncio.sleep(0)
            read.append(page.url)

        Crawl([HOST], settings, transport=WEB, on_page=hear).run()
        assert len(read) == len(PAGES)

    def test_its_exception_ends_the_crawl_and_nothing_is_lost(self, settings: Settings) -> None:
        def fail(page: PageRead) -> None:
            raise ZeroDivisionError(page.url)

        with pytest.raises(ZeroDivisionError, match=HOST):
            Crawl([HOST], settings, transport=WEB, on_page=fail).run()
        assert states(settings)["/"] == "fetched"
        assert Crawl([], settings, transport=WEB).run() is Reason.EMPTY
        assert states(settings) == dict.fromkeys(PAGES, "fetched")


class TestStop:
    def test_it_ends_the_crawl(self, settings: Settings) -> None:
        settings = settings.with_values({"concurrency": 1})
        crawl = Crawl([HOST], settings, transport=WEB, stop=lambda now: now.fetched >= 2)
        assert crawl.run() is Reason.STOPPED
        assert sum(state == "fetched" for state in states(settings).values()) == 2

    def test_the_exceptions_of_a_rule_and_of_a_filter_are_raised(self, settings: Settings) -> None:
        def rule(now: Progress) -> bool:
            raise ZeroDivisionError(str(now))

        def accept(url: str) -> bool:
            raise ZeroDivisionError(url)

        with pytest.raises(ZeroDivisionError, match="fetched=1"):
            Crawl([HOST], settings, transport=WEB, stop=rule).run()
        with pytest.raises(ZeroDivisionError, match=HOST):
            Crawl([], settings, transport=WEB, accept=accept).run()


def test_where_a_loop_runs_the_caller_awaits(settings: Settings) -> None:
    async def in_a_notebook() -> Reason:
        crawl = Crawl([HOST], settings, transport=WEB)
        with pytest.raises(UsageError, match=r"await crawl\.run_async"):
            crawl.run()
        return await crawl.run_async()

    assert asyncio.run(in_a_notebook()) is Reason.EMPTY


@pytest.mark.parametrize(("strength", "is_capped"), [("0.1", False), ("100000", True)])
def test_a_strength_that_is_capped_is_said_once(
    settings: Settings, strength: str, is_capped: bool
) -> None:
    focused = Settings.of(
        delay=0, store=settings.storing.store, converge=False, focus=[f"/b={strength}"]
    )
    heard: list[str] = []
    crawl = Crawl([HOST], focused, transport=WEB)
    crawl.subscribe(lambda event: heard.append(event.text) if isinstance(event, Warned) else None)
    crawl.run()
    assert ["strengths were capped" in line for line in heard] == [True] * is_capped

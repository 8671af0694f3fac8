"""A visit: what came, and what it says."""

import asyncio

from minicrawl.config import Settings
from minicrawl.crawl.workers.worker import Visitor, WorkerConfig, visiting
from minicrawl.model import Moved, ParsedPage, Request, Response, Want
from minicrawl.web.robots import FORBID_ALL
from minicrawl.web.sitemaps import Sitemap
from tests.crawl.fakes import FakeWeb, html, moved, text
from tests.fetch.wire import answer, wire

URL = "http://a.example/"
CONFIG = WorkerConfig.of(Settings())


def test_a_page_can_be_read_and_nothing_else_can() -> None:
    async def work() -> None:
        web = FakeWeb(
            {URL: html("/1", title="A"), f"{URL}2": moved("/"), f"{URL}map": text(f"{URL}1")}
        )
        visitor = Visitor(web, CONFIG.parser())
        page = await visitor.visit(Request(url=URL))
        assert isinstance(page.fetched, Response)
        assert page.read is not None
        reading, _ = await page.read()
        assert isinstance(reading, ParsedPage)
        assert (reading.title, reading.links) == ("A", (f"{URL}1",))
        redirect = await visitor.visit(Request(url=f"{URL}2"))
        assert (redirect.fetched, redirect.read) == (moved("/"), None)
        assert await visitor.fetch(Request(url=f"{URL}2")) == Moved(status=301, target="/")
        assert await visitor.locate(URL) == "a.example"
        forbidding = "User-agent: *\nDisallow: /"
        assert (await visitor.parse_rules(text(forbidding), URL)).value == FORBID_ALL
        assert (await visitor.parse_stored_rules(forbidding, URL)).value == FORBID_ALL
        listed = await visitor.visit(Request(url=f"{URL}map", want=Want.SITEMAP))
        assert listed.read is not None
        assert (await listed.read()).value == Sitemap(pages=(f"{URL}1",))

    asyncio.run(work())


def test_a_visitor_goes_where_its_config_lets_it() -> None:
    async def work() -> None:
        async with wire(answer(b"<title>A</title>")) as server:
            here = ("127.0.0.1", server.port)
            for trusted, wanted in ((), "Refused"), ((here,), "Response"):
                async with visiting(WorkerConfig.of(Settings(), trusted)) as visitor:
                    visit = await visitor.visit(Request(url=server.url()))
                    assert type(visit.fetched).__name__ == wanted

    asyncio.run(work())


def test_the_words_of_links_are_read_only_if_somebody_wants_them() -> None:
    assert WorkerConfig.of(Settings.of(focus_words="sea")).parse_options.with_words
    assert WorkerConfig.of(Settings.of(focus_similar="sea")).parse_options.with_words
    assert not WorkerConfig.of(Settings.of(focus="sea")).parse_options.with_words

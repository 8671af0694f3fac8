"""Large bodies are parsed by another process, a real one in these tests."""

import asyncio
import errno
import gzip
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

import pytest

from minicrawl.crawl.workers.parser import ENOUGH_S, PageParser, ParserLost, ParserProcess, to_disk
from minicrawl.model import Failed, FailureKind, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.web import robots as rules
from minicrawl.web.html_page import ParseOptions
from minicrawl.web.sitemaps import Sitemap
from tests.crawl.children import has_child
from tests.crawl.fakes import html, text
from tests.crawl.workers.large_bodies import A_BLINK_S

LONGEST_S = 30.0
URL = "http://a.example/"
AS_A_PAGE, AS_A_SITEMAP = Request(url=URL), Request(url=URL, want=Want.SITEMAP)
OPTIONS = ParseOptions(with_words=True, max_links=2)
FORBIDDING = "User-agent: *\nDisallow: /"
LINKS = ("http://a.example/1", "http://a.example/2")


def reading(work: Callable[[PageParser], Awaitable[None]], enough_s: float = ENOUGH_S) -> None:
    async def done() -> None:
        reader = PageParser(OPTIONS, LONGEST_S, enough_s)
        try:
            await work(reader)
        finally:
            await reader.close()

    asyncio.run(done())


def test_a_small_page_is_parsed_in_the_own_process() -> None:
    async def work(reader: PageParser) -> None:
        found, _ = await reader.reading(
            html("/1", "/2", title="A", x_robots_tag="noindex"), AS_A_PAGE
        ).anyhow()
        assert isinstance(found, ParsedPage)
        assert (found.title, found.noindex) == ("A", True)
        assert found.links == LINKS
        assert not has_child(reader._process)

    reading(work)


def test_another_process_parses_large_bodies_with_the_same_result() -> None:
    async def work(reader: PageParser) -> None:
        page, here = html("/1", "/2", "/3", title="A"), PageParser(OPTIONS, LONGEST_S)
        there, cost_s = await reader.reading(page, AS_A_PAGE).anyhow()
        assert cost_s > 0
        assert there == (await here.reading(page, AS_A_PAGE).anyhow()).value
        assert has_child(reader._process)
        for one in (reader, here):
            sitemap = await one.reading(text(f"{URL}1"), AS_A_SITEMAP).anyhow()
            assert sitemap.value == Sitemap(pages=("http://a.example/1",))
            said = await one.parse_rules(text(FORBIDDING), URL)
            assert said.value == rules.parse(FORBIDDING.encode(), OPTIONS.agent)
            assert (await one.parse_stored_rules(FORBIDDING, URL)).value == said.value
        assert not has_child(here._process)

    reading(work, enough_s=0)


def test_a_body_that_the_parser_is_lost_on_fails_alone() -> None:
    class Lost(ParserProcess):
        async def run(self, *_: object) -> Any:
            raise ParserLost("why")

    async def work(reader: PageParser) -> None:
        reader._process = Lost(LONGEST_S)
        failed = Failed(kind=FailureKind.TOO_LARGE, detail="why")
        assert (await reader.reading(html("/1"), AS_A_PAGE).anyhow()).value == failed
        assert (await reader.parse_rules(text(FORBIDDING), URL)).value == failed
        assert (await reader.reading(text("a"), AS_A_SITEMAP).anyhow()).value == failed

    reading(work, enough_s=0)


def test_a_bug_in_the_parser_fails_its_page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object, **__: object) -> object:
        raise ValueError("never thought of")

    monkeypatch.setattr("minicrawl.crawl.workers.parser.parse_page", mistaken)

    async def work(reader: PageParser) -> None:
        failed, _ = await reader.reading(html("/1"), AS_A_PAGE).anyhow()
        assert isinstance(failed, Failed)
        assert "ValueError('never thought of')" in failed.detail

    reading(work)


def test_a_small_compressed_sitemap_counts_as_large() -> None:
    async def work(reader: PageParser) -> None:
        packed = Response(status=200, headers={}, body=gzip.compress(f"{URL}1".encode()))
        assert await reader.reading(packed, AS_A_PAGE).quickly() is not None
        reading = reader.reading(packed, AS_A_SITEMAP)
        assert await reading.quickly() is None
        listed, _ = await reading.anyhow()
        assert listed == Sitemap(pages=(f"{URL}1",))
        assert has_child(reader._process)

    reading(work)


# ---------------------------------------------------------------- time of the loop

SITEMAP_OF_5_MB = b"<urlset>" + b"<url><loc>http://a.example/%d</loc></url>" * 120_000
RULES_OF_500_KIB = b"User-agent: *\n" + b"".join(b"allow:/%x\n" % n for n in range(45_000))


@pytest.mark.parametrize(
    "read",
    [
        lambda reader: reader.reading(
            Response(status=200, headers={}, body=SITEMAP_OF_5_MB), AS_A_SITEMAP
        ).anyhow(),
        lambda reader: reader.parse_rules(
            Response(status=200, headers={}, body=RULES_OF_500_KIB), URL
        ),
    ],
)
def test_large_bodies_cost_the_loop_less_than_a_blink(
    read: Callable[[PageParser], Awaitable[Timed[object]]],
) -> None:
    """All rounds of the loop together are measured, in processor time of its thread."""

    async def work(reader: PageParser) -> None:
        await reader._process.run(len, BytesIO(b"abc"), "a.example")
        began = time.thread_time()
        assert not isinstance((await read(reader)).value, Failed)
        assert time.thread_time() - began < A_BLINK_S

    reading(work)


def test_a_waiting_body_is_in_memory_if_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    with to_disk(b"abc") as body:
        assert body.read() == b"abc"

    def full() -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert to_disk(b"abc").read() == b"abc"

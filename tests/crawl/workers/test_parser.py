"""What is large is read by another process, a real one here."""

import asyncio
import errno
import gzip
import os
import pickle
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

import pytest

from minicrawl.crawl.workers.parser import (
    SMALL,
    PageParser,
    ParserLost,
    ParserProcess,
    aside,
    serve,
)
from minicrawl.model import Failed, FailureKind, ParsedPage, Response, Want
from minicrawl.ports import Timed
from minicrawl.web.html.page import ParseOptions
from minicrawl.web.robots import rules
from minicrawl.web.sitemaps.sitemap import Sitemap
from tests.crawl.fakes import html, text

NOTHING = BytesIO()
LONGEST_S = 30.0
URL = "http://a.example/"
WISHES = ParseOptions(with_words=True, max_links=2)
FORBIDDING = "User-agent: *\nDisallow: /"
LINKS = ("http://a.example/1", "http://a.example/2")


def _die(_: bytes) -> None:
    os._exit(1)


def _pid(_: bytes) -> int:
    return os.getpid()


def _sleep(_: bytes) -> None:
    time.sleep(60)


def reading(work: Callable[[PageParser], Awaitable[None]], small: int) -> None:
    async def done() -> None:
        reader = PageParser(WISHES, LONGEST_S, small)
        try:
            await work(reader)
        finally:
            await reader.close()

    asyncio.run(done())


def test_a_small_page_is_read_on_the_spot() -> None:
    async def work(reader: PageParser) -> None:
        found, _ = await reader.later(html("/1", "/2", title="A", x_robots_tag="noindex"), URL)()
        assert isinstance(found, ParsedPage)
        assert (found.title, found.noindex) == ("A", True)
        assert found.links == LINKS
        assert reader._other._process is None

    reading(work, SMALL)


def test_a_large_page_is_read_to_the_same_effect_by_another_process() -> None:
    async def work(reader: PageParser) -> None:
        page, here = html("/1", "/2", "/3", title="A"), PageParser(WISHES, LONGEST_S)
        there, cost_s = await reader.later(page, URL)()
        assert cost_s > 0
        assert there == (await here.later(page, URL)()).value
        process = reader._other._process
        assert process is not None
        for one in (reader, here):
            sitemap = await one.later(text(f"{URL}1"), URL, Want.SITEMAP)()
            assert sitemap.value == Sitemap(pages=("http://a.example/1",))
            said = await one.rules(text(FORBIDDING), URL)
            assert said.value == rules.parse(FORBIDDING.encode(), WISHES.agent)
            assert (await one.recalled(FORBIDDING, URL)).value == said.value
        assert reader._other._process is process
        assert here._other._process is None

    reading(work, small=0)


def test_a_body_that_is_too_much_is_a_failure_of_its_page_alone() -> None:
    class Lost(ParserProcess):
        async def run(self, *_: object) -> Any:
            raise ParserLost("why")

    async def work(reader: PageParser) -> None:
        reader._other = Lost(LONGEST_S)
        failed = Failed(kind=FailureKind.TOO_LARGE, detail="why")
        assert (await reader.later(html("/1"), URL)()).value == failed
        assert (await reader.rules(text(FORBIDDING), URL)).value == failed
        assert (await reader.later(text("a"), URL, Want.SITEMAP)()).value == failed

    reading(work, small=0)


def test_a_mistake_of_ours_costs_the_page_and_not_the_crawl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mistaken(*_: object, **__: object) -> object:
        raise ValueError("never thought of")

    monkeypatch.setattr("minicrawl.crawl.workers.parser.read", mistaken)

    async def work(reader: PageParser) -> None:
        failed, _ = await reader.later(html("/1"), URL)()
        assert isinstance(failed, Failed)
        assert failed.detail == "the reader made a mistake: ValueError('never thought of')"

    reading(work, SMALL)


def test_a_sitemap_that_is_packed_is_larger_than_it_looks() -> None:
    async def work(reader: PageParser) -> None:
        packed = Response(status=200, headers={}, body=gzip.compress(f"{URL}1".encode()))
        assert reader.is_large(packed, Want.SITEMAP)
        assert not reader.is_large(packed, Want.PAGE)
        listed, _ = await reader.later(packed, URL, Want.SITEMAP)()
        assert listed == Sitemap(pages=(f"{URL}1",))
        assert reader._other._process is not None

    reading(work, SMALL)


# ---------------------------------------------------------------- what the loop is spared

PAGE_OF_5_MB = b"".join(b"<a href=/%d?%b>" % (n, b"x" * 480) for n in range(10_000))
SITEMAP_OF_5_MB = b"<urlset>" + b"<url><loc>http://a.example/%d</loc></url>" * 120_000
RULES_OF_500_KIB = b"User-agent: *\n" + b"".join(b"allow:/%x\n" % n for n in range(45_000))
A_BLINK_S = 0.25


@pytest.mark.parametrize(
    "read",
    [
        lambda reader: reader.later(Response(status=200, headers={}, body=PAGE_OF_5_MB), URL)(),
        lambda reader: reader.later(
            Response(status=200, headers={}, body=SITEMAP_OF_5_MB), URL, Want.SITEMAP
        )(),
        lambda reader: reader.rules(Response(status=200, headers={}, body=RULES_OF_500_KIB), URL),
    ],
)
def test_what_is_large_costs_the_loop_less_than_a_blink(
    read: Callable[[PageParser], Awaitable[Timed[object]]],
) -> None:
    """In all its turns together, by the time that its thread takes of the processor."""

    async def work(reader: PageParser) -> None:
        await reader._other.run(len, BytesIO(b"abc"), "a.example")
        began = time.thread_time()
        assert not isinstance((await read(reader)).value, Failed)
        assert time.thread_time() - began < A_BLINK_S

    reading(work, SMALL)


# ---------------------------------------------------------------- the other process


def test_a_process_that_dies_of_a_task_is_replaced_for_the_next() -> None:
    async def work() -> None:
        other = ParserProcess(LONGEST_S)
        try:
            with pytest.raises(ParserLost, match="it ended the process that read it"):
                await other.run(_die, NOTHING, "a.example")
            first, second = await asyncio.gather(
                other.run(len, BytesIO(b"abc"), "a.example"),
                other.run(len, BytesIO(b"x" * 1_000_000), "b.example"),
            )
            assert (first.value, second.value) == (3, 1_000_000)
        finally:
            await other.close()
        await other.close()

    asyncio.run(work())


def test_a_task_that_does_not_end_is_given_up() -> None:
    async def work() -> None:
        other = ParserProcess(longest_s=0.05)
        with pytest.raises(ParserLost, match=r"it was not read in 0\.05 s \(--max-reading\)"):
            await other.run(_sleep, NOTHING, "a.example")
        assert other._process is None

    asyncio.run(work())


def test_a_task_that_is_cancelled_leaves_no_process_behind() -> None:
    async def work() -> None:
        other = ParserProcess(LONGEST_S)
        running = asyncio.create_task(other.run(_sleep, NOTHING, "a.example"))
        while other._process is None:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert other._process is None

    asyncio.run(work())


def test_after_so_many_tasks_a_process_makes_room_for_a_new_one() -> None:
    async def work() -> None:
        other = ParserProcess(LONGEST_S, most_tasks=2)
        pids = [(await other.run(_pid, NOTHING, "a.example")).value for _ in range(5)]
        assert [pids.index(pid) for pid in pids] == [0, 0, 2, 2, 4]
        await other.close()

    asyncio.run(work())


def test_the_other_process_answers_until_nobody_asks_any_more() -> None:
    questions, answers = BytesIO(), BytesIO()
    for body in ([], [b"abc", b"d"]):
        for frame in (pickle.dumps(len), *body, b""):
            questions.write(len(frame).to_bytes(8, "big") + frame)
    questions.write(b"half a fra")
    questions.seek(0)
    serve(questions, answers)
    answers.seek(0)
    for length in (0, 4):
        size = int.from_bytes(answers.read(8), "big")
        assert pickle.loads(answers.read(size)).value == length
    assert answers.read() == b""


def test_a_body_is_put_aside_on_disk_and_in_memory_if_that_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with aside(b"abc") as body:
        assert body.read() == b"abc"

    def full() -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("minicrawl.crawl.workers.parser.TemporaryFile", full)
    assert aside(b"abc").read() == b"abc"

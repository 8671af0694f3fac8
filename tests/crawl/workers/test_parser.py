"""Large bodies are parsed by another process, a real one in these tests."""

import asyncio
import errno
import gzip
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, cast

import pytest

from minicrawl.crawl.workers.loop_rounds import ROUND_S, LoopRounds
from minicrawl.crawl.workers.parser import ENOUGH_S, PageParser, to_disk
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.model import Failed, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.states import State
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.robots.rules import parse as parse_robots
from minicrawl.web.sitemaps.sitemap import Sitemap
from tests.crawl.children import children, has_child, nothing_left_behind
from tests.crawl.coroutines import in_loop
from tests.crawl.fakes import html, text
from tests.crawl.workers.large_bodies import A_BLINK_S
from tests.processes import busy_loops

LONGEST_S = 120.0
URL = "http://a.example/"
AS_A_PAGE, AS_A_SITEMAP = Request(url=URL), Request(url=URL, want=Want.SITEMAP)
OPTIONS = ParseOptions(with_words=True, max_links=2)
FORBIDDING = "User-agent: *\nDisallow: /"


Work = Callable[[PageParser], Awaitable[None]]


def reading(
    enough_s: float = ENOUGH_S, options: ParseOptions = OPTIONS
) -> Callable[[Work], Callable[[], None]]:
    """Make a test of work with a parser."""

    def made(work: Work) -> Callable[[], None]:
        async def done() -> None:
            reader = PageParser(options, LONGEST_S, enough_s)
            try:
                await work(reader)
            finally:
                await reader.close()

        return lambda: asyncio.run(done())

    return made


@reading(enough_s=0)
async def test_another_process_parses_large_bodies_with_the_same_result(reader: PageParser) -> None:
    page, here = html("/1", "/2", "/3", title="A"), PageParser(OPTIONS, LONGEST_S)
    there, cost_s = await reader.reading(page, AS_A_PAGE).anyhow()
    assert cost_s > 0
    assert there == (await here.reading(page, AS_A_PAGE).anyhow()).value
    # No result shows which process parsed it.
    assert has_child(reader._process)
    for one in (reader, here):
        sitemap = await one.reading(text(f"{URL}1"), AS_A_SITEMAP).anyhow()
        assert sitemap.value == Sitemap(pages=("http://a.example/1",))
        said = await one.parse_rules(text(FORBIDDING), URL)
        assert said.value == parse_robots(FORBIDDING.encode(), OPTIONS.agent)
    assert not has_child(here._process)


@reading(enough_s=0)
async def test_a_body_that_the_parser_is_lost_on_fails_alone(reader: PageParser) -> None:
    class Lost(ParserProcess):
        async def run(self, *_: object) -> Any:
            raise ParserLost("why")

    # A process that is lost whenever it is asked.
    reader._process = Lost(LONGEST_S)
    failed = Failed(kind=State.TOO_LARGE, detail="why")
    assert (await reader.reading(html("/1"), AS_A_PAGE).anyhow()).value == failed
    assert (await reader.parse_rules(text(FORBIDDING), URL)).value == failed
    assert (await reader.reading(text("a"), AS_A_SITEMAP).anyhow()).value == failed


@reading(options=ParseOptions(max_links=cast(Any, "no number")))
async def test_a_bug_in_the_parser_fails_its_page_alone(reader: PageParser) -> None:
    failed, _ = await reader.reading(html("/1"), AS_A_PAGE).anyhow()
    assert isinstance(failed, Failed)
    assert "TypeError(" in failed.detail


@reading()
async def test_a_small_compressed_sitemap_counts_as_large(reader: PageParser) -> None:
    packed = Response(status=200, headers={}, body=gzip.compress(f"{URL}1".encode()))
    assert await reader.reading(packed, AS_A_PAGE).quickly() is not None
    reading = reader.reading(packed, AS_A_SITEMAP)
    assert await reading.quickly() is None
    listed, _ = await reading.anyhow()
    assert listed == Sitemap(pages=(f"{URL}1",))
    # No result shows which process parsed it.
    assert has_child(reader._process)


SITEMAP_OF_5_MB = b"<urlset>" + b"<url><loc>http://a.example/%d</loc></url>" * 120_000
RULES_OF_500_KIB = b"User-agent: *\n" + b"".join(b"allow:/%x\n" % n for n in range(45_000))


@pytest.mark.slow
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
        # Its start is not what is timed.
        await reader._process.run(len, BytesIO(b"abc"), "a.example")
        began = time.thread_time()
        assert not isinstance((await read(reader)).value, Failed)
        assert time.thread_time() - began < A_BLINK_S

    reading()(work)()


def test_a_waiting_body_is_in_memory_if_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    with to_disk(b"abc") as body:
        assert body.read() == b"abc"

    def full() -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert to_disk(b"abc").read() == b"abc"


NOTHING = BytesIO()
_WORK_S = 0.5


def _die(_: bytes) -> None:
    os._exit(1)


def _pid(_: bytes) -> int:
    return os.getpid()


def _sleep(_: bytes) -> None:
    time.sleep(60)


def _work_for_ever(_: bytes) -> None:
    while True:
        pass


def _work_slowly(_: bytes) -> None:
    os.nice(19)  # any other program goes first
    while time.process_time() < _WORK_S:
        pass


@pytest.mark.slow
@in_loop
async def test_a_process_that_dies_is_replaced_for_the_next_task() -> None:
    other = ParserProcess(LONGEST_S)
    try:
        with pytest.raises(ParserLost):
            await other.run(_die, NOTHING, "a.example")
        first, second = await asyncio.gather(
            other.run(len, BytesIO(b"abc"), "a.example"),
            other.run(len, BytesIO(b"x" * 1_000_000), "b.example"),
        )
        assert (first.value, second.value) == (3, 1_000_000)
    finally:
        await other.close()
    await other.close()


@in_loop
async def test_a_task_that_is_cancelled_leaves_no_process_behind() -> None:
    other = ParserProcess(LONGEST_S)
    running = asyncio.create_task(other.run(_sleep, NOTHING, "a.example"))
    while not has_child(other):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not has_child(other)


@pytest.mark.slow
@in_loop
async def test_a_process_is_replaced_after_most_tasks() -> None:
    other = ParserProcess(LONGEST_S, most_tasks=2)
    done = [await other.run(_pid, NOTHING, "a.example") for _ in range(5)]
    pids = [one.value for one in done]
    assert [pids.index(pid) for pid in pids] == [0, 0, 2, 2, 4]
    assert max(one.cost_s for one in done) < 0.05  # to start a process costs no task anything
    await other.close()


@pytest.mark.usefixtures("_python_that_cannot_work")
def test_a_child_that_cannot_work_fails_its_task_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        other = ParserProcess(LONGEST_S)
        with pytest.raises(ParserLost):
            await other.run(len, BytesIO(bytes(30_000_000)), "a.example")
        monkeypatch.undo()
        assert (await other.run(len, BytesIO(b"abc"), "a.example")).value == 3
        await other.close()

    with nothing_left_behind():
        asyncio.run(work())


@pytest.mark.slow
def test_a_task_that_took_too_long_leaves_no_process_and_no_socket() -> None:
    async def work() -> None:
        other = ParserProcess(max_s=0.2, patience_s=0.2)
        for task, why in (
            (_sleep, "the parser sleeps"),
            (_work_for_ever, "not parsed within 0.2 s of processor time"),
        ):
            with pytest.raises(ParserLost, match=why) as caught:
                await other.run(task, NOTHING, "a.example")
            assert caught.value.cost_s >= 0.2
            assert children() == []

    with nothing_left_behind():
        asyncio.run(work())


@pytest.mark.slow
@in_loop
async def test_a_busy_machine_ends_no_task() -> None:
    other = ParserProcess(2 * _WORK_S, patience_s=_WORK_S / 10)
    with busy_loops(4):
        await other.run(_work_slowly, NOTHING, "a.example")
    await other.close()


async def rounds_of(pages: int, time_after: Callable[[int], float]) -> list[int]:
    """Return in which round of the loop each page went on, by the time after so many pages."""
    now, went_on = 0, list[int]()
    rounds = LoopRounds(lambda: time_after(len(went_on)))

    async def count_rounds() -> None:
        nonlocal now
        while True:
            now += 1
            await asyncio.sleep(0)

    async def page() -> None:
        await rounds.turn()
        went_on.append(now)

    counting = asyncio.create_task(count_rounds())
    await asyncio.gather(*(page() for _ in range(pages)))
    counting.cancel()
    return went_on


def test_pages_that_take_long_go_on_one_a_round() -> None:
    went_on = asyncio.run(rounds_of(5, lambda pages: pages * ROUND_S * 1.5))
    assert sorted(set(went_on)) == went_on
    assert len(went_on) == 5


def test_rounds_of_pages_that_take_no_time_double() -> None:
    """After a first page that took long: 1, 1, 2, 4, 8 and 16 pages."""
    went_on = asyncio.run(rounds_of(32, lambda pages: min(pages, 1) * ROUND_S * 1.5))
    assert [*Counter(went_on).values()] == [1, 1, 2, 4, 8, 16]


def test_pages_that_take_no_time_go_on_together() -> None:
    assert len(set(asyncio.run(rounds_of(50, lambda _pages: 0)))) == 1

"""A worker's end of the channel, in the process of the test."""

import asyncio
import pickle
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any

import pytest

from minicrawl import Settings
from minicrawl.crawl.workers import parser as page_parser
from minicrawl.crawl.workers.blame_mark import BlameMark, SharedBlameMark
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.parser import to_disk
from minicrawl.crawl.workers.visitor import WorkerConfig, visiting
from minicrawl.crawl.workers.worker import (
    VisitReply,
    WorkerCommand,
    main,
    packed_request,
    serve,
    unpacked_request,
)
from minicrawl.model import Failed, Moved, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.states import State
from tests.crawl.coroutines import in_loop
from tests.fetch.wire import Answer, Then, Wire, answer, wire

CONFIG = WorkerConfig.of(Settings.of(allow_private=True))
PAGE = answer(b"<title>A</title><a href=/x>")
LARGE = answer(b"<title>B</title>" + b"x" * 4 * page_parser.LARGE)
SILENCE = Answer((b"HTTP/1.1 200 OK\r\n",), Then.HOLD)


class Crawl:
    """The crawl's end of the channel, which makes one call at a time."""

    def __init__(self, server: Wire) -> None:
        self.server = server
        self.heard: asyncio.Queue[tuple[int, Any, float]] = asyncio.Queue()
        self.cpu_s = 0.0
        self.channel = PickleChannel(self.heard.put_nowait)

    async def ask(self, number: int, command: WorkerCommand, argument: object) -> Any:
        self.channel.send((number, command, argument))
        answered, came, cpu_s = await self.heard.get()
        assert answered == number
        assert cpu_s >= self.cpu_s
        self.cpu_s = cpu_s
        return came

    async def visit(self, number: int) -> VisitReply:
        """Let the worker visit the first page of the server."""
        request = packed_request(Request(url=self.server.url()))
        return VisitReply.unpacked(await self.ask(number, WorkerCommand.VISIT, request))


def work_for(
    *answers: Answer,
) -> Callable[[Callable[[Crawl], Awaitable[None]]], Callable[[], None]]:
    """Make a test of a crawl's calls to a worker, which reaches a server with these answers."""

    def made(crawl: Callable[[Crawl], Awaitable[None]]) -> Callable[[], None]:
        async def work() -> None:
            ours, its = socket.socketpair()
            async with wire(*answers) as server, asyncio.timeout(60):
                working = asyncio.create_task(serve(its, CONFIG, BlameMark()))
                asking = Crawl(server)
                await asking.channel.connect(ours)
                try:
                    await crawl(asking)
                finally:
                    asking.channel.close()
                    await working

        return lambda: asyncio.run(work())

    return made


@work_for(PAGE)
async def test_a_page_is_parsed_where_it_was_fetched_and_its_body_stays_there(crawl: Crawl) -> None:
    visited = await crawl.visit(1)
    assert isinstance(visited, VisitReply)
    assert isinstance(visited.fetched, Response)
    assert (visited.fetched.status, visited.fetched.body) == (200, b"")
    assert visited.parsed is not None
    reading, _ = visited.parsed
    assert isinstance(reading, ParsedPage)
    assert reading.links == (crawl.server.url("/x"),)


@work_for(LARGE)
async def test_the_reply_comes_before_a_large_page_is_parsed(crawl: Crawl) -> None:
    visited = await crawl.visit(7)
    assert (visited.number, visited.parsed) == (7, None)
    reading = await crawl.ask(8, WorkerCommand.PARSE, 7)
    assert reading.value.title == "B"


@work_for()
async def test_a_file_of_another_process_is_parsed_unless_it_is_gone(crawl: Crawl) -> None:
    with to_disk(b"abc") as body:
        path = f"/proc/self/fd/{body.fileno()}"
        parsed = await crawl.ask(1, WorkerCommand.PARSE_FILE, (len, path, "a.example"))
    assert parsed.value == 3
    gone = len, "/proc/self/fd/no", "a.example"
    assert await crawl.ask(2, WorkerCommand.PARSE_FILE, gone) is None


@work_for(answer(status="301 Moved", headers=["Location: /y"]))
async def test_a_redirect_is_not_parsed(crawl: Crawl) -> None:
    _, fetched, reading = await crawl.visit(1)
    assert isinstance(fetched, Moved)
    assert (fetched.target, reading) == ("/y", None)


def test_pings_that_arrive_together_are_answered_without_a_fault() -> None:
    faults = list[dict[str, Any]]()

    async def ask(crawl: Crawl) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        for _ in range(2):
            crawl.channel.send((0, WorkerCommand.PING, None))
        assert [(await crawl.heard.get())[:2] for _ in range(2)] == [(0, None)] * 2

    work_for()(ask)()
    assert faults == []


@work_for(SILENCE, PAGE)
async def test_a_cancelled_call_has_no_reply_and_the_next_one_has(crawl: Crawl) -> None:
    crawl.channel.send((1, WorkerCommand.VISIT, packed_request(Request(url=crawl.server.url()))))
    while not crawl.server.asked:
        await asyncio.sleep(0)
    crawl.channel.send((1, None, None))
    crawl.channel.send((99, None, None))
    visited = await crawl.visit(2)
    assert visited.parsed is not None


def test_a_worker_without_a_config_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, its = socket.socketpair()
    ours.close()
    with its, its.makefile() as stdin, closing(SharedBlameMark()) as mark:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "argv", ["-c", str(mark.descriptor)])
        main()


def test_packed_messages_name_no_class_and_are_unpacked_unchanged() -> None:
    page = Response(status=200, headers={"server": "a"}, body=b"", cookies=("b=c",))
    parsed = Timed(ParsedPage(title="A", links=("https://a.example/",)), 0.25)
    failed, dead = Failed(kind=State.RESET), Failed(State.NOT_FOUND, status=404, answer=page)
    for reply in (
        VisitReply(1, page, parsed),
        VisitReply(2, page, None),
        VisitReply(3, failed, None),
        VisitReply(4, dead, None),
    ):
        sent = pickle.dumps(reply.packed())
        assert b"minicrawl" not in sent
        unpacked = VisitReply.unpacked(pickle.loads(sent))
        assert (unpacked, type(unpacked.fetched)) == (reply, type(reply.fetched))
    for want in Want:
        request = Request(url="https://a.example/", want=want, headers=(("a", "b"),))
        sent = pickle.dumps(packed_request(request))
        assert b"minicrawl" not in sent
        found = unpacked_request(pickle.loads(sent))
        assert (found, found.want) == (request, request.want)
        assert found.want is want


def test_rare_messages_are_sent_unpacked() -> None:
    failed = Failed(kind=State.RESET)
    for reply in (
        VisitReply(1, Moved(301, "https://a.example/"), None),
        VisitReply(2, Response(status=200, headers={}, body=b""), Timed(failed, 0.5)),
    ):
        found = VisitReply.unpacked(pickle.loads(pickle.dumps(reply.packed())))
        assert found == reply
        assert [type(one) for one in found] == [type(one) for one in reply]


@in_loop
async def test_a_visitor_reaches_only_public_and_trusted_addresses() -> None:
    async with wire(answer(b"<title>A</title>")) as server:
        here = ("127.0.0.1", server.port)
        for trusted, wanted in ((), "Refused"), ((here,), "Response"):
            async with visiting(WorkerConfig.of(Settings(), trusted)) as visitor:
                visit = await visitor.visit(Request(url=server.url()))
                assert type(visit.fetched).__name__ == wanted

"""A worker process: fetches and parses for a crawl at the other end of its channel.

Laws: each call has one reply, unless it is cancelled. The worker ends when its channel is closed.
It imports only what it needs to fetch and to parse.

`supervisor` describes calls and replies.
"""

import asyncio
import socket
import sys
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple, TypeAlias, assert_never

from minicrawl.crawl.workers import parser_process
from minicrawl.crawl.workers.blame_mark import BlameMark, marked
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.messages import connection_at_stdin, receive_message
from minicrawl.crawl.workers.parser import ENOUGH_IN_WORKER_S
from minicrawl.crawl.workers.spares import spares
from minicrawl.crawl.workers.supervisor import PING
from minicrawl.crawl.workers.visitor import Visitor, WorkerConfig, visiting
from minicrawl.memory.allocator import LARGER_THAN_BODIES, mmap_large_arrays
from minicrawl.memory.garbage_collector import freeze_loaded_objects
from minicrawl.model import Failed, FetchResult, ParsedPage, Request, Response, Want
from minicrawl.ports import Parse, Timed
from minicrawl.states import State
from minicrawl.web.sitemaps.sitemap import Sitemap


class WorkerCommand(IntEnum):
    """Commands of a worker: argument and result."""

    PING = PING  # nothing: None, at once
    VISIT = 1  # a packed request: a packed `VisitReply`
    PARSE = 2  # the number of a visit: its parsed page
    FETCH = 3  # a request: a fetch result
    LOCATE = 4  # a URL: an address
    PARSE_FILE = 5  # a task, the path of a body and its host: the result; None if it is gone


_WANTS = {want.value: want for want in Want}
_STATES = {state.value: state for state in State}
PackedReply: TypeAlias = tuple[int, Any, Any, float]


class VisitReply(NamedTuple):
    """Result of a visit, without the body. An expensive page is parsed later, by a PARSE call."""

    number: int
    fetched: FetchResult
    parsed: Timed[ParsedPage | Sitemap | Failed] | None

    def packed(self) -> PackedReply:
        """Return plain tuples in place of the usual classes, and a list in place of a failure.

        A pickle has the name of each class, and looking up names takes ten times as long as all
        else.
        """
        fetched, parsed = self.fetched, self.parsed
        packed: object = tuple(fetched) if type(fetched) is Response else fetched
        if type(fetched) is Failed:
            kind, *fields, answer = fetched
            packed = [kind.value, *fields, None if answer is None else tuple(answer)]
        if parsed is None:
            return self.number, packed, None, 0.0
        page, cost_s = parsed
        return self.number, packed, tuple(page) if type(page) is ParsedPage else page, cost_s

    @classmethod
    def unpacked(cls, packed: PackedReply) -> "VisitReply":
        number, fetched, page, cost_s = packed
        if type(fetched) is tuple:
            fetched = Response(*fetched)
        elif type(fetched) is list:
            kind, *fields, answer = fetched
            fetched = Failed._make((_STATES[kind], *fields, answer and Response(*answer)))
        if type(page) is tuple:
            page = ParsedPage(*page)
        return cls(number, fetched, None if page is None else Timed(page, cost_s))


def packed_request(request: Request) -> tuple[Any, ...]:
    url, want, *fields = request
    return url, want.value, *fields


def unpacked_request(packed: tuple[Any, ...]) -> Request:
    url, want, *fields = packed
    return Request(url, _WANTS[want], *fields)


class Worker:
    """Runs all calls that arrive, concurrently."""

    def __init__(self, visitor: Visitor, tasks: asyncio.TaskGroup, mark: BlameMark) -> None:
        self.channel = PickleChannel(self.begin)
        self._mark = mark
        self._visitor, self._tasks = visitor, tasks
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._unparsed: dict[int, Parse] = {}

    def begin(self, call: tuple[int, int | None, Any]) -> None:
        """Start a call, or cancel it."""
        number, command, argument = call
        if command is None:
            if number in self._under_way:
                self._under_way[number].cancel()
        else:
            run = partial(self._reply, number, WorkerCommand(command), argument)
            task = self._tasks.create_task(marked(self._mark, number, run))
            self._under_way[number] = task
            # Pings share a number, and several are under way if the worker was slow to start.
            task.add_done_callback(lambda _: self._under_way.pop(number, None))

    def stop(self) -> None:
        for task in self._under_way.values():
            task.cancel()

    async def _reply(self, number: int, command: WorkerCommand, argument: Any) -> None:
        result = await self._run(number, command, argument)
        self.channel.send((number, result, process_time()))

    async def _run(self, number: int, command: WorkerCommand, argument: Any) -> object:
        match command:
            case WorkerCommand.PING:
                return None
            case WorkerCommand.VISIT:
                reply = await self._visit(number, unpacked_request(argument))
                return reply.packed()
            case WorkerCommand.PARSE:
                return await self._unparsed.pop(argument)()
            case WorkerCommand.FETCH:
                return await self._visitor.fetch(argument)
            case WorkerCommand.LOCATE:
                return await self._visitor.locate(argument)
            case WorkerCommand.PARSE_FILE:
                return await self._parse_file(*argument)
        assert_never(command)

    async def _parse_file(
        self, task: Callable[[bytes], Any], path: str, name: str
    ) -> Timed[Any] | None:
        try:
            body = Path(path).open("rb")  # noqa: SIM115  # the parser closes it
        except OSError:
            return None
        return await self._visitor.parse_in_child(task, body, name)

    async def _visit(self, number: int, request: Request) -> VisitReply:
        visit = await self._visitor.visit(request)
        fetched = visit.fetched
        if not isinstance(fetched, Response) or visit.read is None:
            return VisitReply(number, fetched, None)
        parsed = None if visit.quickly is None else await visit.quickly()
        if parsed is None:
            self._unparsed[number] = visit.read
        return VisitReply(number, fetched, parsed)


async def serve(connection: socket.socket, config: WorkerConfig, mark: BlameMark) -> None:
    async with (
        visiting(config, enough_s=ENOUGH_IN_WORKER_S) as visitor,
        asyncio.TaskGroup() as tasks,
    ):
        worker = Worker(visitor, tasks, mark)
        await worker.channel.connect(connection)
        await worker.channel.ended.wait()
        worker.stop()


def main() -> None:
    mark = BlameMark(int(sys.argv[1]))
    with connection_at_stdin() as connection:
        config = receive_message(connection)
        mmap_large_arrays(LARGER_THAN_BODIES)
        freeze_loaded_objects()
        if config is not None:
            with spares(parser_process.CODE, 1):
                asyncio.run(serve(connection, config, mark))

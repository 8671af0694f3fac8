"""A worker process: fetches and parses for a crawl at the other end of its channel.

Laws: each call has one reply, unless it is cancelled. The worker ends when its channel is closed.
It imports what it needs to fetch and to parse, and nothing else.

`supervisor` describes calls and replies.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from enum import IntEnum
from functools import partial
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

from minicrawl.crawl.process_memory import keep_large_arrays_apart, look_for_cycles_among_what_comes
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.messages import connection_at_stdin, receive_message
from minicrawl.crawl.workers.supervisor import PING, BlameMark, marked
from minicrawl.crawl.workers.visitor import Visitor, visiting
from minicrawl.crawl.workers.worker_config import WorkerConfig
from minicrawl.model import Failed, FetchResult, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed

if TYPE_CHECKING:
    from minicrawl.web.sitemaps.sitemap import Sitemap

Parse: TypeAlias = "Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]]"


class WorkerCommand(IntEnum):
    """What a worker can do: its argument and its result."""

    PING = PING  # nothing: None, at once
    VISIT = 1  # a packed request: a packed `VisitReply`
    PARSE = 2  # the number of a visit: what its page says
    FETCH = 3  # a request: a fetch result
    LOCATE = 4  # a URL: an address


_WANTS = {want.value: want for want in Want}
PackedReply: TypeAlias = tuple[int, Any, Any, float]


class VisitReply(NamedTuple):
    """What came of a visit, without the body. A dear page waits to be parsed by a PARSE call."""

    number: int
    fetched: FetchResult
    parsed: Timed[ParsedPage | Sitemap | Failed] | None

    def packed(self) -> PackedReply:
        """With plain tuples in place of the usual classes: a pickle has the name of each class, and
        to look these up takes ten times as long as all the rest.
        """
        fetched, parsed = self.fetched, self.parsed
        packed = tuple(fetched) if type(fetched) is Response else fetched
        if parsed is None:
            return self.number, packed, None, 0.0
        page, cost_s = parsed
        return self.number, packed, tuple(page) if type(page) is ParsedPage else page, cost_s

    @classmethod
    def unpacked(cls, packed: PackedReply) -> VisitReply:
        """What was packed."""
        number, fetched, page, cost_s = packed
        if type(fetched) is tuple:
            fetched = Response(*fetched)
        if type(page) is tuple:
            page = ParsedPage(*page)
        return cls(number, fetched, None if page is None else Timed(page, cost_s))


def packed_request(request: Request) -> tuple[Any, ...]:
    """The request as a plain tuple, for the same reason."""
    url, want, *rest = request
    return url, want.value, *rest


def unpacked_request(packed: tuple[Any, ...]) -> Request:
    """What was packed."""
    url, want, *rest = packed
    return Request(url, _WANTS[want], *rest)


class Worker:
    """Runs the calls that arrive, all at the same time."""

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
            self._cancel(number)
        else:
            run = partial(self._reply, number, WorkerCommand(command), argument)
            task = self._tasks.create_task(marked(self._mark, number, run))
            self._under_way[number] = task
            task.add_done_callback(lambda _: self._under_way.pop(number))

    def stop(self) -> None:
        """Cancel all calls."""
        for task in self._under_way.values():
            task.cancel()

    def _cancel(self, number: int) -> None:
        if number in self._under_way:
            self._under_way[number].cancel()

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
        assert_never(command)

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
    """Work until the channel is closed."""
    async with visiting(config) as visitor, asyncio.TaskGroup() as tasks:
        worker = Worker(visitor, tasks, mark)
        await worker.channel.connect(connection)
        await worker.channel.ended.wait()
        worker.stop()


def main() -> None:
    """Stdin is the socket of the channel, the argument the descriptor of the blame mark."""
    mark = BlameMark(int(sys.argv[1]))
    with connection_at_stdin() as connection:
        config = receive_message(connection)
        keep_large_arrays_apart()
        look_for_cycles_among_what_comes()
        if config is not None:
            asyncio.run(serve(connection, config, mark))

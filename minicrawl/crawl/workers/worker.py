"""A worker process: it goes out for a crawl that is at the other end of a line.

Laws: each question has one answer, unless it is taken back; the worker ends when nobody listens any
more. It imports what it needs to fetch and to read, and nothing else.

question   its number, the wish and what it is about; without a wish, the question is taken back
answer     the number of the question, what came of it, and what the worker has had of a processor
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from enum import IntEnum
from functools import partial
from time import process_time
from typing import Any, NamedTuple, assert_never

from minicrawl.crawl.process_memory import keep_large_arrays_apart, look_for_cycles_among_what_comes
from minicrawl.crawl.workers.blame import BlameMark, marked
from minicrawl.crawl.workers.channel import PickleChannel, first_message
from minicrawl.crawl.workers.parser import SMALL_IN_A_WORKER
from minicrawl.crawl.workers.visitor import Visitor, WorkerConfig, visiting
from minicrawl.model import Failed, FetchResult, ParsedPage, Request, Response
from minicrawl.ports import Timed
from minicrawl.web.sitemaps.sitemap import Sitemap

Read = Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]]


class WorkerCommand(IntEnum):
    """What a worker can do, and what it answers."""

    LIVE = 0  # nothing, at once
    VISIT = 1  # of a request: `VisitReply`
    READ = 2  # of a visit, by its number: what the page says
    FETCH = 3  # of a request
    LOCATE = 4  # of a URL


class VisitReply(NamedTuple):
    """What came of a visit, without the body; a large page is read only when that is wished."""

    number: int
    fetched: FetchResult
    reading: Timed[ParsedPage | Sitemap | Failed] | None


class Worker:
    """Does what it is asked, all of it at once."""

    def __init__(self, visitor: Visitor, tasks: asyncio.TaskGroup, mark: BlameMark) -> None:
        self.line = PickleChannel(self.hear)
        self._mark = mark
        self._visitor, self._tasks = visitor, tasks
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._unread: dict[int, Read] = {}

    def hear(self, question: tuple[int, WorkerCommand | None, Any]) -> None:
        """Begin with it."""
        number, wish, about = question
        if wish is None:
            self._take_back(number)
        else:
            begin = partial(self._answer, number, wish, about)
            task = self._tasks.create_task(marked(self._mark, number, begin))
            self._under_way[number] = task
            task.add_done_callback(lambda _: self._under_way.pop(number))

    def stop(self) -> None:
        """Nobody waits for what is under way."""
        for task in self._under_way.values():
            task.cancel()

    def _take_back(self, number: int) -> None:
        if number in self._under_way:
            self._under_way[number].cancel()

    async def _answer(self, number: int, wish: WorkerCommand, about: Any) -> None:
        self.line.say((number, await self._do(number, wish, about), process_time()))

    async def _do(self, number: int, wish: WorkerCommand, about: Any) -> object:
        match wish:
            case WorkerCommand.LIVE:
                return None
            case WorkerCommand.VISIT:
                return await self._visit(number, about)
            case WorkerCommand.READ:
                return await self._unread.pop(about)()
            case WorkerCommand.FETCH:
                return await self._visitor.fetch(about)
            case WorkerCommand.LOCATE:
                return await self._visitor.locate(about)
        assert_never(wish)

    async def _visit(self, number: int, request: Request) -> VisitReply:
        visit = await self._visitor.visit(request)
        page = visit.fetched
        if not isinstance(page, Response) or visit.read is None:
            return VisitReply(number, page, None)
        if not visit.is_large:
            return VisitReply(number, page, await visit.read())
        self._unread[number] = visit.read
        return VisitReply(number, page, None)


async def serve(connection: socket.socket, charge: WorkerConfig, mark: BlameMark) -> None:
    """Work until the other end is closed."""
    async with visiting(charge, SMALL_IN_A_WORKER) as visitor, asyncio.TaskGroup() as tasks:
        worker = Worker(visitor, tasks, mark)
        await worker.line.connect(connection)
        await worker.line.ended.wait()
        worker.stop()


def main() -> None:
    """Stdin is a socket, where the charge is said first; the argument is the mark's descriptor."""
    mark = BlameMark(int(sys.argv[1]))
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as connection:
        charge = first_message(connection)
        keep_large_arrays_apart()
        look_for_cycles_among_what_comes()
        if charge is not None:
            asyncio.run(serve(connection, charge, mark))

"""Worker processes fetch the pages and read them; the crawl gets what a page says, without it.

Laws: a worker that ends, whatever ended it, is started anew and takes no page with it. What it was
busy with failed, and is asked for again by a worker that does nothing else: the page that ends two
workers is the one to blame. All else that it was asked for is asked for again as if it never had
been. A worker that is not there yet keeps nobody waiting: this process
does its work. Who is there and cannot keep up is relieved of some of it, unless there are suspects.
But for that a host is always asked by the same worker, which knows its address and keeps its
connections.

suspect   a page that its worker was busy with when it ended
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from itertools import cycle
from time import perf_counter

from minicrawl.config import Network
from minicrawl.crawl.workers.supervisor import WorkerLost, WorkerProcess, WorkerSlot
from minicrawl.crawl.workers.visitor import WorkerConfig, visiting
from minicrawl.crawl.workers.worker import VisitReply, WorkerCommand
from minicrawl.model import Failed, FailureKind, FetchResult, ParsedPage, Refused, Request, Response
from minicrawl.ports import Timed, Visit, WebAccess
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps.sitemap import Sitemap

FIRST_HERE = 20
"""Requests that this process makes itself: who makes so many will make many more."""
MOST_BY_CORES = 3
"""More would wait for the crawl."""
_MOST_HOSTS = 20_000
_LOST = Failed(kind=FailureKind.LOST, detail="the worker process ended over it")
_INTERRUPTED = Failed(
    kind=FailureKind.INTERRUPTED, detail="the worker process ended over another page"
)


@asynccontextmanager
async def going_out(charge: WorkerConfig, workers: int) -> AsyncIterator[WebAccess]:
    """By so many workers; with none of them, by this process."""
    async with visiting(charge) as here:
        if not workers:
            yield here
            return
        posts = [WorkerSlot(charge) for _ in range(workers)]
        crew = WorkerPool(here, posts, WorkerSlot(charge), FIRST_HERE)
        try:
            yield crew
        finally:
            await crew.close()


def workers_of(network: Network) -> int:
    """As many as the user wants, or one for each core that the crawl itself does not need."""
    if isinstance(network.workers, int):
        return network.workers
    return min(_cores() - 1, MOST_BY_CORES)


def _cores() -> int:
    """Those that this process may use, where the system says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Who does what: the one who is `here`, the crew, and the one who is `apart` with suspects."""

    def __init__(
        self,
        here: WebAccess,
        crew: Sequence[WorkerSlot],
        apart: WorkerSlot,
        first_here: int,
    ) -> None:
        self._here, self._crew, self._apart = here, crew, apart
        self._first_here = first_here
        self._suspects: set[str] = set()
        self._alone = asyncio.Lock()
        turns = cycle(crew)
        self._post_of = lru_cache(_MOST_HOSTS)(lambda _origin: next(turns))

    async def fetch(self, request: Request) -> FetchResult:
        """Whatever it is, with its body."""
        if (worker := self._worker(request.url)) is not None:
            with suppress(WorkerLost):
                fetched: FetchResult = await worker.ask(WorkerCommand.FETCH, request)
                return fetched
        return await self._here.fetch(request)

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address, as the one who will connect to it found it."""
        if (worker := self._worker(url)) is not None:
            with suppress(WorkerLost):
                found: str | Refused | Failed = await worker.ask(WorkerCommand.LOCATE, url)
                return found
        return await self._here.locate(url)

    async def rules(self, page: Response, url: str) -> Timed[Rules | Failed]:
        """What a robots.txt says to us."""
        return await self._here.rules(page, url)

    async def recalled(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Rules as they were kept."""
        return await self._here.recalled(text, url)

    async def visit(self, request: Request) -> Visit:
        """A page, and what it says."""
        if request.url in self._suspects:
            async with self._alone:
                return await self._visit(self._apart.holder, request)
        worker = self._worker(request.url)
        if worker is None or self._relieves(worker):
            return await self._here.visit(request)
        return await self._visit(worker, request)

    async def close(self) -> None:
        """All of them end."""
        await asyncio.gather(*(post.close() for post in (*self._crew, self._apart)))

    def _worker(self, url: str) -> WorkerProcess | None:
        """Who asks for this URL; None is who is here."""
        if self._first_here:
            self._first_here -= 1
            return None
        worker = self._post_of(url[: url.index("/", len("https://"))]).holder
        return worker if worker.is_there else None

    def _relieves(self, worker: WorkerProcess) -> bool:
        if self._suspects:
            return False
        return worker.relief.take_turn_here(perf_counter(), worker.cpu_s)

    async def _visit(self, worker: WorkerProcess, request: Request) -> Visit:
        try:
            visited: VisitReply = await worker.ask(WorkerCommand.VISIT, request)
        except WorkerLost as lost:
            if not lost.is_to_blame:
                return Visit(_INTERRUPTED)
            self._suspects.add(request.url)
            return Visit(_LOST)
        self._suspects.discard(request.url)
        if not isinstance(visited.fetched, Response):
            return Visit(visited.fetched)
        read = partial(_read, worker, visited)
        return Visit(visited.fetched, read, is_large=visited.reading is None)


async def _read(worker: WorkerProcess, visited: VisitReply) -> Timed[ParsedPage | Sitemap | Failed]:
    """What is large is read apart from the worker: if that ends, it is not to blame."""
    if visited.reading is not None:
        return visited.reading
    try:
        reading: Timed[ParsedPage | Sitemap | Failed] = await worker.ask(
            WorkerCommand.READ, visited.number
        )
        return reading
    except WorkerLost:
        return Timed(_INTERRUPTED)

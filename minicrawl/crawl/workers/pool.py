"""Distributes requests among worker processes, which fetch and parse the pages.

Laws: a worker that ends is replaced, and no page is lost with it. The page that it was busy with
has failed and becomes a suspect: it is fetched again by a worker that does nothing else, so that a
page that ends two workers is proven to be the cause. The other pages of the worker are fetched
again as if they had not been requested before. While a worker starts, the crawl process does its
work. If a worker cannot keep up, the crawl process takes over some of its pages, but not while
there are suspects. Otherwise a host always has the same worker, which knows its address and keeps
its connections.

suspect   page that its worker was busy with when the worker ended
own       done by the crawl process: the process that runs the crawl, not a worker

Example: worker 1 has the pages a, b and c under way, and the parser of b crashes it.

    a, c   are interrupted: they are requested again by a new worker 1, and no try is used up
    b      is lost, and a suspect: it is requested again by the quarantine worker, all alone
           - if it is read there, something else was the cause: it is no suspect any more
           - if it ends that worker too, it has used up its two tries and is given up

Without the quarantine, b would end a second worker with other pages under way, and one of these
could be given up in its place.

The number of workers may change at any time. Law: a surplus worker gets no more requests, and ends
when its requests are answered, or after `RETIRE_S`; unanswered ones are sent again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, suppress
from functools import lru_cache, partial
from itertools import count, cycle
from operator import itemgetter
from time import perf_counter, process_time, time
from typing import IO, TYPE_CHECKING, Any

from minicrawl.config import Network, Settings
from minicrawl.crawl.workers.spares import spares
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess
from minicrawl.crawl.workers.visitor import WorkerConfig, visiting
from minicrawl.crawl.workers.worker import VisitReply, WorkerCommand, packed_request
from minicrawl.memory.measures import PROC
from minicrawl.model import (
    CrawlerId,
    Failed,
    FetchResult,
    ParsedPage,
    Refused,
    Request,
    Response,
    Want,
)
from minicrawl.ports import Timed, Visit, WebAccess
from minicrawl.states import State
from minicrawl.web.sitemaps.sitemap import Sitemap

if TYPE_CHECKING:
    import httpx

LOOK_EVERY_S = 0.1
BUSY = 0.5
"""Processor time, as a share of elapsed time, from which a worker is busy."""
SPARE = 0.9
"""Processor time, as a share of elapsed time, below which a process has time to spare."""
OWN_AT_ONCE = 2
"""Limit of pages taken over at once: the crawl process must also settle the workers' results."""
FEWEST_LEFT = 4
"""Number of requests that a worker keeps, so that it always has work."""


class LoadShedder:
    """Decides which pages of one worker the crawl process takes over.

    A busy worker sheds load: the crawl process does some of its pages, a few at once, so that
    neither waits for the other. The crawl process takes none while it is busy itself, unless the
    worker is busier. A worker with time to spare sheds nothing; waiting for the web is not work.
    """

    def __init__(self, own_cpu_s: Callable[[], float] = process_time) -> None:
        self._own_cpu_s = own_cpu_s
        self._is_busy = False
        self._looked = (0.0, 0.0, 0.0)

    def sheds(self, now: float, worker_cpu_s: float, *, left: int, own: int) -> bool:
        """Return whether the crawl process, with `own` requests, does the next page of `left`."""
        then, own_before_s, worker_before_s = self._looked
        if now - then >= LOOK_EVERY_S:
            own_cpu_s = self._own_cpu_s()
            self._looked = now, own_cpu_s, worker_cpu_s
            own_s, worker_s = own_cpu_s - own_before_s, worker_cpu_s - worker_before_s
            has_time = own_s < SPARE * (now - then)
            self._is_busy = worker_s >= BUSY * (now - then) and (has_time or worker_s > own_s)
        return self._is_busy and own < OWN_AT_ONCE and left >= FEWEST_LEFT


SILENCE_S = 10.0
END_S = 5.0
RETIRE_S = 5.0
_CODE = "from minicrawl.crawl.workers.worker import main; main()"


class Activity:
    """Requests of one process for the crawl: those under way, and the number of those begun."""

    __slots__ = ("_ended", "begun", "under_way")

    def __init__(self) -> None:
        self.begun = 0
        self._ended = ("", 0.0)
        self.under_way: dict[int, tuple[str, float]] = {}
        """URL and start (time of day) of each request under way, in order of their starts."""

    def begin(self, url: str) -> int:
        self.begun += 1
        self.under_way[self.begun] = url, time()
        return self.begun

    def end(self, number: int) -> None:
        self._ended = self.under_way.pop(number)

    @property
    def last(self) -> tuple[str, float]:
        """URL and start of the latest request under way; else no URL, and when the last began."""
        number = next(reversed(self.under_way), 0)
        return self.under_way.get(number, ("", self._ended[1]))


_NUMBERS = count(1)


class WorkerProcess(ChildProcess):
    def __init__(self, config: WorkerConfig, silence_s: float, end_s: float) -> None:
        super().__init__(ChildJob(code=_CODE, config=config, silence_s=silence_s, end_s=end_s))
        self.load_shedder = LoadShedder()
        self.activity = Activity()
        self.number = next(_NUMBERS)  # among all workers that this process has started

    async def visit(self, request: Request) -> VisitReply:
        return VisitReply.unpacked(await self.call(WorkerCommand.VISIT, packed_request(request)))


class WorkerSlot:
    """Holds one worker at a time. A worker that never started is not replaced."""

    def __init__(
        self, config: WorkerConfig, silence_s: float = SILENCE_S, end_s: float = END_S
    ) -> None:
        self._config, self._silence_s, self._end_s = config, silence_s, end_s
        self._worker: WorkerProcess | None = None
        self.living: set[WorkerProcess] = set()
        """Processes of this slot that have not ended."""

    def worker(self) -> WorkerProcess:
        """Return the current worker, started now if there is none; it may not be ready yet."""
        # A worker that ended before its first reply, perhaps for lack of memory, would end again:
        # it stays in its slot, and the crawl process does its work.
        if self._worker is None or (self._worker.is_over and self._worker.has_started):
            self._worker = worker = WorkerProcess(self._config, self._silence_s, self._end_s)
            self.living.add(worker)
            worker.life.add_done_callback(lambda _: self.living.discard(worker))
        return self._worker

    def another(self) -> WorkerSlot:
        return WorkerSlot(self._config, self._silence_s, self._end_s)

    async def retire(self) -> None:
        await asyncio.gather(*(worker.finish(RETIRE_S) for worker in self.living))

    async def close(self) -> None:
        await asyncio.gather(*(worker.close() for worker in self.living))


FIRST_OWN = 20
"""Number of requests that the crawl process does first: a shorter crawl needs no workers."""
LONG = 200
"""Page budget from which the workers are started at once."""
MOST_BY_CORES = 3
"""Limit of workers chosen by cores; more would only wait for the crawl process."""
_MOST_HOSTS = 20_000
_LOST = Failed(kind=State.LOST, detail="the worker process ended on this page")
_INTERRUPTED = Failed(kind=State.INTERRUPTED, detail="the worker process ended on another page")


@asynccontextmanager
async def open_web_access(
    config: WorkerConfig, workers: int, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[WorkerPool]:
    """Open web access through this number of workers; with none, through the crawl process.

    A transport of httpx cannot leave the crawl process: with one, there are no workers.
    """
    async with visiting(config, transport=transport) as own:
        slots = [] if transport else [WorkerSlot(config) for _ in range(workers)]
        pool = WorkerPool(own, slots, WorkerSlot(config), FIRST_OWN)
        pool.has_workers = transport is None
        own.parse_remotely(pool.parse_body)
        async with aclosing(pool):
            yield pool


def forked_workers(settings: Settings) -> AbstractContextManager[None]:
    """Fork the workers of a crawl, if it may need any, best before numpy is loaded."""
    pages = settings.budget.pages
    is_short = pages is not None and pages <= FIRST_OWN
    return spares(_CODE, 0 if is_short else worker_count(settings.network))


def worker_count(network: Network) -> int:
    """Return the number of workers: the user's, or one for each core but one, up to a limit."""
    if isinstance(network.workers, int):
        return network.workers
    # Cores that this process may use, where the system tells.
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return min((len(usable) or os.cpu_count() or 1) - 1, MOST_BY_CORES)


class WorkerPool:
    """Web access through workers. `quarantine` is the slot of the worker that gets the suspects.

    The crawl process does the first `first_own` requests.
    """

    def __init__(
        self, own: WebAccess, slots: Sequence[WorkerSlot], quarantine: WorkerSlot, first_own: int
    ) -> None:
        self._own, self._slots, self._quarantine = own, list(slots), quarantine
        self.parse_rules, self._first_own = own.parse_rules, first_own
        self.activity = Activity()  # of the crawl process
        self.has_workers = True
        self._suspects: dict[str, bool] = {}
        """Suspects, and whether each was proven to be the cause."""
        self._one_suspect = asyncio.Lock()
        self._retiring: dict[asyncio.Task[None], WorkerSlot] = {}
        self._deal_out_hosts()

    def _deal_out_hosts(self) -> None:
        turns = cycle(tuple(self._slots))
        # Bounded, because a broad crawl meets millions of hosts. A host that is evicted may get
        # another worker, which costs no more than a new connection.
        self._slot_of = lru_cache(_MOST_HOSTS)(lambda _origin: next(turns))

    def start(self) -> None:
        for slot in self._slots:
            slot.worker()

    def processes(self) -> list[tuple[int, WorkerProcess]]:
        """Return all living processes with their numbers, including those about to end."""
        slots = (*self._slots, *self._retiring.values(), self._quarantine)
        living = [worker for slot in slots for worker in slot.living]
        return sorted(((worker.number, worker) for worker in living), key=itemgetter(0))

    def resize(self, workers: int) -> None:
        """Change the number of workers, if there are any. New ones start at once."""
        if not self.has_workers:
            return
        while len(self._slots) < workers:
            self._slots.append(self._quarantine.another())
            self._slots[-1].worker()
        for slot in self._slots[workers:]:
            task = asyncio.create_task(slot.retire())
            self._retiring[task] = slot
            task.add_done_callback(self._retiring.pop)
        # All hosts are dealt out anew. Dealing out only those of removed workers was rejected: new
        # workers would get none of the known hosts.
        del self._slots[workers:]
        self._deal_out_hosts()

    async def fetch(self, request: Request) -> FetchResult:
        """Fetch one URL, body included; here if its body goes to a temporary file."""
        is_file = request.want is Want.FILE
        if not is_file and (worker := self._worker(request.url)) is not None:
            with suppress(ChildLost):
                fetched: FetchResult = await worker.call(WorkerCommand.FETCH, request)
                return fetched
        return await self._own.fetch(request)

    async def locate(self, url: str) -> str | Refused | Failed:
        """Return the address of a URL, from the process that will connect to it."""
        if (worker := self._worker(url)) is not None:
            with suppress(ChildLost):
                address: str | Refused | Failed = await worker.call(WorkerCommand.LOCATE, url)
                return address
        return await self._own.locate(url)

    async def visit(self, request: Request) -> Visit:
        if request.url in self._suspects:
            # One at a time: if the worker did anything else when it ended, its end would prove
            # nothing against this page.
            async with self._one_suspect:
                return await self._visit(self._quarantine.worker(), request)
        worker = self._worker(request.url)
        # A page that ended its worker may end the process that fetches it next: the crawl process
        # takes over none while there are suspects, until each is proven to be the cause.
        if worker is not None:
            left, own = len(worker.activity.under_way), len(self.activity.under_way)
            sheds = all(self._suspects.values()) and worker.load_shedder.sheds(
                perf_counter(), worker.cpu_s, left=left, own=own
            )
            if not sheds:
                return await self._visit(worker, request)
        number = self.activity.begin(request.url)
        try:
            return await self._own.visit(request)
        finally:
            self.activity.end(number)

    async def parse_body(
        self, task: Callable[[bytes], Any], body: IO[bytes], name: str
    ) -> Timed[Any] | None:
        """Have the child of a worker parse a body of this process; None if that is impossible.

        No worker is started for this: a crawl of few pages may need none.
        """
        workers = (worker for slot in self._slots for worker in slot.living)
        if (worker := next(workers, None)) is not None:
            with suppress(ChildLost, OSError):  # a body in memory has no descriptor
                path = PROC / str(os.getpid()) / "fd" / str(body.fileno())
                call = worker.call(WorkerCommand.PARSE_FILE, (task, str(path), name))
                parsed: Timed[Any] | None = await call
                return parsed
        return None

    async def aclose(self) -> None:
        slots = (*self._slots, *self._retiring.values(), self._quarantine)
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*(slot.close() for slot in slots))

    def _worker(self, url: str) -> WorkerProcess | None:
        """Return the worker that requests this URL; None means the crawl process."""
        if not self._slots:
            return None
        if self._first_own:
            self._first_own -= 1
            return None
        # The origin is cut out by hand: parsing the URL would cost more than choosing the worker.
        worker = self._slot_of(url[: url.index("/", len("https://"))]).worker()
        # A worker that is starting is passed over: the first pages would wait for its imports.
        return worker if worker.is_ready else None

    async def _visit(self, worker: WorkerProcess, request: Request) -> Visit:
        number, crawler = worker.activity.begin(request.url), CrawlerId(worker.number, worker.pid)
        try:
            reply = await worker.visit(request)
        except ChildLost as lost:
            # The two failures differ for the retry policy: an interruption uses up no try of a page
            # that only shared a worker with the guilty one.
            if not lost.is_to_blame:
                return Visit(_INTERRUPTED, crawler=crawler)
            self._suspects[request.url] = request.url in self._suspects
            return Visit(_LOST, crawler=crawler)
        finally:
            worker.activity.end(number)
        self._suspects.pop(request.url, None)
        if not isinstance(reply.fetched, Response):
            return Visit(reply.fetched, crawler=crawler)
        parse = partial(_parse, worker, reply)
        return Visit(reply.fetched, parse, crawler=crawler, parsed=reply.parsed)


async def _parse(worker: WorkerProcess, reply: VisitReply) -> Timed[ParsedPage | Sitemap | Failed]:
    """Return the parsed page; the worker parses it now if that was too expensive before."""
    if reply.parsed is not None:
        return reply.parsed
    try:
        parsed: Timed[ParsedPage | Sitemap | Failed] = await worker.call(
            WorkerCommand.PARSE, reply.number
        )
        return parsed
    except ChildLost:
        return Timed(_INTERRUPTED)

"""Growth of the frontier: memory and disk for each known URL, and time for each settlement.

`python -m tests.bench.frontier --urls 1e7` crawls an endless web until this number of URLs is
known, with all work between two pages except network and parsing: leases, look-ups of links,
settlements, durable commits, checkpoints. Then it leaves the store as a kill would, and a new
process resumes the crawl and ends it in order. Another process resumes the crawl after that.

A hundred million URLs take hours. `--store PATH` keeps the crawl, and the measurements beside it;
the same command resumes an interrupted run. `--made 1e8` writes the first hundred million URLs
without crawling them, so that the measurements begin there.

RAM is the memory of the process above its memory before it opened the store. The time of a
settlement is the time for which it blocks the loop; asynchronous look-ups count only in the pages a
second. A stall is the delay of another task in the loop beyond its due time.
"""

import asyncio
import gc
import subprocess
import sys
import time
from array import array
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np

from minicrawl.app import SystemClock
from minicrawl.config import Politeness, Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import TrapDetector
from minicrawl.crawl.hosts.host import Host, NameState
from minicrawl.crawl.record.commits import COMMIT_EVERY_S
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.leases import Lease, LeaseScheduler
from minicrawl.crawl.settle.outcome import WasRead
from minicrawl.crawl.settle.posting import ReplayScheduler, StepPoster
from minicrawl.crawl.settle.settler import Settler
from minicrawl.crawl.start.opening import plant
from minicrawl.crawl.turns.turn import Turn
from minicrawl.frontier.loading import load_frontier
from minicrawl.memory.allocator import LARGER_THAN_LINKS, mmap_large_arrays, return_free_memory
from minicrawl.memory.garbage_collector import GC_THRESHOLDS
from minicrawl.model import ParsedPage, Response
from minicrawl.opic.ledger.books import StepKind
from minicrawl.store.reader import connect
from minicrawl.store.records import FetchRow, StoreTerms
from minicrawl.store.writer import StoreWriter
from minicrawl.web.urls import ResolvedUrl
from tests.bench.endless import LINKS, EndlessWeb, origin
from tests.bench.made import make
from tests.bench.notes import head, into_document, machine, row, tell, today
from tests.memory import memory_bytes

SEEDS = 1000
IN_FLIGHT = 80
HOSTS, PAGES_A_HOST = 100_000, 1000
HOST = Host(0, "http://a.example", NameState("a.example", Politeness()))
ANSWER = Response(status=200, headers={"etag": '"5f3c-61a8"'}, body=b"")
BEAT_S = 0.005
SAMPLED = 10
"""One settlement in ten is recorded, so that the times of 100,000,000 URLs fit in memory."""


class Stage(NamedTuple):
    """Measurements at a number of known URLs."""

    known: int
    read: int
    ram: float  # bytes a URL
    peak: float
    disk: float
    settle_us: float  # median
    slow_us: float  # the slowest in a hundred
    turn_us: float  # lease and settlement, mean
    pace: float  # pages a second, including all other work
    stall_ms: float  # longest


COLUMNS = (
    ("URLs known", ",.0f"),
    ("pages read", ",.0f"),
    ("RAM B a URL", ".1f"),
    ("at the peak", ".1f"),
    ("disk B a URL", ".1f"),
    ("settlement µs", ".0f"),
    ("99 of 100", ".0f"),
    ("turn µs", ".0f"),
    ("pages/s", ",.0f"),
    ("longest stall ms", ".0f"),
)


class Bench:
    """A crawl without network and parsing."""

    def __init__(self, recorder: Recorder, web: EndlessWeb | None = None) -> None:
        settings = Settings.of(
            delay=0,
            address_delay=0,
            strategy="greedy" if recorder.frontier.siblings is None else "siblings",
        )
        clock = SystemClock()
        self._recorder, self._clock, self._web = recorder, clock, web
        self._leasing = LeaseScheduler(settings, recorder, clock, lambda: np.zeros(0))
        replays = ReplayScheduler(recorder.frontier, settings.order.replay)
        saw = replays.saw if replays.per_fetch else None
        poster = StepPoster(recorder, self._leasing.queue, lambda _: None, None, saw)
        self._gate = ScopeGate(settings.scope, ())
        traps = TrapDetector(settings.traps, recorder, self._gate)
        self._settler = Settler(settings, recorder, poster, self._gate, traps)
        self._in_flight: deque[Lease] = deque()
        self._ending: set[asyncio.Task[None]] = set()
        self._leasing.restore()
        for pages, contents in recorder.pages.contents():
            self._settler.load_contents(pages, contents)
        self._settler.finish_loading()
        return_free_memory()  # as `CrawlParts.restore` does
        self.settled_s = array("f")
        self.turns, self.turned_s = 0, 0.0

    def lease(self) -> Lease:
        """Lease the next page."""
        lease = self._leasing.next()
        assert lease is not None
        assert self._gate.refusal(lease.url, 0, 0) is None
        return lease

    async def turn(self) -> None:
        """Lease a page, and begin to settle another one."""
        began = time.perf_counter()
        self._in_flight.append(self.lease())
        self.turned_s += time.perf_counter() - began
        if len(self._in_flight) >= IN_FLIGHT:
            self._ending.add(asyncio.create_task(self._end(self._in_flight.popleft())))
        await asyncio.sleep(0)
        if len(self._ending) == IN_FLIGHT:
            await self.wait_for(asyncio.FIRST_COMPLETED)

    async def wait_for(self, ended: str) -> None:
        """Wait for the turns of read pages, all or the first."""
        done, self._ending = await asyncio.wait(self._ending, return_when=ended)
        for turn in done:
            turn.result()

    async def _end(self, lease: Lease) -> None:
        assert self._web
        links = tuple(self._web.links(lease.url))
        settlement = Busy(self._settle(lease, links))
        await settlement
        self.turned_s += settlement.took_s
        self.turns += 1
        if not self.turns % SAMPLED:
            self.settled_s.append(settlement.took_s)

    async def _settle(self, lease: Lease, links: tuple[str, ...]) -> None:
        page = lease.page
        reading = ParsedPage(
            title=lease.url,
            links=links,
            content=hash(lease.url),
            text=page + 1,
            template=page + 1,
        )
        looked_up = await self._recorder.look_up_urls(links)
        now = time.perf_counter()
        row = FetchRow(lease.page, now, "page", 200, 30_000, 0.1, "")
        self._recorder.record_request(row, is_page=True)
        turn = Turn(lease, lease.page, HOST, looked_up)
        self._settler.settle(turn, WasRead(ANSWER, reading), now)
        self._leasing.resume(lease.host_id)


class Busy(Awaitable[None]):
    """Awaitable that measures for how long a coroutine blocks the loop."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work
        self.took_s = 0.0

    def __await__(self) -> Generator[Any, Any, None]:
        while True:
            began = time.perf_counter()
            try:
                wanted = self._work.send(None)
            except StopIteration:
                return
            finally:
                self.took_s += time.perf_counter() - began
            yield wanted


async def grow(
    recorder: Recorder, path: Path, stops: list[int], before: int
) -> AsyncIterator[Stage]:
    """Crawl and yield measurements at each stop; `before` is the memory at the beginning."""
    web = EndlessWeb(HOSTS + stops[-1] // PAGES_A_HOST)
    if len(recorder.frontier):
        origins = recorder.frontier.urls.origins
        web.go_on(origins, np.bincount(recorder.frontier.urls.host_of, minlength=len(origins)))
    else:
        await plant(recorder, map(ResolvedUrl, web.seeds(SEEDS)), 1000)
    bench, pulse = Bench(recorder, web), Pulse()
    keeping = asyncio.create_task(recorder.committer.keep())
    beating = asyncio.create_task(pulse.beat())
    stops = [stop for stop in stops if stop > len(recorder.frontier)]
    if not stops:
        raise click.UsageError(f"{path} knows {len(recorder.frontier):,} URLs: ask for more --urls")
    for stop in stops:
        bench.settled_s, bench.turns, bench.turned_s, pulse.latest_s = array("f"), 0, 0.0, 0.0
        began = time.perf_counter()
        while len(recorder.frontier) < stop:
            if recorder.committer.takes_more:
                await bench.turn()
            else:
                await asyncio.sleep(COMMIT_EVERY_S)
            if keeping.done():
                keeping.result()
        known, times = len(recorder.frontier), sorted(bench.settled_s)
        now, peak = memory_bytes("VmRSS"), memory_bytes("VmHWM")
        yield Stage(
            known,
            int(recorder.counters.number("fetched")),
            (now - before) / known,
            (peak - before) / known,
            disk(path) / known,
            median(times) * 1e6,
            times[len(times) * 99 // 100] * 1e6,
            bench.turned_s / bench.turns * 1e6,
            bench.turns / (time.perf_counter() - began),
            pulse.latest_s * 1e3,
        )
    await bench.wait_for(asyncio.ALL_COMPLETED)
    beating.cancel()
    keeping.cancel()
    # The store's thread finishes its work, so that no checkpoint is written twice.
    await asyncio.wait((keeping, beating))


class Pulse:
    """Task that measures the longest stall of the loop."""

    latest_s = 0.0

    async def beat(self) -> None:
        while True:
            due = time.perf_counter() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self.latest_s = max(self.latest_s, time.perf_counter() - due)


def disk(path: Path) -> int:
    """Return the bytes of the store and its log."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def bytes_of_links(path: Path) -> tuple[int, int]:
    """Return the bytes of all links in the store, and the number of pages with links."""
    with closing(connect(path)) as connection:
        size, pages = connection.execute(
            "SELECT sum(length(spending)), count(*) FROM steps WHERE kind = ?", (StepKind.VISIT,)
        ).fetchone()
    return size, pages


@asynccontextmanager
async def opened(path: Path, strategy: str = "greedy") -> AsyncIterator[Recorder]:
    with closing(StoreWriter.open(path)) as store:
        store.agree(StoreTerms())
        with closing(connect(path)) as reader:
            by_siblings = strategy == "siblings"
            load = partial(load_frontier, store.connection, StoreTerms(), siblings=by_siblings)
            with closing(Recorder(store, reader, load)) as recorder:
                yield recorder


async def go_on(path: Path, strategy: str) -> None:
    """Resume a crawl in this process, measure until the first lease, and end the crawl in order."""
    mmap_large_arrays(LARGER_THAN_LINKS)
    gc.set_threshold(*GC_THRESHOLDS)
    before, began = memory_bytes("VmRSS"), time.perf_counter()
    async with opened(path, strategy) as recorder:
        bench = Bench(recorder)  # with its queues, until the memory is read
        bench.lease()
        took = time.perf_counter() - began
        now, peak = memory_bytes("VmRSS"), memory_bytes("VmHWM")
        known = len(recorder.frontier)
        click.echo(f"{took} {(now - before) / known} {(peak - before) / known}")
        await recorder.committer.commit(checkpoint=True)


def resumed(path: Path, strategy: str) -> tuple[float, float, float]:
    program = [sys.executable, "-m", "tests.bench.frontier", "--strategy", strategy]
    command = [*program, "--go-on", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    took, ram, peak = map(float, done.stdout.split())
    return took, ram, peak


async def measure(path: Path, stops: list[int], strategy: str) -> list[str]:
    """Crawl and return a row for each stop, including those of interrupted runs."""
    mmap_large_arrays(LARGER_THAN_LINKS)
    gc.set_threshold(*GC_THRESHOLDS)
    before, kept = memory_bytes("VmRSS"), path.with_name(f"{path.name}-stages")
    with kept.open("a", encoding="utf-8") as stages:
        async with opened(path, strategy) as recorder:
            async for stage in grow(recorder, path, stops, before):
                click.echo(as_row(stage), stages)
                stages.flush()
                click.echo(as_row(stage), err=True)
    return kept.read_text(encoding="utf-8").splitlines()


def as_row(stage: Stage) -> str:
    return row(*(f"{value:{form}}" for value, (_, form) in zip(stage, COLUMNS, strict=True)))


def report(path: Path, stops: list[int], made: int, strategy: str) -> Iterator[str]:
    if made and not path.exists():
        make(path, made, [*map(origin, range(HOSTS + made // PAGES_A_HOST))], SEEDS)
    stages, known = asyncio.run(measure(path, stops, strategy)), stops[-1]
    written = f", {made:,} of them written and not crawled" if made else ""
    yield f"{today()}: {known:,} URLs{written}, --strategy {strategy}. {machine()}."
    yield ""
    yield from head(*(title for title, _ in COLUMNS))
    yield from stages
    yield ""
    after_kill, after_end = resumed(path, strategy), resumed(path, strategy)
    size, pages = bytes_of_links(path)
    yield from head("", "seconds", "RAM B a URL", "at the peak")
    yield row("resumes after a kill", *(f"{value:.1f}" for value in after_kill))
    yield row("resumes after an ordered end", *(f"{value:.1f}" for value in after_end))
    yield ""
    yield (
        f"Disk at the end: {disk(path) / known:.1f} bytes a URL; of these the links of "
        f"{pages:,} pages take {size / known:.1f}, {size / pages / LINKS:.1f} a link."
    )


def decades(urls: int) -> list[int]:
    """Return 1e5, 3e5, 1e6 and so on, and finally `urls`."""
    stops = [factor * 10**power for power in range(5, 10) for factor in (1, 3)]
    return [*(stop for stop in stops if stop < urls), urls]


@click.command()
@click.option("--urls", type=float, default=1e6, show_default=True)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the store, which needs 150 bytes per URL.",
)
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the store here, or resume its crawl.",
)
@click.option("--made", type=float, default=0, help="Number of URLs to write without crawling.")
@click.option("--strategy", type=click.Choice(["siblings", "greedy"]), default="siblings")
@click.option("--go-on", type=click.Path(exists=True, dir_okay=False, path_type=Path), hidden=True)
@into_document
def main(
    urls: float,
    folder: Path | None,
    store: Path | None,
    made: float,
    strategy: str,
    go_on: Path | None,
    into: Path | None,
) -> None:
    if go_on:
        asyncio.run(_go_on(go_on, strategy))
        return
    with TemporaryDirectory(prefix="minicrawl-bench-", dir=folder) as name:
        path = store or Path(name, "crawl.db")
        lines = list(report(path, decades(int(urls)), int(made), strategy))
    tell(lines, "made" if made else "frontier", into)


_go_on = go_on

if __name__ == "__main__":
    main()

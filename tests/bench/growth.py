"""Pace of a crawl with a growing number of pages, and of hosts.

`python -m tests.bench.growth` crawls an endless web with the real loop, in one process and without
network, and prints the pages a second by the number of known URLs. Pages are HTML of some 20 KB;
the time for making them is subtracted. On a shared machine the pace may double within a second.
So the large crawl is stopped after each 1,000 pages at the numbers of interest, a new crawl
meanwhile reads its first 4,000 pages, and their paces are compared.

Then a crawl requests pages of 10,000 hosts once a second each, and the load of the loop and the
shortest pause of any host are printed. Last, the cost of choosing a page among 1,000,000 hosts is
measured: to lease it, to delay its host, and to wake the host in time.
"""

import asyncio
import gc
import os
import signal
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import islice
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import numpy as np

from minicrawl.app import SystemClock
from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.leases import Lease, LeaseScheduler
from minicrawl.crawl.start.opening import plant
from minicrawl.crawl.workers.parser import PageParser
from minicrawl.memory.allocator import LARGER_THAN_LINKS, mmap_large_arrays
from minicrawl.memory.garbage_collector import GC_THRESHOLDS
from minicrawl.model import Failed, Request, Response
from minicrawl.ports import Timed, Visit
from minicrawl.states import State
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.robots.rules import ALLOW_ALL, Rules
from minicrawl.web.urls import ResolvedUrl
from tests.bench.endless import EndlessWeb
from tests.bench.frontier import opened
from tests.bench.notes import head, into_document, machine, row, tell, today

WINDOW = 1000
"""Number of pages for each measurement of the pace."""
MANY_KNOWN = 100_000
BUSY_S = 20.0
LATENCY_S = 0.05
MANY = 10_000
FETCHES = 50_000
_HTML = {"content-type": "text/html; charset=utf-8"}
_TEXT = '<p class="text">The text of NAME <b>besides</b> its links.</p>\n' * 250
_SPELLED = str.maketrans("0123456789", "abcdefghij")
A_SECOND = 5000


class Nearby:
    """Endless web in this process. Each host has its own address, and none has a robots.txt."""

    def __init__(self, web: EndlessWeb, latency_s: float) -> None:
        self._web = web
        self._reader = PageParser(ParseOptions(), max_s=30.0)
        self._latency_s = latency_s
        self._answered: dict[str, float] = {}
        self.own_s = 0.0
        self.requests = 0
        self.least_pause_s = inf

    async def locate(self, url: str) -> str:
        return _host(url)

    async def fetch(self, request: Request) -> Failed:
        await self._ask(request.url)
        return Failed(kind=State.NOT_FOUND, status=404)

    async def visit(self, request: Request) -> Visit:
        await self._ask(request.url)
        began = time.perf_counter()
        body = _as_html(request.url, self._web.links(request.url))
        page = Response(status=200, headers=_HTML, body=body)
        self.own_s += time.perf_counter() - began
        reading = self._reader.reading(page, request)
        return Visit(page, reading.anyhow, reading.quickly)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        return Timed(ALLOW_ALL)

    async def _ask(self, url: str) -> None:
        self.requests += 1
        host = _host(url)
        pause_s = time.monotonic() - self._answered.get(host, -inf)
        self.least_pause_s = min(self.least_pause_s, pause_s)
        await asyncio.sleep(self._latency_s)
        self._answered[host] = time.monotonic()


def _as_html(url: str, links: Iterable[str]) -> bytes:
    """Return HTML with a distinct text, as trap detection ignores differences in numbers."""
    name = url.translate(_SPELLED)
    items = "".join(f'<li class="item"><a href="{link}">{link[-30:]}</a></li>\n' for link in links)
    text = _TEXT.replace("NAME", name)
    return f"<!doctype html><title>{name}</title>\n<ul>{items}</ul>\n{text}".encode()


def _host(url: str) -> str:
    return url[7 : url.index("/", 7)]


@asynccontextmanager
async def crawling(
    settings: Settings, path: Path, hosts: int, latency_s: float = 0.0
) -> AsyncIterator[tuple[Recorder, Nearby]]:
    """Run a crawl with a seed on each host."""
    async with opened(path) as recorder:
        web = EndlessWeb(hosts)
        await plant(recorder, map(ResolvedUrl, web.seeds(hosts)), hosts)
        outside, gate = Nearby(web, latency_s), ScopeGate(settings.scope, ())
        crawler = Crawler(settings, recorder, outside, gate, SystemClock(), nobody_listens)
        running = asyncio.create_task(crawler.run())
        try:
            yield recorder, outside
        finally:
            crawler.stop()
            await running


def be_a_crawl() -> None:
    """Configure memory as the command does."""
    mmap_large_arrays(LARGER_THAN_LINKS)
    gc.set_threshold(*GC_THRESHOLDS)


class Span(NamedTuple):
    """Range of the number of known URLs."""

    first: int
    last: int


Spans = Sequence[Span]
FEW_KNOWN = Span(10_000, 45_000)


class Pace(NamedTuple):
    """Pace at a number of known URLs."""

    known: int
    pages: float  # a second


async def paces(path: Path, hosts: int) -> AsyncGenerator[Pace, None]:
    """Crawl and yield paces. The time between two of them is not measured."""
    settings = Settings.of(delay=0, address_delay=0, scope="any")
    async with crawling(settings, path, hosts) as (recorder, outside):
        while True:
            fetched, own_s = recorder.counters.number("fetched"), outside.own_s
            began = time.perf_counter()
            while (pages := recorder.counters.number("fetched") - fetched) < WINDOW:
                await asyncio.sleep(0)
            took_s = time.perf_counter() - began - (outside.own_s - own_s)
            yield Pace(len(recorder.frontier), pages / took_s)


def _crawl(path: Path, hosts: int, spans: Spans, sender: Connection) -> None:
    """Crawl and send the paces within the spans; stop the whole process after each."""

    async def crawl() -> None:
        async with aclosing(paces(path, hosts)) as found:
            async for pace in found:
                if any(first <= pace.known <= last for first, last in spans):
                    sender.send(pace)
                    os.kill(os.getpid(), signal.SIGSTOP)
                if pace.known > spans[-1].last:
                    break

    be_a_crawl()
    asyncio.run(crawl())
    sender.close()


def crawled(path: Path, hosts: int, spans: Spans) -> Iterator[Pace]:
    """Yield the paces of a crawl that stops until the caller wants the next one."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_crawl, args=(path, hosts, spans, sender))
    process.start()
    sender.close()
    assert process.pid is not None
    try:
        while True:
            pace = receiver.recv()
            os.waitpid(process.pid, os.WUNTRACED)  # wait until it has stopped
            yield pace
            os.kill(process.pid, signal.SIGCONT)
    except EOFError:
        process.join()
    finally:
        process.kill()


def growth(folder: Path, urls: int) -> Iterator[str]:
    """Yield the pace around each power of ten, relative to new crawls at the same time."""
    stops = [MANY_KNOWN * 10**power for power in range(5) if MANY_KNOWN * 10**power <= urls]
    spans = [Span(int(stop * 0.8), int(stop * 1.2)) for stop in stops]
    hosts = urls // 1000
    pairs: list[tuple[Pace, float]] = []
    for number, large in enumerate(crawled(folder / "large.db", hosts, spans)):
        new = crawled(folder / f"{number}.db", hosts, [FEW_KNOWN])
        pairs.append((large, median(pace.pages for pace in new)))
    yield from head("URLs known", "pages/s", "a new crawl's", "of it", "half are from to", "times")
    for first, last in spans:
        around = [(large, new) for large, new in pairs if first <= large.known <= last]
        parts = [large.pages / new for large, new in around]
        low, middle, high = quantiles(parts, n=4)
        yield row(
            f"{first:,} to {last:,}",
            f"{median(large.pages for large, _ in around):,.0f}",
            f"{median(new for _, new in around):,.0f}",
            f"{middle:.0%}",
            f"{low:.0%} to {high:.0%}",
            f"{len(around)}",
        )


async def busy(path: Path) -> str:
    """Crawl many hosts, each once a second, and describe the load and the delays."""
    settings = Settings.of(delay=1, scope="any", concurrency=1000)
    async with crawling(settings, path, MANY, LATENCY_S) as (_, outside):
        cpu, began = time.process_time(), time.perf_counter()
        await asyncio.sleep(BUSY_S)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        requests, pause_s = outside.requests, outside.least_pause_s
    return (
        f"{MANY:,} hosts with a delay of 1 s: {requests / took:,.0f} requests a second, "
        f"{cpu / took:.0%} of a core; the least pause of a host was {pause_s:.3f} s."
    )


async def scheduling(path: Path, hosts: int) -> str:
    """Measure leases, delays and wakes on a fake clock, without settlements."""
    async with opened(path) as recorder:
        await plant(recorder, map(ResolvedUrl, EndlessWeb(hosts).seeds(hosts)), 0)
        settings = Settings.of(delay=hosts / A_SECOND / 2)
        leasing = LeaseScheduler(settings, recorder, SystemClock(), lambda: np.zeros(0))
        clocks = HostTable(settings.politeness, leasing.resume, recorder.frontier.urls.origins)
        leasing.restore()
        in_flight: deque[Lease] = deque()
        times = []
        for number in range(hosts + FETCHES):
            now, began = number / A_SECOND, time.perf_counter()
            clocks.wake(now)
            lease = leasing.next()
            assert lease is not None
            clocks.begin(clocks[lease.host_id], now)
            in_flight.append(lease)
            if len(in_flight) > settings.politeness.concurrency:
                done = in_flight.popleft()
                leasing.give_back(done)
                clocks.end(clocks[done.host_id], now)
            times.append(time.perf_counter() - began)
    mean_s = sum(islice(times, hosts, None)) / FETCHES
    return (
        f"To choose a page among {hosts:,} hosts and to time its host takes {mean_s * 1e6:.0f} µs."
    )


@click.command()
@click.option("--urls", type=float, default=1e6, show_default=True)
@click.option("--hosts", type=float, default=1e6, show_default=True)
@into_document
def main(urls: float, hosts: float, into: Path | None) -> None:
    be_a_crawl()
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        lines = [f"{today()}: {machine()}.", "", *growth(folder, int(urls)), ""]
        lines += [asyncio.run(busy(folder / "busy.db")), ""]
        lines += [asyncio.run(scheduling(folder / "hosts.db", int(hosts)))]
    tell(lines, "growth", into)


if __name__ == "__main__":
    main()

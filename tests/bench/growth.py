"""Whether a crawl keeps its pace: as it comes to know more pages, and more hosts.

`python -m tests.bench.growth` crawls a web without end by the real loop, in one process and with
all that a crawl does but for the network, and tells the pages a second while so many URLs were
known. Pages are HTML of some 20 KB; what it costs to make them is taken out. It does so several
times, for the machine has its moods within a minute.

Then 10,000 hosts may be asked once a second each: how busy was the loop, and which was the least
pause that any host was given? Last, what it costs to choose a page among 1,000,000 hosts: to lease
it, to keep its host waiting, and to wake that again when its time has come.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from minicrawl.app import SystemClock
from minicrawl.config import Settings
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.gate import Gate
from minicrawl.crawl.keeper import Keeper
from minicrawl.crawl.leasing import Lease, Leasing
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.memory import keep_large_arrays_apart, look_for_cycles_seldom
from minicrawl.crawl.politeness import Hosts
from minicrawl.crawl.reading import Reader
from minicrawl.crawl.seeding import plant
from minicrawl.model import Failed, FailureKind, Page, Request
from minicrawl.ports import Visit
from minicrawl.web.reader import Wishes
from minicrawl.web.robots import ALLOW_ALL, Rules
from minicrawl.web.sitemaps import Sitemap
from minicrawl.web.urls import Name
from tests.bench.endless import EndlessWeb
from tests.bench.frontier import opened
from tests.bench.notes import head, into_document, machine, row, tell, today

WINDOW = 1000
"""Pages over which the pace is taken."""
NEAREST = 5
ROUNDS = 5
BUSY_S = 20.0
LATENCY_S = 0.05
MANY = 10_000
FETCHES = 50_000
_HTML = {"content-type": "text/html; charset=utf-8"}
_TEXT = '<p class="text">What a page says <b>beside</b> its links.</p>\n' * 250
A_SECOND = 5000


class Nearby:
    """The web without end, as near as can be. No host has a robots.txt, each its own address."""

    def __init__(self, web: EndlessWeb, latency_s: float) -> None:
        self._web = web
        self._reader = Reader(Wishes(), longest_s=30.0)
        self._latency_s = latency_s
        self._answered: dict[str, float] = {}
        self.own_s = 0.0
        self.requests = 0
        self.least_pause_s = inf

    async def locate(self, url: str) -> str:
        return _host(url)

    async def fetch(self, request: Request) -> Failed:
        await self._ask(request.url)
        return Failed(kind=FailureKind.NOT_FOUND, status=404)

    async def visit(self, request: Request) -> Visit:
        await self._ask(request.url)
        began = time.perf_counter()
        page = Page(status=200, headers=_HTML, body=_as_html(self._web.links(request.url)))
        self.own_s += time.perf_counter() - began
        return Visit(page, self._reader.later(page, request.url))

    async def rules(self, page: Page) -> Rules:
        return ALLOW_ALL

    async def sitemap(self, body: bytes, url: str) -> Sitemap:
        return Sitemap()

    async def _ask(self, url: str) -> None:
        self.requests += 1
        host = _host(url)
        pause_s = time.monotonic() - self._answered.get(host, -inf)
        self.least_pause_s = min(self.least_pause_s, pause_s)
        await asyncio.sleep(self._latency_s)
        self._answered[host] = time.monotonic()


def _as_html(links: Iterable[str]) -> bytes:
    items = "".join(f'<li class="item"><a href="{link}">{link[-30:]}</a></li>\n' for link in links)
    return f"<!doctype html><title>A page</title>\n<ul>{items}</ul>\n{_TEXT}".encode()


def _host(url: str) -> str:
    return url[7 : url.index("/", 7)]


@asynccontextmanager
async def crawling(
    settings: Settings, path: Path, hosts: int, latency_s: float = 0.0
) -> AsyncIterator[tuple[Keeper, Nearby]]:
    """A crawl that is under way; each host has a seed."""
    async with opened(path) as keeper:
        web = EndlessWeb(hosts)
        await plant(keeper, map(Name, web.seeds(hosts)), hosts)
        outside, gate = Nearby(web, latency_s), Gate(settings.scope, ())
        crawler = Crawler(settings, keeper, outside, gate, SystemClock(), nobody_listens)
        running = asyncio.create_task(crawler.run())
        yield keeper, outside
        crawler.stop()
        await running


# ---------------------------------------------------------------- more pages


class Pace(NamedTuple):
    """How fast it went while so many URLs were known."""

    known: int
    pages: float  # a second
    requests: float  # robots.txt among them


async def paces(path: Path, urls: int) -> list[Pace]:
    """Those of a crawl that goes on until so many URLs are known."""
    found = []
    settings = Settings.of(delay=0, scope="any")
    async with crawling(settings, path, urls // 1000) as (keeper, outside):
        pages, requests, began = 0.0, 0, time.perf_counter()
        while len(keeper.frontier) < urls:
            await asyncio.sleep(0)
            if keeper.counted("fetched") < pages + WINDOW:
                continue
            now = time.perf_counter() - outside.own_s
            took, fetched = now - began, keeper.counted("fetched")
            rates = (fetched - pages) / took, (outside.requests - requests) / took
            found.append(Pace(len(keeper.frontier), *rates))
            pages, requests, began = fetched, outside.requests, now
    return found


def _around(found: list[Pace], known: int) -> Pace:
    """The median of those nearest."""
    nearest = sorted(found, key=lambda pace: abs(pace.known - known))[:NEAREST]
    return Pace(*map(median, zip(*nearest, strict=True)))


def growth(folder: Path, urls: int) -> Iterator[str]:
    """The pace at each power of ten, as a part of the first; medians of several crawls."""
    stops = [10_000 * 10**power for power in range(6) if 10_000 * 10**power <= urls]
    crawls = [asyncio.run(paces(folder / f"{number}.db", urls)) for number in range(ROUNDS)]
    rounds = [[_around(found, stop) for stop in stops] for found in crawls]
    yield from head("URLs known", "pages/s", "requests/s", "pages/s against the first", "from to")
    for place in range(len(stops)):
        known, pages, requests = map(median, zip(*(one[place] for one in rounds), strict=True))
        parts = sorted(one[place].pages / one[0].pages for one in rounds)
        yield row(
            f"{known:,.0f}",
            f"{pages:,.0f}",
            f"{requests:,.0f}",
            f"{median(parts):.0%}",
            f"{parts[0]:.0%} to {parts[-1]:.0%}",
        )


# ---------------------------------------------------------------- more hosts


async def busy(path: Path) -> str:
    """Many hosts, each of which may be asked once a second."""
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
    """Leases, delays and wakes by a clock that is turned on; nothing is settled."""
    async with opened(path) as keeper:
        await plant(keeper, map(Name, EndlessWeb(hosts).seeds(hosts)), 0)
        settings = Settings.of(delay=hosts / A_SECOND / 2)
        leasing = Leasing(settings, keeper, SystemClock())
        clocks = Hosts(settings.politeness, leasing.resume)
        leasing.take_up()
        under_way: deque[Lease] = deque()
        times = []
        for number in range(hosts + FETCHES):
            now, began = number / A_SECOND, time.perf_counter()
            clocks.wake(now)
            lease = leasing.next()
            assert lease is not None
            leasing.grant(lease)
            clocks.begin(lease.host, now)
            under_way.append(lease)
            if len(under_way) > settings.politeness.concurrency:
                done = under_way.popleft()
                leasing.give_back(done)
                clocks.end(done.host, now)
            times.append(time.perf_counter() - began)
    mean_s = sum(islice(times, hosts, None)) / FETCHES
    return (
        f"To choose a page among {hosts:,} hosts and to time its host takes {mean_s * 1e6:.0f} µs."
    )


# ---------------------------------------------------------------- the command


@click.command()
@click.option("--urls", type=float, default=1e6, show_default=True)
@click.option("--hosts", type=float, default=1e6, show_default=True)
@into_document
def main(urls: float, hosts: float, into: Path | None) -> None:
    keep_large_arrays_apart()
    look_for_cycles_seldom()
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        lines = [f"{today()}: {machine()}.", "", *growth(folder, int(urls)), ""]
        lines += [asyncio.run(busy(folder / "busy.db")), ""]
        lines += [asyncio.run(scheduling(folder / "hosts.db", int(hosts)))]
    tell(lines, "growth", into)


if __name__ == "__main__":
    main()

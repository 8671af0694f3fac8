"""Speed of minicrawl and Scrapy on pages as the web has them: ten times as large as manuals.

`python -m tests.bench.real_pages` serves the pages of WCXB (`SHARED_WCXB`, CC BY 4.0) on loopback,
under the names of their hosts, in three shapes of a crawl:

seeds   all pages are seeds, and no link is followed
host    one host has all pages, and each page links to three of them and to other hosts, which are
        out of scope
open    every tenth link of a page leads to a page of the sample, the others to pages that nobody
        serves, on as many hosts as before

In each, the canonical URL of a page is its own, as on the web. Scrapy extracts the links of each
page and throws the page away. A plain parse by lexbor, with the values of `href`, is measured, too.
"""

import io
import re
import statistics
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from json import loads
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Unpack
from urllib.parse import urljoin, urlsplit
from urllib.request import ProxyHandler, build_opener

import click
import zstandard
from selectolax.lexbor import LexborHTMLParser

from tests.bench.crawl import COLUMNS, Lap, lap
from tests.bench.crawlers import Choice, Crawler, Task, choice_options, chosen, scrapy
from tests.bench.laps import PageVisits, laps_in_turn
from tests.bench.manuals import own_core
from tests.bench.notes import into_document, row, tell, today
from tests.bench.processes import cpu_s_of, exit_on_sigterm
from tests.real.daemons import free_port
from tests.real.nginx import running_nginx
from tests.shared import Absent, find

_HTTP = """
    types {{ text/html html; }}
    open_file_cache max=4000;
    server {{ listen 127.0.0.1:{port}; root {root}; }}
"""
_LOG_FORMAT = "$status $http_host$request_uri $body_bytes_sent"
_LINK = re.compile(
    rb"""(<(?:a|area|link|iframe|frame)\b[^>]*?\s(?:href|src)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""",
    re.IGNORECASE,
)
_CANONICAL = re.compile(rb"""<link\b[^>]*\brel\s*=\s*["']?canonical\b[^>]*>""", re.IGNORECASE)
_ONE_HOST = "one.test"
_OWN_LINKS, _OTHERS_A_PAGE = 3, 10
_CONNECTIONS, _PER_HOST = 64, 16
_ROUND = 40503  # odd: the links of a page lead to pages far apart


class SamplePage(NamedTuple):
    """Page of the sample."""

    id: str
    host: str
    url: str
    html: bytes


class Shape(NamedTuple):
    """Shape of a crawl: its links, and the limits of the crawler."""

    rewrite: Callable[[Sequence[SamplePage], int, int], bytes]
    """Returns the HTML of a page, given its place in the sample and the port of the server."""
    scope: str
    depth: int | None
    seeds: int
    """Number of the sample's first pages that are seeds; 0: all."""
    part: float
    """Part of the pages that is the budget."""


def sample() -> list[SamplePage]:
    """Return the pages of WCXB; raise `Absent` without them."""
    packed = zstandard.ZstdDecompressor()
    archive = packed.stream_reader(find("wcxb", "html.tar.zst", environ).open("rb")).read()
    lines = packed.stream_reader(find("wcxb", "pages.jsonl.zst", environ).open("rb")).read()
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        html = {Path(name).stem: files.extractfile(name) for name in files.getnames()}
        return [
            SamplePage(page["id"], page["domain"] or _ONE_HOST, page["url"], content.read())
            for page in map(loads, lines.strip().split(b"\n"))
            if (content := html[page["id"]]) is not None
        ]


def _as_it_is(pages: Sequence[SamplePage], place: int, _port: int) -> bytes:
    return pages[place].html


def _with_own_links(pages: Sequence[SamplePage], place: int, _port: int) -> bytes:
    """Lead all links out of the host, and add links to the next page and to pages far apart."""
    page, steps = pages[place], (1, *(_ROUND * k for k in range(1, _OWN_LINKS)))
    own = "".join(f'<a href="/{pages[(place + step) % len(pages)].id}.html">' for step in steps)
    html = _relinked(page.html, lambda _, link: urljoin(page.url, link))
    return re.sub(rb"(?i)(?=</body)|$", own.encode(), html, count=1)


def _with_links_among_them(pages: Sequence[SamplePage], place: int, port: int) -> bytes:
    """Lead every tenth link to a page of the sample, and the others to URLs of nobody."""
    page = pages[place]

    def target(number: int, link: str) -> str:
        if number % _OTHERS_A_PAGE == 0:
            other = pages[(place + _ROUND * (number + 1)) % len(pages)]
            return f"http://{other.host}:{port}/{other.id}.html"
        parts = urlsplit(urljoin(page.url, link))
        return f"http://{parts.hostname}:{port}{parts.path}"

    return _relinked(page.html, target)


def _relinked(html: bytes, target: Callable[[int, str], str]) -> bytes:
    """Replace the targets of links to pages, given their number on the page."""
    links = iter(range(html.count(b"<") + 1))

    def replaced(match: re.Match[bytes]) -> bytes:
        link = match[2].decode(errors="replace").strip("\"'").strip()
        try:
            if (
                not link
                or link.startswith("#")
                or urlsplit(link).scheme not in ("", "http", "https")
            ):
                return match[0]
            return match[1] + f'"{target(next(links), link)}"'.encode(errors="replace")
        except ValueError:  # no URL
            return match[0]

    return _LINK.sub(replaced, html)


SHAPES = {
    "seeds": Shape(_as_it_is, "any", 0, 0, 1),
    "host": Shape(_with_own_links, "host", None, 1, 1),
    "open": Shape(_with_links_among_them, "any", None, 10, 0.5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RealPages:
    """Running server."""

    task: Task
    log: Path
    port: int
    core: int
    worker: int

    def visits(self) -> "RealVisits":
        """Return a counter of the visits from now on."""
        return RealVisits(self.log)

    def version(self) -> str:
        """Return the name and version of the server."""
        url = urlsplit(self.task.seeds[0])._replace(netloc=f"127.0.0.1:{self.port}").geturl()
        with build_opener(ProxyHandler({})).open(url) as response:
            return str(response.headers["Server"])

    def cpu_s(self) -> float:
        """Return the processor time of the server."""
        return cpu_s_of(self.worker)


class RealVisits(PageVisits):
    """Requests of a crawler for pages of the sample, and for others."""

    def _note(self, line: bytes) -> None:
        status, url, sent, *_ = line.split()
        self.requests += 1
        if status == b"200":
            self.pages[url.decode()] = int(sent)


@contextmanager
def serving(pages: Sequence[SamplePage], shape: Shape, folder: Path) -> Iterator[RealPages]:
    """Serve the pages, with their files in `folder`."""
    folder.chmod(0o755)
    root, port = folder / "pages", free_port()
    root.mkdir()
    one = shape.scope == "host"
    urls = [f"http://{_ONE_HOST if one else page.host}:{port}/{page.id}.html" for page in pages]
    for place, (page, url) in enumerate(zip(pages, urls, strict=True)):
        html = shape.rewrite(pages, place, port)
        canonical = f'<link rel="canonical" href="{url}">'.encode()
        (root / f"{page.id}.html").write_bytes(_CANONICAL.sub(canonical, html))
    seeds = tuple(urls[: shape.seeds or None])
    http = _HTTP.format(port=port, root=root)
    with running_nginx(http, _LOG_FORMAT, folder, [port]) as log:
        core, worker = own_core(folder)
        budget = round(shape.part * len(pages))
        yield RealPages(
            task=Task(
                seeds,
                budget,
                _CONNECTIONS,
                _CONNECTIONS if one else _PER_HOST,
                scope=shape.scope,
                depth=shape.depth,
                is_loopback=True,
            ),
            log=log,
            port=port,
            core=core,
            worker=worker,
        )


def parse_ms(pages: Sequence[SamplePage]) -> float:
    """Return the median time of a plain parse of all pages with their links, for a page."""
    times = []
    for _ in range(3):
        began = time.process_time()
        for page in pages:
            for link in LexborHTMLParser(page.html).css("a[href]"):
                link.attributes.get("href")
        times.append(time.process_time() - began)
    return 1000 * statistics.median(times) / len(pages)


def _rows(
    title: str, pages: Sequence[SamplePage], crawlers: Sequence[Crawler], count: int
) -> Iterator[str]:
    """Yield a row for each crawler of one shape."""
    with (
        TemporaryDirectory(prefix="minicrawl-bench-") as folder,
        serving(pages, SHAPES[title], Path(folder)) as server,
    ):
        task = server.task

        def one_lap(crawler: Crawler) -> Lap:
            if title != "open" or crawler.name.startswith("minicrawl"):
                return lap(crawler, task, server)
            # Scrapy counts all responses, so it is stopped when it has enough pages.
            endless = crawler.command(task._replace(pages=0))
            return lap(
                Crawler(crawler.name, crawler.version, lambda _: endless, False), task, server
            )

        laps = laps_in_turn(crawlers, count, one_lap, COLUMNS)
    ours = next(iter(laps.values()))
    for name, theirs in laps.items():
        middle = Lap(*map(statistics.median, zip(*theirs, strict=True)))
        ratios = [
            statistics.median(mine[of] / its[of] for mine, its in zip(ours, theirs, strict=True))
            for of in (0, 1)  # pace, processor time
        ]
        paces = [round_.pages_a_second for round_ in theirs]
        yield row(
            title,
            name,
            f"{middle.pages_a_second:,.0f}",
            f"{min(paces):,.0f} to {max(paces):,.0f}",
            f"{middle.cpu_s:.2f}",
            f"{middle.main_cpu_s:.2f}",
            f"{middle.peak_mb:,.0f}",
            f"{middle.requests:.2f}",
            f"{middle.pages_a_second * middle.requests:,.0f}",
            f"{middle.cpu_s / middle.requests:.2f}",
            *([""] * 2 if theirs is ours else (f"{ratio:.3g} ×" for ratio in ratios)),
        )


@click.command()
@click.option("--shape", "shapes", type=click.Choice(list(SHAPES)), multiple=True)
@click.option("--pages", default=None, type=int, help="Pages of the sample; all by default.")
@click.option("--rounds", "count", default=3, show_default=True)
@choice_options
@into_document
def main(
    shapes: tuple[str, ...],
    pages: int | None,
    count: int,
    into: Path | None,
    **who: Unpack[Choice],
) -> None:
    exit_on_sigterm()
    try:
        some = sample()[:pages]
    except Absent as absent:
        raise click.UsageError(str(absent)) from None
    size_kb = statistics.mean(len(page.html) for page in some) / 1e3
    lines: list[str] = []
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        crawlers = chosen(who, Path(name), lambda python: [scrapy(python)])
        for title in shapes or SHAPES:
            lines += _rows(title, some, crawlers, count)
    lines = [
        f"{today()}: {', '.join(crawler.version for crawler in crawlers)}. "
        f"{len(some):,} pages of {size_kb:.0f} KB on average, "
        f"{_CONNECTIONS} connections, median of {count}. lexbor alone parses a page and takes its "
        f"links in {parse_ms(some):.2f} ms.",
        "",
        "| shape | crawler | pages/s | from, to | CPU s per 1,000 | of the main process | peak MB "
        "| requests a page | requests/s | CPU ms a request | minicrawl's pace | its CPU time |",
        f"| --- | --- {'| ---: ' * 10}|",
        *lines,
    ]
    tell(lines, "real pages", into)


if __name__ == "__main__":
    main()

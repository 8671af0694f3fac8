"""Commands of the crawlers in the benchmarks, among them minicrawl at another commit.

Law: all crawlers obey robots.txt, stay on the hosts of the seeds, have the same delay for each host
and may open the same number of connections. Other settings keep their defaults. Crawlers check
certificates if they do so by default and can trust another authority.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple, TypedDict, TypeVar
from venv import create

import click

from minicrawl import __version__

PACKAGES = ("scrapy", "silkworm-rs", "kreuzcrawl")
"""Packages of the Python crawlers."""


class Task(NamedTuple):
    """Task of a crawler. Without a delay, the addresses have the limit of the hosts."""

    seeds: tuple[str, ...]
    pages: int
    connections: int
    per_host: int
    delay_s: int = 0
    authority: Path | None = None
    scope: str = "host"
    depth: int | None = None
    """Most links between a seed and a page: 0 or None."""
    is_loopback: bool = False
    """True if loopback serves all names, and none of them has a robots.txt."""


class Crawler(NamedTuple):
    """A crawler. It is stopped after enough pages if it cannot count pages itself."""

    name: str
    version: str
    command: Callable[[Task], list[str]]
    counts_pages: bool = True


class Choice(TypedDict):
    """Values of `choice_options`."""

    python: Path | None
    options: str
    checkouts: tuple[Path, ...]
    variants: tuple[str, ...]
    only: tuple[str, ...]


_OPTIONS = (
    click.option(
        "--against",
        "checkouts",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Compare with this checkout instead of other crawlers. Repeatable.",
    ),
    click.option(
        "--variant",
        "variants",
        multiple=True,
        help="Compare minicrawl with these options, quoted, instead of crawlers. Repeatable.",
    ),
    click.option("--minicrawl", "options", default="", help="More options for minicrawl, quoted."),
    click.option("--only", multiple=True, help="Run only this crawler. Repeatable."),
    click.option(
        "--peers",
        "python",
        type=click.Path(exists=True, path_type=Path),
        help="A Python with Scrapy, silkworm-rs and kreuzcrawl; by default they are installed.",
    ),
)
Command = TypeVar("Command", bound=Callable[..., Any])


def choice_options(command: Command) -> Command:
    """Add the options that choose the crawlers."""
    for option in _OPTIONS:
        command = option(command)
    return command


def chosen(
    choice: Choice, folder: Path, peers: Callable[[Path], Sequence[Crawler]] | None = None
) -> list[Crawler]:
    """Return minicrawl, and the checkouts, its variants or the other crawlers.

    `peers` returns those, given a Python that has them; by default, all.
    """
    options = shlex.split(choice["options"])
    if choice["checkouts"]:
        checkouts = [checkout.resolve() for checkout in choice["checkouts"]]
        return [minicrawl(options, checkout) for checkout in (None, *checkouts)]
    if choice["variants"]:
        return [
            minicrawl([*options, *shlex.split(one)])._replace(name=one)
            for one in choice["variants"]
        ]
    python = choice["python"] or _environment_with(folder / "peers", *PACKAGES)
    crawlers = [minicrawl(options), *(peers or _peers)(python)]
    return [one for one in crawlers if not choice["only"] or one.name in choice["only"]]


def _peers(python: Path) -> list[Crawler]:
    wgets = (wget2(keeps=True), wget2(keeps=False)) if which("wget2") else ()
    return [scrapy(python), *wgets, silkworm(python), kreuzcrawl(python)]


def _environment_with(folder: Path, *packages: str) -> Path:
    """Make an environment with these packages and return its Python."""
    create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-qq", *packages], check=True)
    return python


def minicrawl(options: Sequence[str], checkout: Path | None = None) -> Crawler:
    """Return minicrawl, of this or of another checkout."""
    environment = ("env", f"PYTHONPATH={checkout}") if checkout else ()
    # Its own environment, if it has one, knows the entry points of its packages.
    own = None if checkout is None else checkout / ".venv" / "bin" / "python"
    python = sys.executable if own is None or not own.exists() else str(own)

    def command(task: Task) -> list[str]:
        most = task.connections if task.is_loopback else task.per_host
        per_address = () if task.delay_s else ("--per-address", str(most))
        loopback = ("--resolve", "*=127.0.0.1", "--ignore-robots", "--address-delay", "0")
        return [
            *environment,
            *(python, "-m", "minicrawl", "crawl", *task.seeds, "--fresh"),
            *("--pages", str(task.pages), "--scope", task.scope, "--delay", str(task.delay_s)),
            *("--concurrency", str(task.connections), "--per-host", str(task.per_host)),
            *per_address,
            *(() if task.depth is None else ("--max-depth", str(task.depth))),
            *(loopback if task.is_loopback else ()),
            *(("--allow-private", "--ca", str(task.authority)) if task.authority else ()),
            *options,
        ]

    name = f"minicrawl of {checkout.name}" if checkout else "minicrawl"
    return Crawler(name, f"minicrawl {__version__}", command)


_SCRAPY = """
import json
import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import CachingThreadedResolver
from scrapy.spiders import CrawlSpider, Rule
from twisted.internet.defer import succeed

settings, is_bounded, depth, *seeds = sys.argv[1:]


class Loopback(CachingThreadedResolver):
    def getHostByName(self, name, timeout=None):
        return succeed("127.0.0.1")


class Pages(CrawlSpider):
    name = "pages"
    start_urls = seeds
    allowed_domains = [urlsplit(seed).hostname for seed in seeds] if is_bounded else []
    rules = [Rule(LinkExtractor(), follow=True)]

    def parse_start_url(self, response):
        if depth:  # of no page are links followed, but all are extracted
            LinkExtractor().extract_links(response)

    def _requests_to_follow(self, response):
        return () if depth else super()._requests_to_follow(response)


process = CrawlerProcess(json.loads(settings))
process.crawl(Pages)
process.start()
"""
_FOR_BROAD_CRAWLS: Mapping[str, object] = {
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "COOKIES_ENABLED": False,
}
"""Settings that Scrapy's manual recommends for broad crawls."""


def scrapy(python: Path) -> Crawler:
    """Return Scrapy, which only follows links."""

    def command(task: Task) -> list[str]:
        settings = {
            "CLOSESPIDER_PAGECOUNT": task.pages,
            "CONCURRENT_REQUESTS": task.connections,
            "CONCURRENT_REQUESTS_PER_DOMAIN": task.per_host,
            "DOWNLOAD_DELAY": task.delay_s,
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "ROBOTSTXT_OBEY": not task.is_loopback,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_ENABLED": False,
            **(_FOR_BROAD_CRAWLS if task.delay_s else {}),
            **({"DNS_RESOLVER": "__main__.Loopback"} if task.is_loopback else {}),
        }
        bounds = task.scope.replace("any", ""), "" if task.depth is None else str(task.depth)
        return [str(python), "-c", _SCRAPY, json.dumps(settings), *bounds, *task.seeds]

    return Crawler("Scrapy", _first_line(str(python), "-m", "scrapy", "version"), command)


def wget2(*, keeps: bool) -> Crawler:
    """Return wget2, with a thread for each connection, which waits between its own requests.

    Unless it `keeps` pages, it deletes them after parsing.
    """
    flags = () if keeps else ("--delete-after",)

    def command(task: Task) -> list[str]:
        delay = (f"--wait={task.delay_s}",) if task.delay_s else ()
        authority = (f"--ca-certificate={task.authority}",) if task.authority else ()
        return [
            *("wget2", "--recursive", "--level=0", "--robots=on", "--quiet", *flags),
            *("--ignore-tags=img,link,script", f"--max-threads={task.connections}"),
            *(*delay, *authority, *task.seeds),
        ]

    version = _first_line("wget2", "--version").removeprefix("GNU ").split(" - ")[0]
    return Crawler(" ".join(("wget2", *flags)), version, command, counts_pages=False)


_SILKWORM = """
import sys
from urllib.parse import urlsplit

from silkworm import AutoThrottleMiddleware, HTMLResponse, RobotsTxtMiddleware, Spider, run_spider
from silkworm.http import HttpClient

pages, connections, per_host, delay, *seeds = sys.argv[1:]
connections, delay = int(connections), float(delay)
hosts = tuple({urlsplit(seed).hostname for seed in seeds})


class Pages(Spider):
    name = "pages"
    start_urls = tuple(seeds)
    allowed_domains = hosts

    async def parse(self, response):
        if isinstance(response, HTMLResponse):
            links = [link.attr("href") for link in await response.select("a[href]")]
            await response.follow_all([link for link in links if link])


throttle = AutoThrottleMiddleware(start_delay=delay, min_delay=delay, max_delay=delay)
spaced = [throttle] if delay else []
run_spider(
    Pages,
    concurrency=connections,
    concurrency_per_domain=int(per_host),
    max_requests=int(pages),
    keep_alive=True,
    http_client=HttpClient(concurrency=connections, keep_alive=True, tls_verify=False),
    request_middlewares=[RobotsTxtMiddleware(), *spaced],
    response_middlewares=spaced,
)
"""


def silkworm(python: Path) -> Crawler:
    """Return silkworm-rs, which only follows links."""

    def command(task: Task) -> list[str]:
        counts = map(str, (task.pages, task.connections, task.per_host, task.delay_s))
        return [str(python), "-c", _SILKWORM, *counts, *task.seeds]

    return Crawler("silkworm-rs", _version_of("silkworm-rs", python), command)


_KREUZCRAWL = """
import asyncio
import sys

import kreuzcrawl
from kreuzcrawl.options import CrawlConfig, SsrfPolicy

pages, connections, delay, *seeds = sys.argv[1:]
engine = kreuzcrawl.create_engine(
    CrawlConfig(
        max_depth=100,
        max_pages=int(pages),
        max_concurrent=int(connections),
        respect_robots_txt=True,
        stay_on_domain=True,
        rate_limit_ms=int(1000 * float(delay)) or None,
        ssrf=SsrfPolicy(deny_private=False),
    )
)


async def main():
    await kreuzcrawl.batch_crawl(engine, seeds)


asyncio.run(main())
"""


def kreuzcrawl(python: Path) -> Crawler:
    """Return kreuzcrawl, which crawls each seed separately, all at once, with equal budgets.

    It extracts texts as it always does.
    """

    def command(task: Task) -> list[str]:
        authority = ("env", f"SSL_CERT_FILE={task.authority}") if task.authority else ()
        counts = (task.pages // len(task.seeds), task.connections, task.delay_s)
        return [*authority, str(python), "-c", _KREUZCRAWL, *map(str, counts), *task.seeds]

    return Crawler("kreuzcrawl", _version_of("kreuzcrawl", python), command)


def _version_of(package: str, python: Path) -> str:
    """Return a package with its version in this Python."""
    code = f"from importlib.metadata import version; print({package!r}, version({package!r}))"
    return _first_line(str(python), "-c", code)


def _first_line(*command: str) -> str:
    """Return the first line of a program's output."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]

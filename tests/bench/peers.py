"""The crawlers that are compared, each told to do the same. One may be minicrawl as it was before.

Law: all of them obey robots.txt, stay on the hosts of the seeds, wait for nothing and may open the
same number of connections; apart from that, each is as its makers left it.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import NamedTuple
from venv import create

from minicrawl.version import __version__
from tests.bench.rust_peers import kreuzcrawl_command, silkworm_command, version_of


class Task(NamedTuple):
    """What a crawler is told to do."""

    seeds: tuple[str, ...]
    pages: int
    per_host: int

    @property
    def connections(self) -> int:
        return self.per_host * len(self.seeds)


class Crawler(NamedTuple):
    """Who does it. One that cannot count pages is stopped when it has fetched enough."""

    name: str
    version: str
    command: Callable[[Task], list[str]]
    counts_pages: bool = True


def minicrawl(options: list[str], checkout: Path | None = None) -> Crawler:
    """This one, or that of another checkout, whose modules are found before any installed ones."""
    environment = ("env", f"PYTHONPATH={checkout}") if checkout else ()

    def command(task: Task) -> list[str]:
        return [
            *environment,
            *(sys.executable, "-m", "minicrawl", "crawl", *task.seeds, "--fresh"),
            *("--pages", str(task.pages), "--scope", "host", "--delay", "0"),
            *("--concurrency", str(task.connections)),
            *("--per-host", str(task.per_host), "--per-address", str(task.per_host)),
            *options,
        ]

    name = f"minicrawl of {checkout.name}" if checkout else "minicrawl"
    return Crawler(name, f"minicrawl {__version__}", command)


_SPIDER = """
import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

pages, connections, per_host, *seeds = sys.argv[1:]


class Pages(CrawlSpider):
    name = "pages"
    start_urls = seeds
    allowed_domains = [urlsplit(seed).hostname for seed in seeds]
    rules = [Rule(LinkExtractor(), follow=True)]


process = CrawlerProcess(
    {
        "CLOSESPIDER_PAGECOUNT": int(pages),
        "CONCURRENT_REQUESTS": int(connections),
        "CONCURRENT_REQUESTS_PER_DOMAIN": int(per_host),
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_ENABLED": False,
    }
)
process.crawl(Pages)
process.start()
"""


def scrapy(python: Path) -> Crawler:
    """Links are followed, and nothing is made of the pages."""

    def command(task: Task) -> list[str]:
        counts = (task.pages, task.connections, task.per_host)
        return [str(python), "-c", _SPIDER, *map(str, counts), *task.seeds]

    return Crawler("Scrapy", said([str(python), "-m", "scrapy", "version"]), command)


def silkworm(python: Path) -> Crawler:
    """Links are followed, and nothing is made of the pages."""

    def command(task: Task) -> list[str]:
        limits = {"pages": task.pages, "connections": task.connections, "per_host": task.per_host}
        return silkworm_command(python, task.seeds, **limits)

    return Crawler("silkworm-rs", f"silkworm-rs {version_of('silkworm-rs', python)}", command)


def kreuzcrawl(python: Path) -> Crawler:
    """It crawls each host by itself, all with the same budget."""

    def command(task: Task) -> list[str]:
        limits = {"pages": task.pages, "connections": task.connections}
        return kreuzcrawl_command(python, task.seeds, **limits)

    return Crawler("kreuzcrawl", f"kreuzcrawl {version_of('kreuzcrawl', python)}", command)


PEERS = ("scrapy", "silkworm-rs", "kreuzcrawl")
"""The packages of the Python crawlers."""


def environment_with(folder: Path, *packages: str) -> Path:
    """The Python of a new environment with these packages in it."""
    create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-qq", *packages], check=True)
    return python


def wget2(*, keeps: bool) -> Crawler | None:
    """It has as many threads as others have connections, and may throw pages away once read.

    None if it is not installed.
    """
    program = which("wget2")
    if program is None:
        return None
    aside = () if keeps else ("--delete-after",)

    def command(task: Task) -> list[str]:
        return [
            *(program, "--recursive", "--level=0", "--robots=on", "--quiet", *aside),
            *("--ignore-tags=img,link,script", f"--max-threads={task.connections}", *task.seeds),
        ]

    version = said([program, "--version"]).removeprefix("GNU ").split(" - ")[0]
    return Crawler(" ".join(("wget2", *aside)), version, command, counts_pages=False)


def said(command: list[str]) -> str:
    """The first line that a program says."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]

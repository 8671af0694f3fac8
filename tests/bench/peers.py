"""Commands of the crawlers in the benchmark; one may be minicrawl at another commit.

Law: all crawlers obey robots.txt, stay on the hosts of the seeds, have no delay and may open the
same number of connections. Other settings keep their defaults.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple, TypedDict, TypeVar
from venv import create

import click

from minicrawl import __version__
from tests.bench.rust_peers import kreuzcrawl_command, silkworm_command, version_of


class Choice(TypedDict):
    """Values of `choice_options`."""

    python: Path | None
    options: str
    checkouts: tuple[Path, ...]


_OPTIONS = (
    click.option(
        "--against",
        "checkouts",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Compare with this checkout instead of other crawlers. Repeatable.",
    ),
    click.option("--minicrawl", "options", default="", help="More options for minicrawl, quoted."),
    click.option(
        "--peers",
        "python",
        type=click.Path(exists=True, path_type=Path),
        help="A Python with Scrapy, silkworm-rs and kreuzcrawl; by default they are installed.",
    ),
)
Command = TypeVar("Command", bound=Callable[..., Any])
Peer = TypeVar("Peer")


def choice_options(command: Command) -> Command:
    """Add the options that choose the crawlers."""
    for option in _OPTIONS:
        command = option(command)
    return command


def chosen(
    choice: Choice,
    folder: Path,
    ours: Callable[[list[str], Path | None], Peer],
    others: Callable[[Path], Iterable[Peer | None]],
) -> list[Peer]:
    """Return minicrawl, and the checkouts or the other crawlers to compare it with."""
    options = shlex.split(choice["options"])
    if choice["checkouts"]:
        checkouts = [checkout.resolve() for checkout in choice["checkouts"]]
        return [ours(options, checkout) for checkout in (None, *checkouts)]
    python = choice["python"] or environment_with(folder / "peers", *PEERS)
    return [ours(options, None), *(peer for peer in others(python) if peer is not None)]


class Task(NamedTuple):
    """Task of a crawler."""

    seeds: tuple[str, ...]
    pages: int
    per_host: int

    @property
    def connections(self) -> int:
        return self.per_host * len(self.seeds)


class Crawler(NamedTuple):
    """A crawler. It is stopped after enough pages if it cannot count pages itself."""

    name: str
    version: str
    command: Callable[[Task], list[str]]
    counts_pages: bool = True


def minicrawl(options: list[str], checkout: Path | None = None) -> Crawler:
    """Return minicrawl, of this or of another checkout."""
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
import json
import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

settings, *seeds = sys.argv[1:]


class Pages(CrawlSpider):
    name = "pages"
    start_urls = seeds
    allowed_domains = [urlsplit(seed).hostname for seed in seeds]
    rules = [Rule(LinkExtractor(), follow=True)]


process = CrawlerProcess(json.loads(settings))
process.crawl(Pages)
process.start()
"""


def scrapy_command(
    python: Path,
    seeds: Sequence[str],
    *,
    pages: int,
    connections: int,
    per_host: int,
    more: Mapping[str, object],
) -> list[str]:
    settings = {
        "CLOSESPIDER_PAGECOUNT": pages,
        "CONCURRENT_REQUESTS": connections,
        "CONCURRENT_REQUESTS_PER_DOMAIN": per_host,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_ENABLED": False,
        **more,
    }
    return [str(python), "-c", _SPIDER, json.dumps(settings), *seeds]


def scrapy(python: Path) -> Crawler:
    """Return Scrapy, which only follows links."""

    def command(task: Task) -> list[str]:
        limits = {"pages": task.pages, "connections": task.connections, "per_host": task.per_host}
        return scrapy_command(python, task.seeds, **limits, more={})

    return Crawler("Scrapy", first_line([str(python), "-m", "scrapy", "version"]), command)


def silkworm(python: Path) -> Crawler:
    """Return silkworm-rs, which only follows links."""

    def command(task: Task) -> list[str]:
        limits = {"pages": task.pages, "connections": task.connections, "per_host": task.per_host}
        return silkworm_command(python, task.seeds, **limits)

    return Crawler("silkworm-rs", f"silkworm-rs {version_of('silkworm-rs', python)}", command)


def kreuzcrawl(python: Path) -> Crawler:
    """Return kreuzcrawl, which crawls each host separately, with equal budgets."""

    def command(task: Task) -> list[str]:
        limits = {"pages": task.pages, "connections": task.connections}
        return kreuzcrawl_command(python, task.seeds, **limits)

    return Crawler("kreuzcrawl", f"kreuzcrawl {version_of('kreuzcrawl', python)}", command)


PEERS = ("scrapy", "silkworm-rs", "kreuzcrawl")
"""Packages of the Python crawlers."""


def environment_with(folder: Path, *packages: str) -> Path:
    """Make an environment with these packages and return its Python."""
    create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-qq", *packages], check=True)
    return python


def wget2(*, keeps: bool) -> Crawler | None:
    """Return wget2, with a thread for each connection, or None if it is not installed.

    Unless it `keeps` pages, it deletes them after parsing.
    """
    program = which("wget2")
    if program is None:
        return None
    flags = () if keeps else ("--delete-after",)

    def command(task: Task) -> list[str]:
        return [
            *(program, "--recursive", "--level=0", "--robots=on", "--quiet", *flags),
            *("--ignore-tags=img,link,script", f"--max-threads={task.connections}", *task.seeds),
        ]

    version = first_line([program, "--version"]).removeprefix("GNU ").split(" - ")[0]
    return Crawler(" ".join(("wget2", *flags)), version, command, counts_pages=False)


def first_line(command: list[str]) -> str:
    """Return the first line of a program's output."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]

"""Commands of the crawlers in the broad benchmark.

Law: all crawlers obey robots.txt, stay on the hosts of the seeds, wait a second between two
requests to a host, and have the same limits of requests in flight: one for each host, and one for
all. Other settings keep their defaults. Crawlers check certificates if they do so by default and
can trust another authority.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import NamedTuple

from minicrawl import __version__
from tests.bench.peers import first_line, scrapy_command
from tests.bench.rust_peers import kreuzcrawl_command, silkworm_command, version_of

DELAY_S = 1


class BroadTask(NamedTuple):
    """Task of a crawler. `seeds` is a file with a URL per line."""

    seeds: Path
    hosts: int
    pages: int
    connections: int
    authority: Path


class BroadCrawler(NamedTuple):
    """A crawler. It is stopped after enough pages if it cannot count pages itself."""

    name: str
    version: str
    command: Callable[[BroadTask], list[str]]
    counts_pages: bool = True


def minicrawl(options: list[str], checkout: Path | None = None) -> BroadCrawler:
    """Return minicrawl, of this or of another checkout."""
    environment = ("env", f"PYTHONPATH={checkout}") if checkout else ()

    def command(task: BroadTask) -> list[str]:
        return [
            *environment,
            *(sys.executable, "-m", "minicrawl", "crawl", str(task.seeds), "--fresh"),
            *("--pages", str(task.pages), "--scope", "host", "--delay", str(DELAY_S)),
            *("--concurrency", str(task.connections), "--allow-private"),
            *("--ca", str(task.authority)),
            *options,
        ]

    name = f"minicrawl of {checkout.name}" if checkout else "minicrawl"
    return BroadCrawler(name, f"minicrawl {__version__}", command)


_MANUAL_ADVICE = {
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "COOKIES_ENABLED": False,
}
"""Settings that Scrapy's manual recommends for broad crawls."""


def scrapy(python: Path) -> BroadCrawler:
    """Return Scrapy, which only follows links, with the settings that its manual recommends."""

    def command(task: BroadTask) -> list[str]:
        limits = {"pages": task.pages, "connections": task.connections, "per_host": 1}
        delay = {"DOWNLOAD_DELAY": DELAY_S, "RANDOMIZE_DOWNLOAD_DELAY": False}
        seeds = task.seeds.read_text().split()
        return scrapy_command(python, seeds, **limits, more=delay | _MANUAL_ADVICE)

    return BroadCrawler("Scrapy", first_line([str(python), "-m", "scrapy", "version"]), command)


def wget2() -> BroadCrawler | None:
    """Return wget2, with a thread for each connection; each thread waits between requests."""
    program = which("wget2")
    if program is None:
        return None

    def command(task: BroadTask) -> list[str]:
        return [
            *(program, "--recursive", "--level=0", "--robots=on", "--quiet", "--delete-after"),
            *("--ignore-tags=img,link,script", f"--max-threads={task.connections}"),
            *(f"--wait={DELAY_S}", f"--ca-certificate={task.authority}"),
            f"--input-file={task.seeds}",
        ]

    version = first_line([program, "--version"]).removeprefix("GNU ").split(" - ")[0]
    return BroadCrawler("wget2 --delete-after", version, command, counts_pages=False)


def silkworm(python: Path) -> BroadCrawler:
    """Return silkworm-rs, which only follows links."""

    def command(task: BroadTask) -> list[str]:
        limits = {"pages": task.pages, "connections": task.connections, "per_host": 1}
        return silkworm_command(python, task.seeds.read_text().split(), **limits, delay_s=DELAY_S)

    return BroadCrawler("silkworm-rs", f"silkworm-rs {version_of('silkworm-rs', python)}", command)


def kreuzcrawl(python: Path) -> BroadCrawler:
    """Return kreuzcrawl, which crawls each host separately, with equal budgets."""

    def command(task: BroadTask) -> list[str]:
        seeds = task.seeds.read_text().split()
        limits = {"pages": task.pages, "connections": task.connections}
        command = kreuzcrawl_command(python, seeds, **limits, delay_s=DELAY_S)
        return ["env", f"SSL_CERT_FILE={task.authority}", *command]

    return BroadCrawler("kreuzcrawl", f"kreuzcrawl {version_of('kreuzcrawl', python)}", command)

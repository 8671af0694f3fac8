"""Speed of crawlers on thousands of small sites, with a delay of a second for each.

`python -m tests.bench.broad` serves 2,000 sites on loopback by TLS, each with its own certificate.
The crawlers take turns, and each fetches the same number of pages in each round. The command prints
the medians of the rounds. Pages and requests are counted in the server's log.
"""

import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Unpack

import click

from tests.bench.broad_peers import (
    BroadCrawler,
    BroadTask,
    kreuzcrawl,
    minicrawl,
    scrapy,
    silkworm,
    wget2,
)
from tests.bench.laps import laps_in_turn, medians
from tests.bench.manuals import complete_lines
from tests.bench.many_hosts import ManyHosts, many_hosts
from tests.bench.notes import into_document, machine, tell, today
from tests.bench.peers import Choice, choice_options, chosen
from tests.bench.processes import exit_on_sigterm, machine_cpu_s, run


class BroadLap(NamedTuple):
    """Figures of a crawler in one round."""

    requests_a_second: float
    pages_a_second: float
    cpu_s: float  # for 1,000 pages
    peak_mb: float
    pages: float
    hosts: float  # with a page
    connections: float  # for a page
    resumed: float  # share of the handshakes
    too_soon: float  # share of the requests that came before the delay was over
    server: float  # share of its core
    others: float  # cores


COLUMNS = (
    ("requests/s", ",.0f"),
    ("pages/s", ",.0f"),
    ("CPU s per 1,000 pages", ".2f"),
    ("peak MB", ",.0f"),
    ("pages", ",.0f"),
    ("hosts", ",.0f"),
    ("connections a page", ".2f"),
    ("handshakes resumed", ".0%"),
    ("requests too soon", ".0%"),
    ("of nginx's core", ".0%"),
    ("cores used by others", ".2f"),
)
DELAY_S, INEXACT_S = 1.0, 0.02


class Asked:
    """Requests of a crawler, from nginx's log."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("rb")
        self._log.seek(0, os.SEEK_END)
        self.requests = self.too_soon = 0
        self.pages: set[tuple[bytes, bytes]] = set()
        self.handshakes: dict[bytes, bool] = {}  # True if resumed, by connection
        self._ended: dict[bytes, float] = {}

    def look(self) -> int:
        """Read the log on, and return the number of pages so far."""
        for line in complete_lines(self._log):
            self._note(line)
        return len(self.pages)

    def close(self) -> None:
        self._log.close()

    def _note(self, line: bytes) -> None:
        at, took, connection, _, resumed, host, path, status, _ = line.split()
        self.requests += 1
        self.handshakes.setdefault(connection, resumed == b"r")
        if status == b"200" and path.endswith(b".html"):
            self.pages.add((host, path))
        ended = self._ended.get(host)
        if ended is not None and float(at) - float(took) - ended < DELAY_S - INEXACT_S:
            self.too_soon += 1
        self._ended[host] = float(at)


def lap(crawler: BroadCrawler, task: BroadTask, server: ManyHosts) -> BroadLap:
    """Run a crawler in a new folder and measure it."""
    asked, served_s, machine_s = Asked(server.log), server.cpu_s(), machine_cpu_s()

    def is_enough() -> bool:
        return asked.look() >= task.pages and not crawler.counts_pages

    with TemporaryDirectory(prefix="minicrawl-bench-") as folder:
        command = server.knowing_names(crawler.command(task))
        cost = run(command, Path(folder), is_enough)
    served_s, machine_s = server.cpu_s() - served_s, machine_cpu_s() - machine_s
    pages = asked.look()
    asked.close()
    if not pages:
        raise click.ClickException(f"{crawler.name} fetched no page\n{cost.last_words}")
    return BroadLap(
        requests_a_second=asked.requests / cost.wall_s,
        pages_a_second=pages / cost.wall_s,
        cpu_s=cost.cpu_s / pages * 1000,
        peak_mb=cost.peak_bytes / 1e6,
        pages=pages,
        hosts=len({host for host, _ in asked.pages}),
        connections=len(asked.handshakes) / pages,
        resumed=statistics.mean(asked.handshakes.values()),
        too_soon=asked.too_soon / asked.requests,
        server=served_s / cost.wall_s,
        others=max(machine_s - cost.cpu_s - served_s, 0) / cost.wall_s,
    )


def report(
    laps: dict[str, list[BroadLap]],
    crawlers: Sequence[BroadCrawler],
    task: BroadTask,
    server: ManyHosts,
) -> Iterator[str]:
    """Yield the conditions, and a row for each crawler."""
    versions = dict.fromkeys([*(crawler.version for crawler in crawlers), server.version()])
    count = len(next(iter(laps.values())))
    yield (
        f"{today()}: {task.hosts:,} hosts, {task.pages:,} pages, median of {count}, "
        f"{task.connections} connections, 1 to a host, {DELAY_S:g} s between two requests to a "
        f"host. {', '.join(versions)}. {machine()}; nginx on core {server.core}, the crawlers "
        "where they like."
    )
    yield from medians(laps, COLUMNS)


def _peers(python: Path) -> list[BroadCrawler | None]:
    return [scrapy(python), wget2(), silkworm(python), kreuzcrawl(python)]


class BroadChoice(Choice):
    """Options that choose the crawlers, and the document."""

    only: tuple[str, ...]
    into: Path | None


def _crawlers(choice: BroadChoice, folder: Path) -> list[BroadCrawler]:
    found = chosen(choice, folder, minicrawl, _peers)
    return [crawler for crawler in found if not choice["only"] or crawler.name in choice["only"]]


@click.command()
@click.option("--hosts", default=2000, show_default=True)
@click.option("--pages", default=16_000, show_default=True, help="Budget of each crawl.")
@click.option("--connections", default=256, show_default=True)
@click.option("--rounds", "count", default=3, show_default=True)
@click.option("--only", multiple=True, help="Run only this crawler. Repeatable.")
@choice_options
@into_document
def main(hosts: int, pages: int, connections: int, count: int, **who: Unpack[BroadChoice]) -> None:
    exit_on_sigterm()
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        crawlers = _crawlers(who, folder)
        with many_hosts(hosts, folder) as server:
            seeds = folder / "seeds.txt"
            seeds.write_text("\n".join(server.seeds) + "\n")
            task = BroadTask(seeds, hosts, pages, connections, server.authority)
            laps = laps_in_turn(crawlers, count, lambda one: lap(one, task, server), COLUMNS)
            lines = list(report(laps, crawlers, task, server))
    tell(lines, "broad", who["into"])


if __name__ == "__main__":
    main()

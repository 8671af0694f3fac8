"""Speed of crawlers on thousands of small sites, with a delay of a second for each.

`python -m tests.bench.broad` serves 2,000 sites on loopback by TLS, each with its own certificate.
The crawlers take turns, and each fetches the same number of pages in each round. The command prints
the medians of the rounds. Pages and requests are counted in the server's log.
"""

import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Unpack

import click

from tests.bench.crawlers import Choice, Crawler, Task, choice_options, chosen
from tests.bench.laps import Visits, conditions, laps_in_turn, measured, medians
from tests.bench.many_hosts import ManyHosts, many_hosts
from tests.bench.notes import into_document, tell
from tests.bench.processes import exit_on_sigterm


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
DELAY_S, INEXACT_S = 1, 0.02
_SLOWER_AS_IT_KEEPS = "wget2"


class Asked(Visits):
    """Requests of a crawler: their connections and the pauses between them."""

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.too_soon = 0
        self.pages: set[tuple[bytes, bytes]] = set()
        self.handshakes: dict[bytes, bool] = {}  # True if resumed, by connection
        self._ended: dict[bytes, float] = {}

    def _pages(self) -> int:
        return len(self.pages)

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


def lap(crawler: Crawler, task: Task, server: ManyHosts) -> BroadLap:
    asked = Asked(server.log)
    ran = measured(crawler, task, server, asked, server.knowing_names)
    return BroadLap(
        requests_a_second=asked.requests / ran.wall_s,
        pages_a_second=ran.pages / ran.wall_s,
        cpu_s=ran.cpu_s,
        peak_mb=ran.peak_mb,
        pages=ran.pages,
        hosts=len({host for host, _ in asked.pages}),
        connections=len(asked.handshakes) / ran.pages,
        resumed=statistics.mean(asked.handshakes.values()),
        too_soon=asked.too_soon / asked.requests,
        server=ran.server,
        others=ran.others,
    )


@click.command()
@click.option("--hosts", default=2000, show_default=True)
@click.option("--pages", default=16_000, show_default=True, help="Budget of each crawl.")
@click.option("--connections", default=256, show_default=True)
@click.option("--rounds", "count", default=3, show_default=True)
@choice_options
@into_document
def main(
    hosts: int, pages: int, connections: int, count: int, into: Path | None, **who: Unpack[Choice]
) -> None:
    exit_on_sigterm()
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        crawlers = [one for one in chosen(who, folder) if one.name != _SLOWER_AS_IT_KEEPS]
        with many_hosts(hosts, folder) as server:
            task = Task(server.seeds, pages, connections, 1, DELAY_S, server.authority)
            laps = laps_in_turn(crawlers, count, lambda one: lap(one, task, server), COLUMNS)
            what = (
                f"{hosts:,} hosts, {pages:,} pages, {connections} connections, 1 to a host, "
                f"{DELAY_S} s between two requests to a host"
            )
            lines = [conditions(what, crawlers, server, count), *medians(laps, COLUMNS)]
    tell(lines, "broad", into)


if __name__ == "__main__":
    main()

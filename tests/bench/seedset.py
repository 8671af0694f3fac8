"""Cost of seeds: ten cores of each kind from a web of a million links.

`python -m tests.bench.seedset --into docs/speed.md` prints wall and processor seconds (medians of
the rounds; the kinds take turns). It measures the web with its hosts, inside which links do not
count, and with a host for each page, so that all links count.
"""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.lab.webs import copying_web
from minicrawl.ranks.seeds import CoreKind, CoreRule, between_hosts, extracted
from tests.bench.notes import circumstances, head, into_document, row, tell

Hosts = NDArray[np.int32]


def measure(graph: Csr, hosts: Hosts, count: int, rounds: int) -> Iterator[str]:
    """Yield a row for each kind of core."""
    clock: dict[CoreKind, list[float]] = {kind: [] for kind in CoreKind}
    processor: dict[CoreKind, list[float]] = {kind: [] for kind in CoreKind}
    pages: dict[CoreKind, int] = {}
    for _ in range(rounds):
        for kind in CoreKind:
            began, began_cpu = time.perf_counter(), time.process_time()
            cores = extracted(between_hosts(graph, hosts), count, CoreRule(kind=kind))
            clock[kind].append(time.perf_counter() - began)
            processor[kind].append(time.process_time() - began_cpu)
            pages[kind] = sum(core.size for core in cores)
    links = f"{between_hosts(graph, hosts).edges:,}"
    for kind in CoreKind:
        spent = (f"{statistics.median(times[kind]):.2f}" for times in (clock, processor))
        yield row(kind, links, f"{pages[kind]:,}", *spent)


@click.command()
@click.option("--pages", default=92_000, show_default=True, help="Pages with 11 links each.")
@click.option("--count", default=10, show_default=True, help="Number of seeds.")
@click.option("--rounds", default=3, show_default=True)
@into_document
def main(pages: int, count: int, rounds: int, into: Path | None) -> None:
    web = copying_web(pages, np.random.default_rng(1))
    found = f"{web.graph.nodes:,} pages, {web.graph.edges:,} links; {count} seeds"
    lines = [f"{circumstances()} {found}, median of {rounds}.", ""]
    lines += head("core", "links that count", "pages in cores", "seconds", "CPU seconds")
    for hosts in (web.host, np.arange(web.graph.nodes, dtype=np.int32)):
        lines += measure(web.graph, hosts, count, rounds)
    tell(lines, "seeds", into)


if __name__ == "__main__":
    main()

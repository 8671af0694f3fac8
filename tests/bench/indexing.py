"""Cost of indexing: processor time of all involved processes for each page.

`python -m tests.bench.indexing` serves the installed manuals on loopback. Each round runs a crawl
at a fixed pace with an index process as in `crawl --index`, and measures that process and the rest
of the work after the crawl. Then it makes the index anew. The command prints the medians of the
rounds.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from minicrawl.search.indexing.following import COMMAND
from minicrawl.search.indexing.rounds import bring_up_to_date
from tests.bench.crawlers import minicrawl
from tests.bench.manuals import Manuals, installed, manuals
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.processes import as_for_users, exit_on_sigterm

MOST_MS = 1.2


class IndexCost(NamedTuple):
    """Processor times in seconds, and the number of pages."""

    anew_s: float
    followed_s: float
    rest_s: float
    pages: int

    def each_ms(self) -> Iterator[float]:
        """Return milliseconds per page: anew, index process, rest, and the last two together."""
        followed = (self.followed_s, self.rest_s, self.followed_s + self.rest_s)
        return (1000 * one / self.pages for one in (self.anew_s, *followed))


def _used_s() -> float:
    """Return the processor time of this process and of its ended children."""
    return sum(os.times()[:4])


def _crawl(server: Manuals, store: Path, pages: int, rate: int) -> None:
    kept = ["--keep", "pages", "--store", str(store), "--quiet"]
    command = minicrawl([*kept, "--max-rate", str(rate)]).command(server.task(pages))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=as_for_users())


@contextmanager
def _followed(store: Path) -> Iterator[list[float]]:
    """Run an index process during the block, and then append its processor time to the list."""
    took = list[float]()
    command = sys.executable, "-c", COMMAND, store
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=as_for_users()) as process:
        try:
            yield took
        finally:
            assert process.stdin is not None, "it has a pipe"
            process.stdin.close()
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            took.append(usage.ru_utime + usage.ru_stime)


def _round(server: Manuals, folder: Path, pages: int, rate: int) -> IndexCost:
    store = folder / "crawl.db"
    with _followed(store) as took:
        _crawl(server, store, pages, rate)
    began = _used_s()
    bring_up_to_date(store)
    rest_s, began = _used_s() - began, _used_s()
    done = bring_up_to_date(store, fresh=True)
    return IndexCost(_used_s() - began, took[0], rest_s, done.pages)


def _table(costs: list[IndexCost]) -> Iterator[str]:
    yield from head("ms a page", "anew", "follower", "rest", "live: both")
    rounds = [list(one.each_ms()) for one in costs]
    for number, one in enumerate(rounds, 1):
        yield row(str(number), *(f"{each:.2f}" for each in one))
    yield row("median", *(f"{median(each):.2f}" for each in zip(*rounds, strict=True)))
    yield ""
    yield f"{costs[-1].pages:,} pages; limit of the live cost: {MOST_MS} ms."


@click.command()
@click.option("--pages", default=3000, show_default=True, help="Pages of each crawl.")
@click.option("--rate", default=100, show_default=True, help="Pages per second of each crawl.")
@click.option("--rounds", default=3, show_default=True)
@into_document
def main(pages: int, rate: int, rounds: int, into: Path | None) -> None:
    exit_on_sigterm()
    costs = []
    with (
        TemporaryDirectory(prefix="minicrawl-bench-") as name,
        manuals(Path(name), installed()) as server,
    ):
        for _ in range(rounds):
            with TemporaryDirectory(prefix="minicrawl-bench-") as folder:
                costs.append(_round(server, Path(folder), pages, rate))
                click.echo(costs[-1], err=True)
    tell([circumstances(), "", *_table(costs)], "indexing", into)


if __name__ == "__main__":
    main()

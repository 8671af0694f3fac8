"""Speed of minicrawl with all features on, and of other crawlers.

`python -m tests.bench.crawl` serves five manuals on loopback. The crawlers take turns, and each
fetches the same number of pages in each round. The command prints the medians of the rounds. A
ratio is the median of the ratios within the rounds, as a disturbance affects both sides of it.

The budget is larger than the manuals, so all crawlers fetch the same pages. With a smaller budget
(`--pages 6000`) they fetch different pages, so their mean size is printed, too. Other crawls can
take part instead of other crawlers: `--variant '--keep none' --variant '--keep pages'`.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol, Unpack

import click

from tests.bench.crawlers import Choice, Crawler, Task, choice_options, chosen
from tests.bench.laps import PageVisits, Server, conditions, laps_in_turn, measured, medians
from tests.bench.manuals import manuals
from tests.bench.notes import head, into_document, row, tell
from tests.bench.processes import exit_on_sigterm


class Lap(NamedTuple):
    """Figures of a crawler in one round."""

    pages_a_second: float
    cpu_s: float  # for 1,000 pages
    peak_mb: float
    main_cpu_s: float  # of the first process, for 1,000 pages
    page_kb: float
    pages: float
    requests: float  # for a page
    server: float  # share of its core
    others: float  # cores


COLUMNS = (
    ("pages/s", ",.0f"),
    ("CPU s per 1,000", ".2f"),
    ("peak MB", ",.0f"),
    ("CPU s of the main process", ".2f"),
    ("KB a page", ".1f"),
    ("pages", ",.0f"),
    ("requests a page", ".2f"),
    ("of nginx's core", ".0%"),
    ("cores used by others", ".2f"),
)
COMPARED = 3  # of the columns


class PageServer(Server, Protocol):
    """Server that knows which requests are pages."""

    def visits(self) -> PageVisits: ...


def lap(crawler: Crawler, task: Task, server: PageServer) -> Lap:
    visits = server.visits()
    ran = measured(crawler, task, server, visits)
    return Lap(
        pages_a_second=ran.pages / ran.wall_s,
        cpu_s=ran.cpu_s,
        peak_mb=ran.peak_mb,
        main_cpu_s=ran.main_cpu_s,
        page_kb=statistics.mean(visits.pages.values()) / 1e3,
        pages=ran.pages,
        requests=visits.requests / ran.pages,
        server=ran.server,
        others=ran.others,
    )


def ratios(laps: dict[str, list[Lap]]) -> Iterator[str]:
    """Yield a row for each other crawler, with the ratios of the first one to it."""
    (name, ours), *others = laps.items()
    yield ""
    yield from head(f"{name} against", *(title for title, _ in COLUMNS[:COMPARED]))
    for other, theirs in others:
        multiples = [
            [mine / its for mine, its in zip(one[:COMPARED], two[:COMPARED], strict=True)]
            for one, two in zip(ours, theirs, strict=True)
        ]
        middle = map(statistics.median, zip(*multiples, strict=True))
        yield row(other, *(f"{multiple:.3g} ×" for multiple in middle))


@click.command()
@click.option("--pages", default=20_000, show_default=True, help="Budget of each crawl.")
@click.option("--rounds", "count", default=5, show_default=True)
@click.option("--per-host", default=16, show_default=True, help="Connections to each host.")
@choice_options
@into_document
def main(pages: int, count: int, per_host: int, into: Path | None, **who: Unpack[Choice]) -> None:
    exit_on_sigterm()
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        crawlers = chosen(who, folder)
        with manuals(folder) as server:
            task = server.task(pages, per_host)
            laps = laps_in_turn(crawlers, count, lambda one: lap(one, task, server), COLUMNS)
            what = f"{pages:,} pages, {per_host} connections a host and {task.connections} in all"
            lines = [conditions(what, crawlers, server, count)]
            lines += [*medians(laps, COLUMNS), *ratios(laps)]
    tell(lines, "crawl", into)


if __name__ == "__main__":
    main()

"""Speed of minicrawl with all features on, and of other crawlers.

`python -m tests.bench.crawl` serves five manuals on loopback. The crawlers take turns, and each
fetches the same number of pages in each round. The command prints the medians of the rounds. A
ratio is the median of the ratios within the rounds, as a disturbance affects both sides of it.

The budget is larger than the manuals, so all crawlers fetch the same pages. With a smaller budget
(`--pages 6000`) they fetch different pages, so their mean size is printed, too.
"""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Unpack

import click

from tests.bench.laps import laps_in_turn, medians
from tests.bench.manuals import Manuals, manuals
from tests.bench.notes import head, into_document, machine, row, tell, today
from tests.bench.peers import (
    Choice,
    Crawler,
    Task,
    choice_options,
    chosen,
    kreuzcrawl,
    minicrawl,
    scrapy,
    silkworm,
    wget2,
)
from tests.bench.processes import exit_on_sigterm, machine_cpu_s, run


class Lap(NamedTuple):
    """Figures of a crawler in one round."""

    pages_a_second: float
    cpu_s: float  # for 1,000 pages
    peak_mb: float
    page_kb: float
    pages: float
    requests: float  # for a page
    server: float  # share of its core
    others: float  # cores


COLUMNS = (
    ("pages/s", ",.0f"),
    ("CPU s per 1,000", ".2f"),
    ("peak MB", ",.0f"),
    ("KB a page", ".1f"),
    ("pages", ",.0f"),
    ("requests a page", ".2f"),
    ("of nginx's core", ".0%"),
    ("cores used by others", ".2f"),
)
COMPARED = 3  # of the columns


def lap(crawler: Crawler, task: Task, server: Manuals) -> Lap:
    """Run a crawler in a new folder and measure it."""
    visits, served_s, machine_s = server.visits(), server.cpu_s(), machine_cpu_s()

    def is_enough() -> bool:
        return not crawler.counts_pages and visits.look() >= task.pages

    with TemporaryDirectory(prefix="minicrawl-bench-") as folder:
        cost = run(crawler.command(task), Path(folder), is_enough)
    served_s, machine_s = server.cpu_s() - served_s, machine_cpu_s() - machine_s
    pages = visits.look()
    visits.close()
    if not pages or (crawler.counts_pages and cost.exit_code):
        raise click.ClickException(f"{crawler.name} fetched {pages:,} pages\n{cost.last_words}")
    return Lap(
        pages_a_second=pages / cost.wall_s,
        cpu_s=cost.cpu_s / pages * 1000,
        peak_mb=cost.peak_bytes / 1e6,
        page_kb=statistics.mean(visits.pages.values()) / 1e3,
        pages=pages,
        requests=visits.requests / pages,
        server=served_s / cost.wall_s,
        others=max(machine_s - cost.cpu_s - served_s, 0) / cost.wall_s,
    )


# ---------------------------------------------------------------- tables


def circumstances(
    crawlers: Sequence[Crawler], task: Task, server: Manuals, count: int
) -> Iterator[str]:
    """Yield the date, the versions, the machine and the settings."""
    names = dict.fromkeys(crawler.version for crawler in crawlers)
    versions = ", ".join([*names, server.version()])
    yield (
        f"{today()}: {task.pages:,} pages, median of {count}, {task.per_host} connections a host "
        f"and {task.connections} in all. {versions}. {machine()}; nginx on core {server.core}, the "
        "crawlers where they like."
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


# ---------------------------------------------------------------- the command


def _peers(python: Path) -> list[Crawler | None]:
    wgets = (wget2(keeps=True), wget2(keeps=False))
    return [scrapy(python), *wgets, silkworm(python), kreuzcrawl(python)]


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
        crawlers = chosen(who, folder, minicrawl, _peers)
        with manuals(folder) as server:
            task = Task(server.seeds, pages, per_host)
            laps = laps_in_turn(crawlers, count, lambda one: lap(one, task, server), COLUMNS)
            conditions = circumstances(crawlers, task, server, count)
            lines = [*conditions, *medians(laps, COLUMNS), *ratios(laps)]
    tell(lines, "crawl", into)


if __name__ == "__main__":
    main()

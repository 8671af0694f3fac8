"""How fast pages are crawled: minicrawl with everything on, and others, side by side.

`python -m tests.bench.crawl` serves five manuals on loopback and has each crawler fetch the same
number of pages, in turn and round after round. It prints the medians of the rounds. A ratio is the
median of the ratios within the rounds: what disturbs the machine disturbs both sides of it.

All of them fetch the same pages, as the budget is larger than the manuals. With a smaller one
(`--pages 6000`) each crawler's order decides which pages it fetches; their mean size is told.
"""

import shlex
import signal
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypedDict, Unpack

import click

from tests.bench.laps import laps_in_turn
from tests.bench.manuals import Manuals, manuals
from tests.bench.notes import head, into_document, machine, row, tell, today
from tests.bench.peers import (
    PEERS,
    Crawler,
    Task,
    environment_with,
    kreuzcrawl,
    minicrawl,
    scrapy,
    silkworm,
    wget2,
)
from tests.bench.processes import machine_cpu_s, run


class Lap(NamedTuple):
    """What one crawler did in one round."""

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
    """Let it crawl in a folder of its own."""
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


def in_words(done: Lap) -> str:
    """Its figures in a line."""
    return ", ".join(
        f"{value:{form}} {title}" for value, (title, form) in zip(done, COLUMNS, strict=True)
    )


# ---------------------------------------------------------------- what is told


def circumstances(
    crawlers: Sequence[Crawler], task: Task, server: Manuals, count: int
) -> Iterator[str]:
    """When, what and on what."""
    names = dict.fromkeys(crawler.version for crawler in crawlers)
    versions = ", ".join([*names, server.version()])
    yield (
        f"{today()}: {task.pages:,} pages, median of {count}, {task.per_host} connections a host "
        f"and {task.connections} in all. {versions}. {machine()}; nginx on core {server.core}, the "
        "crawlers where they like."
    )


def medians(laps: dict[str, list[Lap]]) -> Iterator[str]:
    """A row for each crawler, with how far apart its rounds were."""
    yield ""
    yield from head("", *(title for title, _ in COLUMNS), "pages/s, slowest to fastest")
    for name, theirs in laps.items():
        middle = map(statistics.median, zip(*theirs, strict=True))
        cells = [f"{value:{form}}" for value, (_, form) in zip(middle, COLUMNS, strict=True)]
        speeds = [one.pages_a_second for one in theirs]
        yield row(name, *cells, f"{min(speeds):,.0f} to {max(speeds):,.0f}")


def ratios(laps: dict[str, list[Lap]]) -> Iterator[str]:
    """The first crawler's numbers as multiples of those of each other one."""
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


class Whom(TypedDict):
    """The options that tell who is compared."""

    python: Path | None
    options: str
    checkouts: tuple[Path, ...]


def _crawlers(whom: Whom, folder: Path) -> list[Crawler]:
    """Whoever is compared with its own past needs no one else to be installed."""
    options, checkouts = shlex.split(whom["options"]), whom["checkouts"]
    ours = minicrawl(options)
    if checkouts:
        return [ours, *(minicrawl(options, checkout.resolve()) for checkout in checkouts)]
    python = whom["python"] or environment_with(folder / "peers", *PEERS)
    others = (
        scrapy(python),
        wget2(keeps=True),
        wget2(keeps=False),
        silkworm(python),
        kreuzcrawl(python),
    )
    return [ours, *filter(None, others)]


@click.command()
@click.option("--pages", default=20_000, show_default=True, help="Budget of each crawl.")
@click.option("--rounds", "count", default=5, show_default=True)
@click.option("--per-host", default=16, show_default=True, help="Connections to each host.")
@click.option(
    "--peers",
    "python",
    type=click.Path(exists=True, path_type=Path),
    help="A Python that has Scrapy, silkworm-rs and kreuzcrawl; they are installed for this run "
    "if none is named.",
)
@click.option("--minicrawl", "options", default="", help="More options for minicrawl, quoted.")
@click.option(
    "--against",
    "checkouts",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A checkout of another commit, instead of other crawlers; may be repeated.",
)
@into_document
def main(pages: int, count: int, per_host: int, into: Path | None, **whom: Unpack[Whom]) -> None:
    # Being ended is no reason to leave a server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        crawlers = _crawlers(whom, folder)
        with manuals(folder) as server:
            task = Task(server.seeds, pages, per_host)
            laps = laps_in_turn(crawlers, count, lambda one: lap(one, task, server), in_words)
            told = circumstances(crawlers, task, server, count)
            lines = [*told, *medians(laps), *ratios(laps)]
    tell(lines, "crawl", into)


if __name__ == "__main__":
    main()

"""Crawlers that take turns, so that other load on the machine affects all of them."""

import os
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple, Protocol, TypeVar

import click

from tests.bench.crawlers import Crawler, Task
from tests.bench.notes import head, machine, row, today
from tests.bench.processes import machine_cpu_s, run

Lap = TypeVar("Lap", bound=Sequence[float])
Columns = Sequence[tuple[str, str]]
"""Titles and formats of the figures of a lap; one title is "pages/s"."""


class Server(Protocol):
    """Web server with a core to itself."""

    @property
    def core(self) -> int: ...
    def cpu_s(self) -> float: ...
    def version(self) -> str: ...


class Visits(ABC):
    """Requests of a crawler, from the lines that a server's log gets from now on."""

    def __init__(self, log: Path) -> None:
        self.requests = 0
        self._log = log.open("rb")
        self._log.seek(0, os.SEEK_END)

    def look(self) -> int:
        """Read the log on, and return the number of pages so far."""
        for line in complete_lines(self._log):
            self._note(line)
        return self._pages()

    def close(self) -> None:
        self._log.close()

    @abstractmethod
    def _note(self, line: bytes) -> None: ...
    @abstractmethod
    def _pages(self) -> int: ...


class PageVisits(Visits):
    """Requests of a crawler, and the sizes of pages by their URL."""

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.pages: dict[str, int] = {}

    def _pages(self) -> int:
        return len(self.pages)


def complete_lines(log: BinaryIO) -> Iterator[bytes]:
    """Yield the new lines of a log, without one that is still being written."""
    for line in log:
        if not line.endswith(b"\n"):
            log.seek(-len(line), os.SEEK_CUR)
            return
        yield line


class Ran(NamedTuple):
    """Figures of a crawler in one round."""

    wall_s: float
    pages: int
    cpu_s: float  # for 1,000 pages
    peak_mb: float
    main_cpu_s: float  # of the first process, for 1,000 pages
    server: float  # share of its core
    others: float  # cores


def measured(
    crawler: Crawler,
    task: Task,
    server: Server,
    visits: Visits,
    command: Callable[[list[str]], list[str]] = list,
) -> Ran:
    """Run a crawler in a new folder and measure it. `command` may change its command."""
    served_s, machine_s = server.cpu_s(), machine_cpu_s()

    def is_enough() -> bool:
        return not crawler.counts_pages and visits.look() >= task.pages

    with TemporaryDirectory(prefix="minicrawl-bench-") as folder:
        cost = run(command(crawler.command(task)), Path(folder), is_enough)
    served_s, machine_s = server.cpu_s() - served_s, machine_cpu_s() - machine_s
    pages = visits.look()
    visits.close()
    if not pages or (crawler.counts_pages and cost.exit_code):
        raise click.ClickException(f"{crawler.name} fetched {pages:,} pages\n{cost.last_words}")
    return Ran(
        wall_s=cost.wall_s,
        pages=pages,
        cpu_s=cost.cpu_s / pages * 1000,
        peak_mb=cost.peak_bytes / 1e6,
        main_cpu_s=cost.main_cpu_s / pages * 1000,
        server=served_s / cost.wall_s,
        others=max(machine_s - cost.cpu_s - served_s, 0) / cost.wall_s,
    )


def laps_in_turn(
    crawlers: Sequence[Crawler], count: int, lap: Callable[[Crawler], Lap], columns: Columns
) -> dict[str, list[Lap]]:
    """Return the laps of each crawler. The first crawler of a round is the last of the next."""
    laps: dict[str, list[Lap]] = {crawler.name: [] for crawler in crawlers}
    for number in range(count):
        first = number % len(crawlers)
        for crawler in (*crawlers[first:], *crawlers[:first]):
            done = lap(crawler)
            laps[crawler.name].append(done)
            figures = zip(done, columns, strict=True)
            line = ", ".join(f"{value:{form}} {title}" for value, (title, form) in figures)
            click.echo(f"round {number + 1}  {crawler.name:<10} {line}", err=True)
    return laps


def conditions(task: str, crawlers: Sequence[Crawler], server: Server, count: int) -> str:
    """Return the date, the task, the versions and the machine."""
    versions = dict.fromkeys([*(crawler.version for crawler in crawlers), server.version()])
    return (
        f"{today()}: {task}, median of {count}. {', '.join(versions)}. {machine()}; nginx on core "
        f"{server.core}, the crawlers where they like."
    )


def medians(laps: Mapping[str, Sequence[Sequence[float]]], columns: Columns) -> Iterator[str]:
    """Yield a row for each crawler, with its slowest and fastest round."""
    titles = [title for title, _ in columns]
    yield ""
    yield from head("", *titles, "pages/s, slowest to fastest")
    for name, theirs in laps.items():
        middle = map(statistics.median, zip(*theirs, strict=True))
        cells = [f"{value:{form}}" for value, (_, form) in zip(middle, columns, strict=True)]
        paces = [one[titles.index("pages/s")] for one in theirs]
        yield row(name, *cells, f"{min(paces):,.0f} to {max(paces):,.0f}")

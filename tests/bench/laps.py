"""Crawlers that take turns, so that other load on the machine affects all of them."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import click

from tests.bench.notes import head, row


class Named(Protocol):
    """Crawler with a name for tables."""

    @property
    def name(self) -> str: ...


Who = TypeVar("Who", bound=Named)
Lap = TypeVar("Lap", bound=Sequence[float])
Columns = Sequence[tuple[str, str]]
"""Titles and formats of the figures of a lap; one title is "pages/s"."""


def laps_in_turn(
    crawlers: Sequence[Who], count: int, lap: Callable[[Who], Lap], columns: Columns
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

"""Crawlers that take turns, so that other load on the machine affects all of them."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import click


class Named(Protocol):
    """Crawler with a name for tables."""

    @property
    def name(self) -> str: ...


Who = TypeVar("Who", bound=Named)
Lap = TypeVar("Lap")


def laps_in_turn(
    crawlers: Sequence[Who], count: int, lap: Callable[[Who], Lap], in_words: Callable[[Lap], str]
) -> dict[str, list[Lap]]:
    """Return the laps of each crawler. The first crawler of a round is the last of the next."""
    laps: dict[str, list[Lap]] = {crawler.name: [] for crawler in crawlers}
    for number in range(count):
        first = number % len(crawlers)
        for crawler in (*crawlers[first:], *crawlers[:first]):
            done = lap(crawler)
            laps[crawler.name].append(done)
            click.echo(f"round {number + 1}  {crawler.name:<10} {in_words(done)}", err=True)
    return laps

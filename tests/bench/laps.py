"""Crawlers take turns, so that what else the machine does falls on all of them."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import click


class Named(Protocol):
    """Whoever takes part."""

    @property
    def name(self) -> str:
        """As tables show it."""


Who = TypeVar("Who", bound=Named)
Lap = TypeVar("Lap")


def laps_in_turn(
    crawlers: Sequence[Who], count: int, lap: Callable[[Who], Lap], in_words: Callable[[Lap], str]
) -> dict[str, list[Lap]]:
    """The laps of each crawler; who came first in a round comes last in the next one."""
    laps: dict[str, list[Lap]] = {crawler.name: [] for crawler in crawlers}
    for number in range(count):
        first = number % len(crawlers)
        for crawler in (*crawlers[first:], *crawlers[:first]):
            done = lap(crawler)
            laps[crawler.name].append(done)
            click.echo(f"round {number + 1}  {crawler.name:<10} {in_words(done)}", err=True)
    return laps

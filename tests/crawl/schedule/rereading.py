"""Crawls that read pages again, and a record of their turns.

A few large hosts have more pages than are ever read. The small hosts have three pages each, and all
pages of the web link to one page of a host that has no other.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from minicrawl import Asked, Event
from minicrawl.states import READ_STATES
from tests.crawl.fakes import FakeWeb, Run, Scene, crawl, web_of, work_takes_no_time

LICENCE = "http://licence.example/"
LARGE, SMALL = 6, 12
SEEDS = tuple(f"http://large{n}.example/" for n in range(LARGE))
PAGES_OF_LARGE = 3000


def web_with_small_hosts(takes_s: float = 0.1, pages: int = PAGES_OF_LARGE) -> FakeWeb:
    """Make a web of large hosts with `pages` pages each, and small ones."""
    rng = Random(7)
    large = [f"http://large{n}.example" for n in range(LARGE)]
    small = [f"http://small{n}.example/{k or ''}" for n in range(SMALL) for k in range(3)]
    links = {page: [LICENCE, *rng.sample(small, 2)] for page in small} | {LICENCE: [small[0]]}
    for host in large:
        for n in range(pages):
            near = [f"{host}/{k}" for k in (2 * n + 1, 2 * n + 2) if k < pages]
            far = [f"{rng.choice(large)}/{rng.randrange(n + 1) or ''}"]
            far += [rng.choice(small)] * (n % 5 == 0)
            links[f"{host}/{n or ''}"] = [f"{host}/", LICENCE, *near, *far]
    return FakeWeb(web_of(links), takes_s=takes_s)


class Turn(NamedTuple):
    """One request, and the read page that held the most cash at that moment."""

    url: str
    again: bool
    richest: str
    cash: float

    @property
    def host(self) -> str:
        return self.url[: self.url.index("/", 8)]


def turns_of(
    path: Path, web: FakeWeb | None = None, seeds: Sequence[str] = SEEDS, **settings: Any
) -> tuple[Run, list[Turn]]:
    """Crawl from these seeds, and return the run with its turns."""
    turns: list[Turn] = []
    read: set[str] = set()

    def hear(scene: Scene, event: Event) -> None:
        if isinstance(event, Asked):
            turns.append(Turn(event.url, event.url in read, *_richest(scene)))
            read.add(event.url)

    chosen = {"continuous": True, "address_delay": 0, "barren_pages": 10**6, **settings}
    with work_takes_no_time():
        run = crawl(web or web_with_small_hosts(), path, *seeds, hear=hear, **chosen)
    return run, turns


def _richest(scene: Scene) -> tuple[str, float]:
    """Return the read page that holds the most cash, and that cash."""
    frontier = scene.recorder.frontier
    cash = frontier.ledger.cash_of_all()
    cash[~np.isin(frontier.states(), READ_STATES)] = -1
    page = int(cash.argmax())
    return scene.recorder.pages.url_of(page), float(cash[page])


def shares(turns: list[Turn]) -> Iterator[tuple[str, int, float]]:
    """Yield each host with its number of turns and the share of them that re-read a page."""
    count = Counter(turn.host for turn in turns)
    again = Counter(turn.host for turn in turns if turn.again)
    for host, number in count.items():
        yield host, number, again[host] / number

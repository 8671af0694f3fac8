"""Which pages a budget is spent on: importance gathered against pages fetched, for every order.

A crawl starts from a few random pages and knows of a page only when it has read a page that links
to it. What is measured is the share of the true importance, that of the whole graph, which the
pages fetched so far hold together.

Draws of seeds differ more than orders do. So two orders are compared draw by draw: a *gain* is the
mean of the differences, and its standard error is that of the differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.lab.convergence import true_importance
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB, SMALL_EDGE
from minicrawl.lab.exploration import Exploration
from minicrawl.lab.strategies import Strategy
from minicrawl.lab.webs import Web
from minicrawl.opic.steps import visit
from minicrawl.progress import Progress, part

Floats = NDArray[np.float64]

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
SEEDS = 10
BASELINE = "opic"
"""The order that the others are compared with."""

_FEWEST_LINKS = 5
"""A page that someone would choose as a seed links to that many others."""


class Spread(NamedTuple):
    """The mean over the draws at each budget, and its standard error; one draw has none."""

    mean: list[float]
    error: list[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """`found.mean[i]` of the importance lies on the first `fractions[i]` of all pages fetched.

    `gain` is what that is more than the baseline's from the same seeds, if that one ran as well.
    """

    order: str
    fractions: Sequence[float]
    found: Spread
    gain: Spread | None

    @property
    def mass(self) -> list[float]:
        return self.found.mean

    def as_json(self) -> dict[str, object]:
        return {
            "order": self.order,
            "fractions": list(self.fractions),
            "mass": self.found.mean,
            "mass_error": self.found.error,
            "gain": self.gain and self.gain.mean,
            "gain_error": self.gain and self.gain.error,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawls:
    """`draws` crawls, each from seeds drawn anew that share `endowment` units.

    The person who chose the seeds vouches for them. On real webs the endowment is the largest gain.
    In a made-up web nobody has chosen, and it costs some of the first importance.
    """

    draws: int
    seed: int
    endowment: int
    fractions: Sequence[float] = FRACTIONS


def order(web: Web, *, orders: Sequence[str], crawls: Crawls, progress: Progress) -> list[Curve]:
    """The curve of every order, the mean over the crawls."""
    truth = true_importance(web.graph, SMALL_EDGE)
    links = web.graph.adjacency()
    masses = {}
    for done, name in enumerate(orders):
        tell = part(progress, done / len(orders), (done + 1) / len(orders))
        masses[name] = _masses(web, links, truth, name, crawls, tell)
    return [_curve(name, masses, crawls.fractions) for name in masses]


def spread(draws: Floats) -> Spread:
    """Of values with a row for each draw."""
    count = len(draws)
    error = draws.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else None
    return Spread(draws.mean(axis=0).tolist(), None if error is None else error.tolist())


def _curve(name: str, masses: dict[str, Floats], fractions: Sequence[float]) -> Curve:
    is_compared = BASELINE in masses and name != BASELINE
    return Curve(
        order=name,
        fractions=fractions,
        found=spread(masses[name]),
        gain=spread(masses[name] - masses[BASELINE]) if is_compared else None,
    )


def _masses(
    web: Web, links: list[list[int]], truth: Floats, name: str, crawls: Crawls, progress: Progress
) -> Floats:
    """What each crawl has gathered at each budget."""
    budget = int(max(crawls.fractions) * web.graph.nodes)
    masses = []
    for draw in range(crawls.draws):
        crawl = Exploration(web, links, truth)
        crawl.start(draw_seeds(web, crawls.seed, draw), crawls.endowment)
        fetched = _fetch(crawl, OF_AN_UNKNOWN_WEB[name](crawl, crawls.seed + draw), budget)
        masses.append(_mass(truth, fetched, crawls.fractions))
        progress((draw + 1) / crawls.draws)
    return np.array(masses)


def draw_seeds(web: Web, seed: int, draw: int) -> list[int]:
    """Random pages with at least 5 links; if there are not enough, those with most links."""
    degrees = web.graph.out_degrees()
    suitable = np.flatnonzero(degrees >= _FEWEST_LINKS)
    if len(suitable) < SEEDS:
        suitable = np.argsort(-degrees, kind="stable")[:SEEDS]
    return Random(seed + draw).sample(suitable.tolist(), min(SEEDS, len(suitable)))


def _fetch(crawl: Exploration, strategy: Strategy, budget: int) -> list[int]:
    """So many pages in the order in which they are fetched, or fewer if no more can be reached."""
    ledger = crawl.ledger
    strategy.born(range(len(ledger)))
    fetched: list[int] = []
    while len(fetched) < budget and (page := strategy.take()) is not None:
        fetched.append(crawl.pages[page])
        links, born = crawl.links_of(page)
        strategy.born(born)
        plan = visit(ledger, page, links)
        ledger.post(plan)
        strategy.settled(plan)
    return fetched


def _mass(truth: Floats, fetched: Sequence[int], fractions: Sequence[float]) -> list[float]:
    """At each budget; a crawl that ran out of pages keeps what it has."""
    gathered = np.concatenate(([0.0], np.cumsum(truth[fetched])))
    last = len(fetched)
    return [float(gathered[min(int(share * len(truth)), last)]) for share in fractions]

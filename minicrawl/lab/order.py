"""Which pages a budget is spent on: importance gathered against pages fetched, for every order.

A crawl starts from a few random pages and knows of a page only when it has read a page that links
to it. What is measured is the share of the true importance, that of the whole graph, which the
pages fetched so far hold together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.synthetic import SyntheticWeb
from minicrawl.lab.convergence import true_importance
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB, SMALL_EDGE
from minicrawl.lab.exploration import Exploration
from minicrawl.lab.strategies import Strategy
from minicrawl.opic.steps import visit
from minicrawl.progress import Progress

Floats = NDArray[np.float64]

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
SEEDS = 10

_FEWEST_LINKS = 5
"""A page that someone would choose as a seed links to that many others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """`mass[i]` of the importance lies on the first `fractions[i]` of all pages fetched."""

    order: str
    fractions: Sequence[float]
    mass: list[float]

    def as_json(self) -> dict[str, object]:
        return {"order": self.order, "fractions": list(self.fractions), "mass": self.mass}


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


def order(
    web: SyntheticWeb, *, orders: Sequence[str], crawls: Crawls, progress: Progress
) -> list[Curve]:
    """The curve of every order, the mean over the crawls."""
    truth = true_importance(web.graph, SMALL_EDGE)
    links = web.graph.adjacency()
    budget = int(max(crawls.fractions) * web.graph.nodes)
    curves = []
    for done, name in enumerate(orders):
        masses = []
        for draw in range(crawls.draws):
            crawl = Exploration(web, links, truth)
            crawl.start(draw_seeds(web, crawls.seed, draw), crawls.endowment)
            fetched = _fetch(crawl, OF_AN_UNKNOWN_WEB[name](crawl, crawls.seed + draw), budget)
            masses.append(_mass(truth, fetched, crawls.fractions))
            progress((done + (draw + 1) / crawls.draws) / len(orders))
        mean = np.mean(masses, axis=0).tolist()
        curves.append(Curve(order=name, fractions=crawls.fractions, mass=mean))
    return curves


def draw_seeds(web: SyntheticWeb, seed: int, draw: int) -> list[int]:
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

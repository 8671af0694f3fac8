"""Importance gathered against pages fetched, for every order of reading.

A crawl starts from a few random pages, and knows a page only after it has read a page that links to
it. The result is the share of the importance, computed on the whole graph, that lies on the pages
fetched so far.

The orders of a real crawl come from `crawl.schedule.orders`, with its own queues, so the product
itself is measured. Baselines from the literature are keys for the same queues.

Example: page 0 links to 1 and 2, page 1 to 2, page 2 to 3, and the true importance is .1, .2, .4,
.3. A crawl from page 0 reads it first; its cash of 1 goes in halves to 1 and 2.

    order           reads        importance after 1, 2, 3, 4 pages
    oracle          0, 2, 3, 1   .1  .5  .8  1     the best known page
    breadth-first   0, 1, 2, 3   .1  .3  .7  1
    opic            0, 1, 2, 3   .1  .3  .7  1     1 and 2 hold equal cash: the one found first

With 4 pages, a budget of 50 % is 2 pages: the oracle has gathered .5, the other orders .3.

Draws of seeds differ more than orders do. So two orders are compared draw by draw: a *gain* is the
mean of the differences, with their standard error.

A *polite* crawl has several requests in flight, at most one per host: the next request is for the
best page of an idle host. All requests take equally long, so they end in the order in which they
began, and links of a page are known only when its request ends. With one request at a time, hosts
do not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.orders import queue_of
from minicrawl.lab.exploration import Exploration, fetched
from minicrawl.lab.freshness import change_rates
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.page_values import PageValues
from minicrawl.lab.reading_orders import BY_VALUE, CRAWL_ORDERS
from minicrawl.lab.webs import Floats, Links, Web
from minicrawl.opic.importance.expected_value import WEIGHT
from minicrawl.opic.ledger.money import SMALL_EDGE
from minicrawl.ports import Progress, part

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
SEEDS = 10
CRAWL_DAYS = 30
"""Days in which all pages of a web could be fetched."""
BASELINE = "opic"
"""Order that the others are compared with."""
_FEWEST_LINKS = 5
"""Least number of links of a page that a person would choose as a seed."""


class DrawnMean(NamedTuple):
    """Mean over the draws at each budget, and its standard error; None with a single draw."""

    mean: list[float]
    error: list[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Importance gathered by an order, at each budget.

    `gathered.mean[i]` is the importance gathered once `fractions[i]` of all pages are fetched, or
    as many pages as an integer there says. `fresh` is the part of it on pages that have not changed
    since they were fetched, if pages change as in `lab freshness` and fetching all of them takes 30
    days. `gain` is the difference from the baseline with the same seeds, if the baseline ran as
    well. `value` is the share of the reachable value gathered, if pages have values.
    """

    order: str
    fractions: Sequence[float | int]
    gathered: DrawnMean
    fresh: DrawnMean | None = None
    value: DrawnMean | None = None
    gain: DrawnMean | None = None

    @property
    def mass(self) -> list[float]:
        return self.gathered.mean

    def to_json(self) -> dict[str, object]:
        numbers: dict[str, object] = {}
        for name in ("mass", "fresh", "value", "gain"):
            drawn: DrawnMean | None = self.gathered if name == "mass" else getattr(self, name)
            numbers |= {name: drawn and drawn.mean, f"{name}_error": drawn and drawn.error}
        return {"order": self.order, "fractions": list(self.fractions), **numbers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawls:
    """Settings of `draws` crawls, each from newly drawn seeds that share `endowment` units.

    An endowment assumes that a person chose the seeds: on real webs, it gains more importance than
    any other rule. Seeds of a synthetic web are random, so there it costs some importance at first.
    `at_once` is the number of requests in flight, one per host; with 1, hosts do not matter.
    `small_edge` is the share of a page's cash that goes to all pages equally.
    """

    draws: int
    seed: int
    endowment: int
    at_once: int = 1
    fractions: Sequence[float | int] = FRACTIONS
    small_edge: float = SMALL_EDGE


class Terrain(NamedTuple):
    """A web to crawl: links and importance of all pages, which may be more than the web's."""

    web: Web
    links: Links
    truth: Floats
    values: PageValues | None = None


class GatheredMass(NamedTuple):
    """Importance, fresh importance and value of the pages fetched, by draw and budget."""

    mass: Floats
    fresh: Floats
    value: Floats
    pages: list[NDArray[np.int64]]
    """Pages in the order of fetching, by draw."""


def order(
    web: Web,
    *,
    orders: Sequence[str],
    crawls: Crawls,
    values: PageValues | None = None,
    progress: Progress,
) -> list[Curve]:
    """Return the curve of each order: means over the crawls.

    If pages have `values`, `orders` may contain the order by value.
    """
    truth = true_importance(web.graph, crawls.small_edge)
    terrain = Terrain(web, list(web.graph.adjacency()), truth, values)
    results = {
        name: gather(
            terrain, name, crawls, part(progress, done / len(orders), (done + 1) / len(orders))
        )
        for done, name in enumerate(orders)
    }
    base = results.get(BASELINE)
    return [
        Curve(
            order=name,
            fractions=crawls.fractions,
            gathered=spread(here.mass),
            fresh=spread(here.fresh),
            value=spread(here.value) if here.value.size else None,
            gain=spread(here.mass - base.mass) if base and name != BASELINE else None,
        )
        for name, here in results.items()
    ]


def gather(terrain: Terrain, name: str, crawls: Crawls, progress: Progress) -> GatheredMass:
    """Run the crawls, and return their results at each budget."""
    nodes = terrain.web.graph.nodes
    budgets = [b if isinstance(b, int) else int(b * nodes) for b in crawls.fractions]
    rates = change_rates(len(terrain.links), crawls.seed) * (CRAWL_DAYS / nodes)
    values, masses, fresh, gathered_values, all_pages = terrain.values, [], [], [], []
    for draw in range(crawls.draws):
        crawl = Exploration(terrain.web, terrain.links, terrain.truth, crawls.small_edge)
        seeds = draw_seeds(terrain.web, crawls.seed, draw)
        crawl.start(seeds, crawls.endowment)
        if values is not None and name == BY_VALUE:
            crawl.judge_values(values)
            queue = queue_of(crawl, "siblings", value_weight=WEIGHT)
        elif name in CRAWL_ORDERS:
            queue = CRAWL_ORDERS[name](crawl, crawls.seed + draw)
        else:
            queue = queue_of(crawl, name)
        pages = np.array(fetched(crawl, queue, max(budgets), crawls.at_once), dtype=np.int64)
        masses.append(_sums(terrain.truth[pages], budgets))
        fresh.append(still_fresh(terrain.truth[pages], rates[pages], budgets))
        all_pages.append(pages)
        if values is not None:
            reachable = values.value[_reachable(terrain.links, seeds)].sum()
            gathered_values.append(_sums(values.value[pages], budgets) / max(reachable, 1e-9))
        progress((draw + 1) / crawls.draws)
    return GatheredMass(np.array(masses), np.array(fresh), np.array(gathered_values), all_pages)


def _reachable(links: Links, seeds: Sequence[int]) -> list[int]:
    reached, unread = set(seeds), list(seeds)
    while unread:
        new = [page for page in links[unread.pop()] if page not in reached]
        reached.update(new)
        unread += new
    return sorted(reached)


def still_fresh(importance: Floats, rates: Floats, budgets: Sequence[int]) -> Floats:
    """Return, for each budget, the expected importance of the pages unchanged since their fetch.

    The rates of change are those per fetch, in the order of fetching.
    """
    ages = (np.arange(min(budget, len(rates)), 0, -1) for budget in budgets)
    return np.array([importance[: len(a)] @ np.exp(-rates[: len(a)] * a) for a in ages])


def _sums(values: NDArray[Any], budgets: Sequence[int]) -> Floats:
    """Return the sum of the first values for each budget; beyond the last page, sums stay equal."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    return sums[np.minimum(budgets, len(values))]


def spread(draws: Floats) -> DrawnMean:
    """Return mean and standard error over the rows."""
    count = len(draws)
    error = draws.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else None
    return DrawnMean(draws.mean(axis=0).tolist(), None if error is None else error.tolist())


def draw_seeds(web: Web, seed: int, draw: int) -> list[int]:
    """Draw random pages with at least 5 links; if these are too few, take those with most links."""
    degrees = web.graph.out_degrees()
    suitable = np.flatnonzero(degrees >= _FEWEST_LINKS)
    if len(suitable) < SEEDS:
        suitable = np.argsort(-degrees, kind="stable")[:SEEDS]
    return Random(seed + draw).sample(suitable.tolist(), min(SEEDS, len(suitable)))

"""Importance that simulated nodes gather together, compared with one machine from the same seeds.

A real crawl is larger than any graph here. What matters for the order is the share of the crawl
that passes while cash is in transit, so a tick covers the same share of the real crawl as of the
graph. `Staleness` makes this translation.

agreement   of the importance on pages that one machine has read, the share on pages that the
            nodes have read as well
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.lab.exploration import Exploration, fetched
from minicrawl.lab.importance_curves import Crawls, DrawnMean, draw_seeds, spread
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.webs import Floats, Web
from minicrawl.ports import Progress, part
from tests.bench.cluster.estimated_traffic import (
    SIMULATED_SHARDS,
    RealCrawl,
    Traffic,
    traffic,
)
from tests.bench.cluster.simulated_nodes import ShardedCrawl, SimulatedNodes, SimulatedTraffic
from tests.bench.cluster.simulated_shard import owners

FEWEST_NODES = 8
TELL_S = 1.0
"""Interval at which shards report facts."""


class Staleness(NamedTuple):
    """Scale of a simulation with `nodes` nodes, for a real crawl."""

    nodes: int
    tick_s: float
    """Seconds of the real crawl per tick."""

    @classmethod
    def of(cls, crawl: RealCrawl, web_pages: int) -> Staleness:
        """Return the scale for a crawl, on a web of this size.

        Where possible, the number of nodes makes a tick as long as `TELL_S`.
        """
        pages_s = crawl.nodes * crawl.pace * web_pages / crawl.pages
        nodes = min(crawl.nodes, SIMULATED_SHARDS, max(FEWEST_NODES, round(TELL_S * pages_s)))
        return cls(nodes, nodes / pages_s)

    def simulated(self, crawl: RealCrawl, headroom: int) -> SimulatedNodes:
        """Return the settings of the simulation.

        A wait below half a tick counts as 0, but each batch takes a tick to arrive.
        """
        return SimulatedNodes(
            nodes=self.nodes,
            shards=SIMULATED_SHARDS,
            wait=round(crawl.wait_s / self.tick_s),
            tell=max(1, round(TELL_S / self.tick_s)),
            headroom=headroom,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPoint:
    """Result for one real crawl; shares are given at each budget."""

    crawl: RealCrawl
    tick_s: float
    fractions: Sequence[float]
    one_machine: DrawnMean
    mass: DrawnMean
    agreement: DrawnMean
    idle: float
    """Share of the nodes' turns in which they read no page."""
    under_way: float
    """Mean share of all cash that was in outboxes and batches."""
    traffic: Traffic

    def to_json(self) -> dict[str, object]:
        spreads = {name: getattr(self, name) for name in ("one_machine", "mass", "agreement")}
        return asdict(self) | {name: found._asdict() for name, found in spreads.items()}


class _Run(NamedTuple):
    mass: list[float]
    agreement: list[float]
    fetched: int
    traffic: SimulatedTraffic


def cluster_points(
    web: Web,
    *,
    crawls: Crawls,
    wanted: Sequence[RealCrawl],
    site_pages: int,
    headroom: int,
    progress: Progress,
) -> list[ClusterPoint]:
    """Return a result for each wanted crawl, as means over the draws.

    If hosts are unknown, `site_pages` consecutive pages form a site.
    """
    course = _Course(web, crawls, site_pages, headroom)
    points = []
    for place, real in enumerate(wanted):
        tell = part(progress, place / len(wanted), (place + 1) / len(wanted))
        points.append(course.point(real, tell))
    return points


class _Course:
    """A web, with the crawls of one machine from each draw of seeds."""

    def __init__(self, web: Web, crawls: Crawls, site_pages: int, headroom: int) -> None:
        self._crawls, self._headroom = crawls, headroom
        self._owner_of = owners(web, SIMULATED_SHARDS, site_pages)
        self._truth = true_importance(web.graph, crawls.small_edge)
        self._links = list(web.graph.adjacency())
        self._budgets = [int(share * len(self._links)) for share in crawls.fractions]
        self._seeds = [draw_seeds(web, crawls.seed, draw) for draw in range(crawls.draws)]
        self._runs: dict[SimulatedNodes, list[_Run]] = {}
        self._alone = [self._on_one_machine(web, seeds) for seeds in self._seeds]

    def point(self, real: RealCrawl, progress: Progress) -> ClusterPoint:
        """Simulate nodes that correspond to the real crawl."""
        staleness = Staleness.of(real, len(self._links))
        settings = staleness.simulated(real, self._headroom)
        if settings not in self._runs:
            self._runs[settings] = list(self._simulate(settings, progress))
        base = np.array([self._masses(fetched) for fetched in self._alone])
        return _point(real, staleness, self._crawls, base, self._runs[settings])

    def _simulate(self, settings: SimulatedNodes, progress: Progress) -> Iterator[_Run]:
        for draw, seeds in enumerate(self._seeds):
            crawl = ShardedCrawl(self._links, self._owner_of, self._crawls.small_edge, settings)
            crawl.start(seeds, self._crawls.endowment)
            crawl.fetch(max(self._budgets))
            yield self._run(crawl, self._alone[draw])
            progress((draw + 1) / len(self._seeds))

    def _on_one_machine(self, web: Web, seeds: Sequence[int]) -> list[int]:
        crawl = Exploration(web, self._links, self._truth, self._crawls.small_edge)
        crawl.start(seeds, self._crawls.endowment)
        return fetched(crawl, ORDERS["greedy"](crawl), max(self._budgets))

    def _run(self, crawl: ShardedCrawl, alone: Sequence[int]) -> _Run:
        agreed = [self._agreement(alone[:end], crawl.fetched[:end]) for end in self._budgets]
        return _Run(self._masses(crawl.fetched), agreed, len(crawl.fetched), crawl.traffic)

    def _masses(self, fetched: Sequence[int]) -> list[float]:
        return [float(self._truth[list(fetched[:end])].sum()) for end in self._budgets]

    def _agreement(self, alone: Sequence[int], together: Sequence[int]) -> float:
        both = np.intersect1d(alone, together)
        return float(self._truth[both].sum() / self._truth[list(alone)].sum())


def _point(
    real: RealCrawl, staleness: Staleness, crawls: Crawls, base: Floats, runs: Sequence[_Run]
) -> ClusterPoint:
    counted, fetched = [run.traffic for run in runs], sum(run.fetched for run in runs)
    turns = fetched + sum(one.idle for one in counted)
    return ClusterPoint(
        crawl=real,
        tick_s=staleness.tick_s,
        fractions=crawls.fractions,
        one_machine=spread(base),
        mass=spread(np.array([run.mass for run in runs])),
        agreement=spread(np.array([run.agreement for run in runs])),
        idle=sum(one.idle for one in counted) / turns,
        under_way=sum(one.under_way for one in counted) / sum(one.looks for one in counted),
        traffic=traffic(real, sum(one.transfers for one in counted) / fetched),
    )

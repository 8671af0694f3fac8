"""The importance that nodes gather together, beside one machine from the same seeds.

A real crawl is larger than any graph here. So a simulated tick stands for as much of the crawl as
it is of the graph: what matters for the order is which part of the crawl goes by while cash is on
its way. `Staleness` is that translation.

agreement   of the importance on the pages that one machine reads, the part that is on pages that
            the nodes have read as well
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.lab.cluster.simulation import ShardedCrawl, SimulatedNodes, SimulatedTraffic
from minicrawl.lab.cluster.traffic import RealCrawl, Traffic, traffic
from minicrawl.lab.cluster.web import owners
from minicrawl.lab.convergence import true_importance
from minicrawl.lab.exploration import Exploration
from minicrawl.lab.order import Crawls, DrawnMean, PoliteCrawl, draw_seeds, spread
from minicrawl.lab.strategies import Greedy
from minicrawl.lab.webs import Web
from minicrawl.progress import Progress, part
from minicrawl.shards.owners import SHARDS

Floats = NDArray[np.float64]

FEWEST_NODES = 8
TELL_S = 1.0
"""Shards tell their sums and sketches so often."""


class Staleness(NamedTuple):
    """How a real crawl looks in a simulation of `nodes` nodes."""

    nodes: int
    tick_s: float
    """Seconds of the real crawl that a tick stands for."""

    @classmethod
    def of(cls, crawl: RealCrawl, web_pages: int) -> "Staleness":
        """As many nodes as make a tick as long as the time between two tellings, if that can be."""
        a_second = crawl.nodes * crawl.pace * web_pages / crawl.pages
        nodes = min(crawl.nodes, SHARDS, max(FEWEST_NODES, round(TELL_S * a_second)))
        return cls(nodes, nodes / a_second)

    def simulated(self, crawl: RealCrawl, headroom: int) -> SimulatedNodes:
        """Times of less than a tick count as none, but a batch always takes a tick to come."""
        return SimulatedNodes(
            nodes=self.nodes,
            shards=SHARDS,
            wait=round(crawl.wait_s / self.tick_s),
            tell=max(1, round(TELL_S / self.tick_s)),
            headroom=headroom,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPoint:
    """What was found for one real crawl; shares, at each budget."""

    crawl: RealCrawl
    tick_s: float
    fractions: Sequence[float]
    one_machine: DrawnMean
    mass: DrawnMean
    agreement: DrawnMean
    idle: float
    """The part of the turns of nodes that were idle, as their pages were below the level."""
    under_way: float
    """The part of all cash that was in outboxes and batches, on average."""
    traffic: Traffic

    def as_json(self) -> dict[str, object]:
        spreads = {name: getattr(self, name) for name in ("one_machine", "mass", "agreement")}
        return asdict(self) | {name: found._asdict() for name, found in spreads.items()}


class Sharding(NamedTuple):
    """Where no hosts are known, so many pages in a row are a site; `headroom` is as simulated."""

    site_pages: int
    headroom: int


class _Run(NamedTuple):
    mass: list[float]
    agreement: list[float]
    fetched: int
    traffic: SimulatedTraffic


def cluster(
    web: Web,
    *,
    crawls: Crawls,
    wanted: Sequence[RealCrawl],
    sharding: Sharding,
    progress: Progress,
) -> list[ClusterPoint]:
    """A point for each crawl that is wanted, the mean over the draws."""
    course = _Course(web, crawls, sharding)
    points = []
    for place, real in enumerate(wanted):
        tell = part(progress, place / len(wanted), (place + 1) / len(wanted))
        points.append(course.point(real, tell))
    return points


class _Course:
    """A web with the crawls of one machine, from each draw of seeds."""

    def __init__(self, web: Web, crawls: Crawls, sharding: Sharding) -> None:
        self._crawls, self._headroom = crawls, sharding.headroom
        self._owner_of = owners(web, SHARDS, sharding.site_pages)
        self._truth = true_importance(web.graph, crawls.small_edge)
        self._links = list(web.graph.adjacency())
        self._budgets = [int(share * len(self._links)) for share in crawls.fractions]
        self._seeds = [draw_seeds(web, crawls.seed, draw) for draw in range(crawls.draws)]
        self._runs: dict[SimulatedNodes, list[_Run]] = {}
        self._alone = [self._on_one_machine(web, seeds) for seeds in self._seeds]

    def point(self, real: RealCrawl, progress: Progress) -> ClusterPoint:
        """What nodes find that are as many and as quick as those of the real crawl."""
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
        return PoliteCrawl(crawl, Greedy(crawl.ledger)).fetch(max(self._budgets))

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

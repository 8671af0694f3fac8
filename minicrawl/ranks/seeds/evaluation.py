"""How good seeds are: how far apart their cores lie, and what crawls from them read how soon.

Laws: a crawl goes breadth first along all links, so that a page is read on the depth that is its
distance from the nearest seed. What several crawls read on a depth is the mean of their pages, and
the mean importance of what all of them read there together. Distances between cores are those of
two different ones between which a path leads, in its direction.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import UNREACHED, Nodes, levels
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.scores import Floats
from minicrawl.ranks.seeds.cores import Core


class DepthCoverage(NamedTuple):
    """What crawls read on one depth."""

    pages: float = 0.0
    importance: float | None = None
    """The mean of the pages, where there were any."""


class Depth(NamedTuple):
    """One depth of a crawl from the seeds, and of crawls from as many random pages."""

    seeds: DepthCoverage
    random: DepthCoverage


def between_cores(
    graph: Csr, cores: Sequence[Core], tell: Progress = unreported
) -> NDArray[np.int32]:
    """[i, j] is the length of the shortest path from any page of core i to any page of core j."""
    pages = [[*core.hubs, *core.authorities] for core in cores]
    rows = []
    for sources in pages:
        rows.append(_nearest(levels(graph, sources), pages))
        tell(len(rows) / len(pages))
    return np.array(rows, dtype=np.int32).reshape(len(pages), len(pages))


class CoreDistances(NamedTuple):
    """The distances between cores in short."""

    smallest: int
    mean: float
    largest: int


def in_short(distances: NDArray[np.int32]) -> CoreDistances | None:
    """Of the distances that `between_cores` found; None where no path leads."""
    found = distances[distances > 0]
    if not found.size:
        return None
    return CoreDistances(int(found.min()), float(found.mean()), int(found.max()))


class DegreeCounts(NamedTuple):
    """How many pages have each degree; degrees that no page has are left out."""

    degrees: NDArray[np.intp]
    pages: NDArray[np.intp]


def distribution(degrees: NDArray[np.integer]) -> DegreeCounts:
    """Of all degrees above 0, which logarithms have a place for."""
    pages = np.bincount(degrees)
    found = np.flatnonzero(pages)
    found = found[found > 0]
    return DegreeCounts(found, pages[found])


def compared(
    graph: Csr,
    importance: Floats,
    seeds: Nodes,
    rng: Generator,
    *,
    draws: int,
    tell: Progress = unreported,
) -> list[Depth]:
    """Depth by depth; so many times random pages are drawn, any of the graph."""
    crawls = [_crawl(graph, importance, seeds)]
    for _ in range(draws):
        tell(len(crawls) / (draws + 1))
        drawn = rng.choice(graph.nodes, size=len(seeds), replace=False)
        crawls.append(_crawl(graph, importance, drawn))
    tell(1.0)
    by_depth = zip_longest(*crawls, fillvalue=_Sum(0, 0.0))
    return [Depth(_mean(sums[:1]), _mean(sums[1:])) for sums in by_depth]


class _Sum(NamedTuple):
    """The pages that one crawl read on one depth, and what they are worth together."""

    pages: int
    importance: float


def _nearest(level: NDArray[np.int32], cores: Sequence[Sequence[int]]) -> list[int]:
    # Without a sign UNREACHED is further away than any.
    return [int(level[core].view(np.uint32).min().view(np.int32)) for core in cores]


def _crawl(graph: Csr, importance: Floats, seeds: Nodes) -> list[_Sum]:
    level = levels(graph, seeds)
    is_read = level != UNREACHED
    pages = np.bincount(level[is_read])
    worth = np.bincount(level[is_read], weights=importance[is_read])
    return list(map(_Sum, pages.tolist(), worth.tolist()))


def _mean(sums: Sequence[_Sum]) -> DepthCoverage:
    pages = sum(one.pages for one in sums)
    if not pages:
        return DepthCoverage()
    return DepthCoverage(pages / len(sums), sum(one.importance for one in sums) / pages)

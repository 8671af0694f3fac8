"""How good seeds are: how far apart their cores lie, and what crawls from them read how soon.

Laws: a crawl goes breadth first along all links, so that a page is read on the depth that is its
distance from the nearest seed. What several crawls read on a depth is the mean of their pages, and
the mean importance of what all of them read there together. Depths of two crawls are not alike: the
one that is wider there has read more, also of less importance. So both are compared after as many
pages, too; a crawl that has come to its end by then keeps what it gathered. Distances between cores
are those of two different ones between which a path leads, in its direction.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Nodes, fronts, levels
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


class EqualPages(NamedTuple):
    """The share of all importance that crawls have gathered after as many pages."""

    pages: int
    seeds: float
    random: float
    random_error: float | None
    """The standard error of `random`; None if there was one draw."""


class CrawlComparison(NamedTuple):
    """A crawl from the seeds beside crawls from as many random pages."""

    depths: list[Depth]
    after: list[EqualPages]


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
) -> CrawlComparison:
    """So many times random pages are drawn, any of the graph."""
    marks = _marks(len(seeds), graph.nodes)
    crawls = [_crawl(graph, importance, seeds, marks)]
    for _ in range(draws):
        tell(len(crawls) / (draws + 1))
        drawn = rng.choice(graph.nodes, size=len(seeds), replace=False)
        crawls.append(_crawl(graph, importance, drawn, marks))
    tell(1.0)
    by_depth = zip_longest(*(crawl.depths for crawl in crawls), fillvalue=_Sum(0, 0.0))
    depths = [Depth(_mean(sums[:1]), _mean(sums[1:])) for sums in by_depth]
    return CrawlComparison(depths, _after(marks, crawls))


class _Sum(NamedTuple):
    """The pages that one crawl read on one depth, and what they are worth together."""

    pages: int
    importance: float


class _Crawl(NamedTuple):
    """What one crawl read, depth by depth, and what it had gathered after so many pages each."""

    depths: list[_Sum]
    gathered: Floats
    pages: int


def _nearest(level: NDArray[np.int32], cores: Sequence[Sequence[int]]) -> list[int]:
    # Without a sign UNREACHED is further away than any.
    return [int(level[core].view(np.uint32).min().view(np.int32)) for core in cores]


def _marks(first: int, last: int) -> NDArray[np.int64]:
    """The numbers of pages after which crawls are compared: 1, 2, 5, 10, ... above the seeds."""
    steps = [count * 10**power for power in range(len(str(last))) for count in (1, 2, 5)]
    return np.array([count for count in steps if first < count < last] + [last] * (last > 0))


def _crawl(graph: Csr, importance: Floats, seeds: Nodes, marks: NDArray[np.int64]) -> _Crawl:
    read = list(fronts(graph, seeds))
    sums = [_Sum(len(pages), float(importance[pages].sum())) for pages in read]
    in_order = importance[np.concatenate(read)] if read else np.zeros(0)
    so_far = np.concatenate(([0.0], np.cumsum(in_order)))
    return _Crawl(sums, so_far[np.minimum(marks, len(in_order))], len(in_order))


def _after(marks: NDArray[np.int64], crawls: Sequence[_Crawl]) -> list[EqualPages]:
    """Up to where the longest crawl has come to its end."""
    first, *others = crawls
    most = max((crawl.pages for crawl in crawls), default=0)
    shown = int(np.searchsorted(marks, most)) + 1
    random = np.array([crawl.gathered for crawl in others])
    errors = random.std(axis=0, ddof=1) / len(random) ** 0.5 if len(random) > 1 else None
    return [
        EqualPages(
            pages=int(min(marks[place], most)),
            seeds=float(first.gathered[place]),
            random=float(random[:, place].mean()),
            random_error=None if errors is None else float(errors[place]),
        )
        for place in range(min(shown, len(marks)))
    ]


def _mean(sums: Sequence[_Sum]) -> DepthCoverage:
    pages = sum(one.pages for one in sums)
    if not pages:
        return DepthCoverage()
    return DepthCoverage(pages / len(sums), sum(one.importance for one in sums) / pages)

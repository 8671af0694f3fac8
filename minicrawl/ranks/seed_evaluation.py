"""Seeds are judged by the distances between their cores, and by how fast crawls gather importance.

A crawl is breadth-first along all links, so a page's depth is its distance from the nearest seed.
Over several crawls, a depth has the mean number of pages, and the mean importance of all pages
that the crawls read there. Equal depths of two crawls are not comparable: the crawl that is wider
at a depth has also read more unimportant pages. So crawls are compared after equal numbers of
pages, too; a crawl that has ended keeps what it gathered. The distance from one core to another
is the length of the shortest path in this direction; pairs without a path are left out.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Nodes, fronts, levels
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.cores import Core
from minicrawl.ranks.scores import Floats


class DepthCoverage(NamedTuple):
    """Mean number of pages that crawls read at one depth, and their importance."""

    pages: float = 0.0
    importance: float | None = None
    """Mean importance of the pages, None without pages."""


class Depth(NamedTuple):
    """Coverage of one depth by the crawl from the seeds, and by crawls from random pages."""

    seeds: DepthCoverage
    random: DepthCoverage


class EqualPages(NamedTuple):
    """Shares of all importance that crawls have gathered after the same number of pages."""

    pages: int
    seeds: float
    random: float
    random_error: float | None
    """Standard error of `random`; None with a single draw."""


class CrawlComparison(NamedTuple):
    """A crawl from the seeds, and crawls from as many random pages."""

    depths: list[Depth]
    after: list[EqualPages]


def between_cores(
    graph: Csr, cores: Sequence[Core], tell: Progress = unreported
) -> NDArray[np.int32]:
    """Return the shortest distances [i, j] from any page of core i to any page of core j."""
    pages = [[*core.hubs, *core.authorities] for core in cores]
    rows = []
    for sources in pages:
        rows.append(_nearest(levels(graph, sources), pages))
        tell(len(rows) / len(pages))
    return np.array(rows, dtype=np.int32).reshape(len(pages), len(pages))


class CoreDistances(NamedTuple):
    """Summary of the distances between cores."""

    smallest: int
    mean: float
    largest: int


def summary_of(distances: NDArray[np.int32]) -> CoreDistances | None:
    """Summarise the result of `between_cores`; None if no core reaches another."""
    found = distances[distances > 0]
    if not found.size:
        return None
    return CoreDistances(int(found.min()), float(found.mean()), int(found.max()))


class DegreeCounts(NamedTuple):
    """Degrees above 0 that occur, and the number of pages with each."""

    degrees: NDArray[np.intp]
    pages: NDArray[np.intp]


def distribution(degrees: NDArray[np.integer]) -> DegreeCounts:
    """Return the distribution of degrees, without 0: 0 has no place on a logarithmic axis."""
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
    """Compare a crawl from the seeds with `draws` crawls from random pages."""
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
    """Number and total importance of the pages that one crawl read at one depth."""

    pages: int
    importance: float


class _Crawl(NamedTuple):
    """One crawl: its depths, and the importance gathered at each mark."""

    depths: list[_Sum]
    gathered: Floats
    pages: int


def _nearest(level: NDArray[np.int32], cores: Sequence[Sequence[int]]) -> list[int]:
    # As unsigned numbers, UNREACHED is farther than any distance.
    return [int(level[core].view(np.uint32).min().view(np.int32)) for core in cores]


def _marks(first: int, last: int) -> NDArray[np.int64]:
    """Return the page counts to compare at: 1, 2, 5, 10, ... above `first`, and `last`."""
    steps = [count * 10**power for power in range(len(str(last))) for count in (1, 2, 5)]
    return np.array([count for count in steps if first < count < last] + [last] * (last > 0))


def _crawl(graph: Csr, importance: Floats, seeds: Nodes, marks: NDArray[np.int64]) -> _Crawl:
    read = list(fronts(graph, seeds))
    sums = [_Sum(len(pages), float(importance[pages].sum())) for pages in read]
    in_order = importance[np.concatenate(read)] if read else np.zeros(0)
    so_far = np.concatenate(([0.0], np.cumsum(in_order)))
    return _Crawl(sums, so_far[np.minimum(marks, len(in_order))], len(in_order))


def _after(marks: NDArray[np.int64], crawls: Sequence[_Crawl]) -> list[EqualPages]:
    """Return the comparisons at all marks, up to the end of the longest crawl."""
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

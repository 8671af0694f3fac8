"""Comparison of seed sets: distances between their cores, and how fast crawls gather importance.

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
from minicrawl.ranks.scores import Floats
from minicrawl.ranks.seeds.cores import Core


class Depth(NamedTuple):
    """Mean number of pages that crawls read at one depth, and their mean importance, if any."""

    pages: float
    mean_pagerank: float | None
    random_pages: float
    """By crawls from random pages."""
    random_mean_pagerank: float | None


class EqualPages(NamedTuple):
    """Shares of all importance that crawls have gathered after the same number of pages."""

    pages: int
    pagerank: float
    random_pagerank: float
    random_error: float | None
    """Standard error of `random_pagerank`; None with a single draw."""


def between_cores(
    graph: Csr, cores: Sequence[Core], tell: Progress = unreported
) -> NDArray[np.int32]:
    """Return the shortest distances [i, j] from any page of core i to any page of core j."""
    pages = [[*core.hubs, *core.authorities] for core in cores]
    rows = []
    for sources in pages:
        level = levels(graph, sources)
        # As unsigned numbers, UNREACHED is farther than any distance.
        rows.append([level[core].view(np.uint32).min().view(np.int32) for core in pages])
        tell(len(rows) / len(pages))
    return np.array(rows, dtype=np.int32).reshape(len(pages), len(pages))


def summary_of(distances: NDArray[np.int32]) -> tuple[int, float, int] | tuple[None, None, None]:
    """Return the least, mean and greatest distance between cores that reach each other."""
    paths = distances[distances > 0]
    if not paths.size:
        return None, None, None
    return int(paths.min()), float(paths.mean()), int(paths.max())


def compared(
    graph: Csr,
    importance: Floats,
    seeds: Nodes,
    rng: Generator,
    *,
    draws: int,
    tell: Progress = unreported,
) -> tuple[list[Depth], list[EqualPages]]:
    """Compare a crawl from the seeds with `draws` crawls from random pages.

    Return the coverage of each depth, and the shares gathered after equal numbers of pages.
    """
    # Crawls are compared after 1, 2, 5, 10, ... pages, and after all.
    steps = [count * 10**power for power in range(len(str(graph.nodes))) for count in (1, 2, 5)]
    marks = [mark for mark in steps if len(seeds) < mark < graph.nodes]
    marks += [graph.nodes] * (graph.nodes > 0)
    sums, gathered = list[list[tuple[int, float]]](), list[Floats]()
    for crawl in range(draws + 1):
        tell(crawl / (draws + 1))
        starts = rng.choice(graph.nodes, size=len(seeds), replace=False) if crawl else seeds
        read = list(fronts(graph, starts))
        sums.append([(len(pages), float(importance[pages].sum())) for pages in read])
        in_order = importance[np.concatenate(read)] if read else np.zeros(0)
        totals = np.concatenate(([0.0], np.cumsum(in_order)))
        gathered.append(totals[np.minimum(np.array(marks, dtype=np.int64), len(in_order))])
    tell(1.0)
    depths = [
        Depth(*_mean(of_depth[:1]), *_mean(of_depth[1:]))
        for of_depth in zip_longest(*sums, fillvalue=(0, 0.0))
    ]
    most = max(sum(pages for pages, _ in of_crawl) for of_crawl in sums)
    random = np.array(gathered[1:])
    errors = random.std(axis=0, ddof=1) / len(random) ** 0.5 if len(random) > 1 else None
    after = [
        EqualPages(
            pages=min(mark, most),
            pagerank=float(gathered[0][place]),
            random_pagerank=float(random[:, place].mean()),
            random_error=None if errors is None else float(errors[place]),
        )
        for place, mark in enumerate(marks)
        if not place or marks[place - 1] < most
    ]
    return depths, after


def _mean(sums: Sequence[tuple[int, float]]) -> tuple[float, float | None]:
    """Return the mean number of pages, and their mean importance, from those sums of crawls."""
    pages, importance = (sum(column) for column in zip(*sums, strict=True))
    return pages / len(sums), importance / pages if pages else None

"""How many links lie between nodes, and how far apart the nodes of a graph are.

Laws: the *level* of a node is the number of links on the shortest directed path to it from the
nearest source. Sources are on level 0; a node that no path leads to is UNREACHED. The work is one
look at every link that leaves a reached node, however many levels there are.

The *extent* of a graph is the longest of all shortest paths (its diameter) and their mean. Only
pairs of different nodes of which the first reaches the second count.

exact    Looks at all pairs, by breadth-first searches from 512 nodes at once: a node keeps a bit
         for each source, and in a round its bits go along all its links. So a round costs 64 bytes
         a link.
sampled  Looks at the paths from some nodes drawn at random, and for the diameter walks to and fro:
         from a node to one that is as far as any, from there against the links, and so on while
         the path grows longer. The diameter is a lower bound.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.progress import Progress, unreported

UNREACHED = -1

Nodes = Sequence[int] | NDArray[np.integer]
Bits = NDArray[np.uint64]

_WORDS = 8
_SOURCES = 64 * _WORDS
_LINKS_AT_ONCE = 1 << 18
_ONES = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)


def fronts(graph: Csr, sources: Nodes) -> Iterator[NDArray[np.integer]]:
    """The nodes on each level, from the sources on, each node once."""
    is_met = np.zeros(graph.nodes, dtype=np.bool_)
    # Where a node stands last in a list of finds: so each is kept once, without sorting the finds.
    place = np.empty(graph.nodes, dtype=np.int64)
    found: NDArray[np.integer] = np.asarray(sources, dtype=np.int64)
    while found.size:
        is_met[found] = True
        order = np.arange(len(found))
        place[found] = order
        found = found[place[found] == order]
        yield found
        found = linked_from(graph, found)
        found = found[~is_met[found]]


def levels(graph: Csr, sources: Nodes) -> NDArray[np.int32]:
    """The level of every node."""
    level = np.full(graph.nodes, UNREACHED, dtype=np.int32)
    for depth, found in enumerate(fronts(graph, sources)):
        level[found] = depth
    return level


def linked_from(graph: Csr, pages: NDArray[np.integer]) -> NDArray[np.int32]:
    """The targets of all links that leave these pages, page after page."""
    starts = graph.starts[pages]
    counts = graph.starts[pages + 1] - starts
    ends = np.cumsum(counts)
    positions = np.repeat(starts - ends + counts, counts)
    positions += np.arange(len(positions))
    targets: NDArray[np.int32] = graph.targets[positions]
    return targets


class Extent(NamedTuple):
    """What was found of the pairs of which the first reaches the second."""

    diameter: int
    mean_distance: float | None
    """None where there is no such pair."""
    pairs: int
    is_exact: bool


def exact_work(graph: Csr) -> int:
    """What `exact` has to do in one round, in links that it looks at."""
    return -(-graph.nodes // _SOURCES) * graph.edges


def exact(graph: Csr, tell: Progress = unreported) -> Extent:
    """By the paths from all pages."""
    back = graph.reversed()
    longest = total = pairs = 0
    for first in range(0, graph.nodes, _SOURCES):
        sources = np.arange(first, min(first + _SOURCES, graph.nodes))
        found = _pairs_by_distance(back, sources)
        longest = max(longest, len(found))
        total += sum(distance * count for distance, count in enumerate(found, start=1))
        pairs += sum(found)
        tell(float(sources[-1] + 1) / graph.nodes)
    return Extent(longest, total / pairs if pairs else None, pairs, is_exact=True)


def sampled(graph: Csr, rng: Generator, sources: int = 64, tell: Progress = unreported) -> Extent:
    """By the paths from so many pages that link to some other."""
    starting = np.flatnonzero(graph.out_degrees())
    chosen = rng.choice(starting, size=min(sources, len(starting)), replace=False)
    longest = total = pairs = 0
    farthest = int(chosen[0]) if len(chosen) else 0
    for done, page in enumerate(chosen.tolist(), start=1):
        level = levels(graph, [page])
        reached = level[level > 0].astype(np.int64)
        total, pairs = total + int(reached.sum()), pairs + len(reached)
        if level.max() > longest:
            longest, farthest = int(level.max()), page
        tell(done / len(chosen))
    longest = max(longest, _to_and_fro(graph, farthest)) if longest else longest
    return Extent(longest, total / pairs if pairs else None, pairs, is_exact=False)


def _to_and_fro(graph: Csr, page: int) -> int:
    """The longest of the shortest paths met on walks that begin at this page."""
    forth, back, longest = graph, graph.reversed(), 0
    while (level := levels(forth, [page])).max() > longest:
        longest, page = int(level.max()), int(level.argmax())
        forth, back = back, forth
    return longest


def _pairs_by_distance(back: Csr, sources: NDArray[np.int64]) -> list[int]:
    """How many pages lie 1, 2, ... links away, summed over the sources; `back` has the in-links."""
    heard = np.zeros((back.nodes, _WORDS), dtype=np.uint64)
    places = np.arange(len(sources), dtype=np.uint64)
    heard[sources, places // 64] = np.uint64(1) << places % 64
    news, counts = heard.copy(), list[int]()
    while True:
        news = _gathered(back, news)
        news &= ~heard
        if not (count := int(_ONES[news.view(np.uint8)].sum(dtype=np.int64))):
            return counts
        counts.append(count)
        heard |= news


def _gathered(back: Csr, news: Bits) -> Bits:
    """What each page hears from all that link to it."""
    heard = np.zeros_like(news)
    for pages in _shares_of_work(back):
        start, stop = back.starts[pages[0]], back.starts[pages[-1] + 1]
        said = news[back.targets[start:stop]]
        heard[pages] = np.bitwise_or.reduceat(said, back.starts[pages] - start, axis=0)
    return heard


def _shares_of_work(back: Csr) -> Iterator[NDArray[np.int64]]:
    """The pages that are linked to, as many at a time as memory is spent on."""
    linked = np.flatnonzero(np.diff(back.starts))
    cuts = np.searchsorted(
        back.starts[linked], np.arange(_LINKS_AT_ONCE, back.edges, _LINKS_AT_ONCE)
    )
    return filter(len, np.split(linked, cuts))

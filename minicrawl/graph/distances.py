"""How many links lie between nodes, and how far apart the nodes of a graph are.

Laws: the *level* of a node is the number of links on the shortest directed path to it from the
nearest source. Sources are on level 0; a node that no path leads to is UNREACHED. The work is one
look at every link that leaves a reached node, however many levels there are.

The *extent* of a graph is the longest of all shortest paths (its diameter) and their mean. Only
pairs of different nodes of which the first reaches the second count.

exact    Looks at all pairs, by breadth-first searches from 512 nodes at once: a node keeps a bit
         for each source, and in a round its bits go along all its links. So a round costs 64 bytes
         a link.
sampled  Looks at the paths from some nodes drawn at random, by searches from 64 at once. For the
         diameter it walks to and fro: against the links from a node that was reached last to one
         that is as far as any, from there along the links, and so on while the path grows longer.
         The diameter is a lower bound. The mean is a ratio of sums over the sources, whose standard
         error comes from how groups of eight of them differ.
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

Counts = NDArray[np.int64]

SAMPLE = 256
"""Sources of a sample. More than some hundred hardly change the mean."""
_WORDS = 8
_WORD = 64
_SOURCES = _WORD * _WORDS
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
    error: float = 0.0
    """The standard error of the mean distance."""
    by_hyperball: bool = False
    """It is an estimate of all pairs, and not of the paths from some nodes."""


def exact_work(graph: Csr) -> int:
    """What `exact` has to do in one round, in links that it looks at."""
    return -(-graph.nodes // _SOURCES) * graph.edges


def exact(graph: Csr, tell: Progress = unreported) -> Extent:
    """By the paths from all pages."""
    back = graph.reversed()
    longest = total = pairs = 0
    for first in range(0, graph.nodes, _SOURCES):
        sources = np.arange(first, min(first + _SOURCES, graph.nodes))
        found = _search(back, sources, _WORDS)
        longest = max(longest, found.depth)
        total += int(found.totals.sum())
        pairs += int(found.pairs.sum())
        tell(float(sources[-1] + 1) / graph.nodes)
    return Extent(longest, total / pairs if pairs else None, pairs, is_exact=True)


def sampled(
    graph: Csr, rng: Generator, sources: int = SAMPLE, tell: Progress = unreported
) -> Extent:
    """By the paths from so many pages that link to some other."""
    starting = np.flatnonzero(graph.out_degrees())
    chosen = rng.choice(starting, size=min(sources, len(starting)), replace=False)
    back, searches = graph.reversed(), list[_Search]()
    for first in range(0, len(chosen), _WORD):
        searches.append(_search(back, np.sort(chosen[first : first + _WORD]), 1))
        tell(min(1.0, (first + _WORD) / len(chosen)))
    if not any(search.depth for search in searches):
        return Extent(0, None, 0, is_exact=False)
    longest = max(_to_and_fro(back, graph, search.last) for search in searches)
    totals = np.concatenate([search.totals for search in searches])
    pairs = np.concatenate([search.pairs for search in searches])
    mean = float(totals.sum() / pairs.sum())
    left = 1 - len(chosen) / len(starting)
    error = _ratio_error(totals, pairs) * left**0.5
    return Extent(longest, mean, int(pairs.sum()), is_exact=False, error=error)


def _ratio_error(totals: Counts, pairs: Counts) -> float:
    """The standard error of the ratio of two sums over groups that were drawn at random."""
    drawn = np.flatnonzero(pairs)
    ratio = totals.sum() / pairs.sum()
    apart = ((totals[drawn] - ratio * pairs[drawn]) ** 2).sum()
    return float(np.sqrt(apart * len(drawn) / max(1, len(drawn) - 1)) / pairs.sum())


def _to_and_fro(graph: Csr, back: Csr, page: int) -> int:
    """The longest of the shortest paths met on walks that begin at this page."""
    forth, longest = graph, 0
    while (level := levels(forth, [page])).max() > longest:
        longest, page = int(level.max()), int(level.argmax())
        forth, back = back, forth
    return longest


class _Search(NamedTuple):
    """What a search from many sources found. Sources are in groups of eight: a byte of the bits."""

    depth: int
    """The longest distance."""
    pairs: Counts
    """The pairs of a source and another page that it reaches, by group."""
    totals: Counts
    """The distances of these pairs, added up."""
    last: int
    """One of the pages that were reached last."""


def _search(back: Csr, sources: NDArray[np.int64], words: int) -> _Search:
    """From up to 64 sources a word, at once; `back` has the in-links."""
    heard = np.zeros((back.nodes, words), dtype=np.uint64)
    places = np.arange(len(sources), dtype=np.uint64)
    heard[sources, places // _WORD] = np.uint64(1) << places % _WORD
    pairs, totals = np.zeros((2, 8 * words), dtype=np.int64)
    news, depth, last = heard.copy(), 0, 0
    while True:
        news = _gathered(back, news)
        news &= ~heard
        counts = _ONES[news.view(np.uint8)].sum(axis=0, dtype=np.int64)
        if not counts.any():
            return _Search(depth, pairs, totals, last)
        depth += 1
        pairs += counts
        totals += depth * counts
        last = int(news.any(axis=1).argmax())
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

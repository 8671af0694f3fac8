"""Communities: groups of hubs and authorities that HITS finds beside the largest one.

deflation    The n-th community by the n-th eigenvectors of AᵀA and AAᵀ, at right angles to all
             before. From the second on they have entries of either sign: two communities, which
             avoid each other's links (Kleinberg, 1998).
destroying   The first community of what is left when all links to the largest authorities of those
             before are taken away.

Scores are the shares of one community. The bound of their error is that of `singular`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minicrawl.graph.adjacency import Adjacency, Weights
from minicrawl.graph.csr import Csr
from minicrawl.graph.parts import with_links
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.hits.hits import Hits, hits
from minicrawl.ranks.hits.singular import Pair, pairs, scores

Sign = Literal["+", "-"]

TOLERANCE = 1e-6
"""Eigenvalues further down lie close together: to know their vectors better takes long."""

_MOST_STEPS = 1000
_FINER = 0.1  # entries of one sign are known less well than all together
_ROUNDING = 1e-9  # entries of a unit vector below this are of no sign
_LITTLE = 1e-6  # who has less than this share of the best is no authority


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Community:
    """The n-th, and the sign of its entries; those of `destroying` are all positive."""

    number: int
    sign: Sign
    hits: Hits


def by_deflation(
    graph: Csr,
    weights: Weights | None = None,
    *,
    count: int,
    rng: np.random.Generator,
    tell: Progress = unreported,
) -> Iterator[Community]:
    """Those of the first `count` eigenvectors; fewer where there are no more."""
    found = pairs(
        Adjacency(graph, weights),
        count,
        rng,
        tolerance=TOLERANCE * _FINER,
        most_steps=_MOST_STEPS,
        tell=tell,
    )
    for number, each in enumerate(found, start=1):
        yield from _of_either_sign(number, each)


def by_destroying(
    graph: Csr,
    weights: Weights | None = None,
    *,
    count: int,
    largest: int = 10,
    tell: Progress = unreported,
) -> Iterator[Community]:
    """`count` of them, fewer where no link is left; each costs its `largest` their links."""
    for number in range(1, count + 1):
        if not graph.edges:
            return
        found = hits(graph, weights, tolerance=TOLERANCE, most_steps=_MOST_STEPS)
        yield Community(number=number, sign="+", hits=found)
        values = found.authorities.values
        best = np.argsort(-values, kind="stable")[:largest]
        is_left = ~np.isin(graph.targets, best[values[best] > _LITTLE * values.max()])
        graph = with_links(graph, is_left)
        weights = None if weights is None else weights[is_left]
        tell(number / count)


def _of_either_sign(number: int, found: Pair) -> Iterator[Community]:
    signs: tuple[tuple[Sign, int], ...] = (("+", 1), ("-", -1))
    for sign, factor in signs:
        authorities = np.maximum(factor * found.authorities, 0)
        hubs = np.maximum(factor * found.hubs, 0)
        if authorities.max() > _ROUNDING and (number > 1 or factor > 0):
            both = (scores(x, found.sine, found.steps, TOLERANCE) for x in (authorities, hubs))
            yield Community(
                number=number, sign=sign, hits=Hits(authorities=next(both), hubs=next(both))
            )

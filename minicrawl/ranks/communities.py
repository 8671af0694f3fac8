"""Communities: the group of hubs and authorities that HITS finds, and further ones.

deflation    The n-th community comes from the n-th eigenvectors of AᵀA and AAᵀ, orthogonal to all
             before. From the second on, they have entries of both signs: two communities with
             few links between them (Kleinberg, 1998).
destroying   The n-th community is what HITS finds without the links to the largest authorities
             of the communities before.

The scores of a community sum to 1, with the bound of singular vectors.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.graph.products import Adjacency
from minicrawl.graph.subgraphs import with_links
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.hits import MOST_STEPS, Hits, hits
from minicrawl.ranks.singular_vectors import pairs, scores

Sign = Literal["+", "-"]
_SIGNS: dict[Sign, int] = {"+": 1, "-": -1}

TOLERANCE_COMMUNITIES = 1e-6
"""Tolerance. Later eigenvalues are close together, so a smaller error would take long."""

_FINER_COMMUNITIES = 0.1  # the entries of one sign are less precise than the whole vector
_ROUNDING_COMMUNITIES = 1e-9  # smaller entries of a unit vector have no reliable sign
_LEAST_AUTHORITY = 1e-6  # relative to the best: other pages keep the links to them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Community:
    """The n-th community and the sign of its entries, always + with `destroying`."""

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
    """Yield the communities of the first `count` eigenvectors; fewer if there are no more."""
    singular_pairs = pairs(
        Adjacency(graph, weights),
        count,
        rng,
        tolerance=TOLERANCE_COMMUNITIES * _FINER_COMMUNITIES,
        most_steps=MOST_STEPS,
        tell=tell,
    )
    for number, singular in enumerate(singular_pairs, start=1):
        for sign, factor in _SIGNS.items():
            authorities = np.maximum(factor * singular.authorities, 0)
            hubs = np.maximum(factor * singular.hubs, 0)
            if authorities.max() > _ROUNDING_COMMUNITIES and (number > 1 or factor > 0):
                both = (
                    scores(x, singular.sine, singular.steps, TOLERANCE_COMMUNITIES)
                    for x in (authorities, hubs)
                )
                ranks = Hits(authorities=next(both), hubs=next(both))
                yield Community(number=number, sign=sign, hits=ranks)


def by_destroying(
    graph: Csr,
    weights: Weights | None = None,
    *,
    count: int,
    largest: int = 10,
    tell: Progress = unreported,
) -> Iterator[Community]:
    """Yield up to `count` communities; after each, drop links to its `largest` authorities."""
    for number in range(1, count + 1):
        if not graph.edges:
            return
        largest_group = hits(graph, weights, tolerance=TOLERANCE_COMMUNITIES, most_steps=MOST_STEPS)
        yield Community(number=number, sign="+", hits=largest_group)
        values = largest_group.authorities.values
        # The pages themselves stay: they may be hubs of the next community.
        best = np.argsort(-values, kind="stable")[:largest]
        is_left = ~np.isin(graph.targets, best[values[best] > _LEAST_AUTHORITY * values.max()])
        graph = with_links(graph, is_left)
        weights = None if weights is None else weights[is_left]
        tell(number / count)

"""So many rounds of HITS.

a, h   in each round a(w) is the sum of h(v) over v -> w, and then h(v) the sum of the new a(w)
       over v -> w. All begin alike, and after each round the best has 1.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr

Floats = NDArray[np.float64]


def hits(graph: Csr, backwards: Csr, rounds: int) -> tuple[Floats, Floats]:
    """Authorities and hubs of a graph that has links."""
    gathered_in, gathered_out = _gathering(backwards), _gathering(graph)
    authorities = hubs = np.ones(graph.nodes)
    for _ in range(rounds):
        authorities = _scaled(gathered_in(hubs))
        hubs = _scaled(gathered_out(authorities))
    return authorities, hubs


def _gathering(graph: Csr) -> Callable[[Floats], Floats]:
    """x -> for every page the sum of x over its targets."""
    has_links = np.flatnonzero(graph.out_degrees())
    starts = graph.starts[has_links]
    # Converted once, and taken into one place: either would cost as much as the sums.
    targets, taken = graph.targets.astype(np.intp), np.empty(graph.edges)

    def gathered(x: Floats) -> Floats:
        sums = np.zeros(graph.nodes)
        np.take(x, targets, out=taken, mode="clip")
        sums[has_links] = np.add.reduceat(taken, starts)
        return sums

    return gathered


def _scaled(x: Floats) -> Floats:
    # Not by squares: those of the least scores would be too small for the processor's quick way.
    scaled: Floats = x / x.max()
    return scaled

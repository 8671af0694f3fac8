"""Degree distributions in logarithmic bins, and the power law that fits them.

Every node is in one bin, so the bins sum to the number of nodes. Bins are one number wide up to
19 links and twenty up to 139; from 140 on each bin begins at twice the start of the one before.
So the number of bins hardly grows with the graph.

The exponent is fitted to nodes with at least `TAIL` links, by maximum likelihood. For n nodes
with degrees k it is 1 + n / sum(ln(k / (TAIL - 1/2))), and its standard error is
(exponent - 1) / sqrt(n): Clauset, Shalizi and Newman, "Power-law distributions in empirical
data", 2009, equations 3.7 and 3.2. The approximation is good from six links on.

The fit is judged as in that paper: by the distance D between tail and law (Kolmogorov-Smirnov),
and the share p of samples of the law that are as far from the law fitted to them. Degrees with
p < .1 follow no power law. In large graphs small deviations count, so p is 0 for most webs. The
samples are counts at fixed degrees, so that they cost the same in a graph of any size.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

TAIL = 6
"""Smallest degree that the power law is fitted to."""
FEWEST_PAGES = 50
"""Fewest nodes in the tail for which an exponent is fitted."""
LEAST_P = 0.1
"""Share of samples below which the law is rejected."""
_SAMPLES = 200
RANGE = 20
_RANGES = 8
_LAST_RANGE = RANGE * (_RANGES - 1)
_BIN_STARTS = np.array(
    [*range(RANGE), *range(RANGE, _LAST_RANGE, RANGE), *(_LAST_RANGE << n for n in range(25))]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeDistribution:
    """Degree distribution; `bins` has (least degree, number of nodes) of each filled bin."""

    bins: tuple[tuple[int, int], ...]
    most: int
    exponent: float | None
    exponent_error: float | None
    ks_distance: float | None = None
    """Largest difference between the shares of nodes above a degree, in the tail and in the law."""
    p_value: float | None = None
    """Share of samples of the law that are at least as far from it; None without an exponent."""

    @property
    def is_power_law(self) -> bool:
        """True if the tail is as near to the fitted law as samples of it."""
        return self.p_value is not None and self.p_value >= LEAST_P

    def ranges(self) -> Iterator[tuple[str, int]]:
        """Yield the number of nodes with 0-19 links, 20-39 and so on, and 140 or more."""
        counts = [0] * _RANGES
        for least, nodes in self.bins:
            counts[min(least // RANGE, _RANGES - 1)] += nodes
        for number, nodes in enumerate(counts):
            least = number * RANGE
            yield f"{least}+" if least == _LAST_RANGE else f"{least}-{least + RANGE - 1}", nodes

    def at_least(self) -> Iterator[tuple[int, int]]:
        """Yield (links, nodes with so many or more), from one link on: points of a plot."""
        linked = [(least, nodes) for least, nodes in self.bins if least]
        left = sum(nodes for _, nodes in linked)
        for least, nodes in linked:
            yield least, left
            left -= nodes


def distribution(degrees: NDArray[np.int64]) -> DegreeDistribution:
    """Return the degrees in bins, with the power law of their tail if it has enough nodes."""
    places = np.searchsorted(_BIN_STARTS, degrees, side="right") - 1
    counts = np.bincount(places, minlength=len(_BIN_STARTS))
    tail = degrees[degrees >= TAIL]
    exponent = error = distance = p_value = None
    if len(tail) >= FEWEST_PAGES:
        exponent = 1 + len(tail) / float(np.log(tail / (TAIL - 0.5)).sum())
        error = (exponent - 1) / math.sqrt(len(tail))
        distance, p_value = _goodness(tail, exponent)
    return DegreeDistribution(
        bins=tuple(
            (int(_BIN_STARTS[place]), int(counts[place])) for place in np.flatnonzero(counts)
        ),
        most=int(degrees.max(initial=0)),
        exponent=exponent,
        exponent_error=error,
        ks_distance=distance,
        p_value=p_value,
    )


def _goodness(tail: NDArray[np.int64], exponent: float) -> tuple[float, float]:
    """Return the distance of the tail from its law, and the share of samples at least as far."""
    counts = np.histogram(tail, np.append(_edges(), np.inf))[0][np.newaxis]
    law = -np.diff(_above(exponent), append=0.0)
    samples = np.random.default_rng(0).multinomial(len(tail), law / law.sum(), _SAMPLES)
    rows, edges = np.concatenate([counts, samples]), _edges()
    # The distance of each row of counts from the law that is fitted to it.
    middles = np.sqrt(edges * np.append(edges[1:], 2 * edges[-1]))
    nodes = rows.sum(axis=1)
    exponents = 1 + nodes / np.maximum(rows @ np.log(middles / edges[0]), 1e-9)
    above = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1] / nodes[:, np.newaxis]
    distances = np.abs(above - _above(exponents[:, np.newaxis])).max(axis=1)
    return float(distances[0]), float((distances[1:] >= distances[0]).mean())


def _above(exponent: Any) -> NDArray[np.float64]:
    """Return the law's share of nodes with a degree above each edge of the bins."""
    shares: NDArray[np.float64] = (_edges() / _edges()[0]) ** (1 - exponent)
    return shares


@cache
def _edges() -> NDArray[np.float64]:
    """Return the edges of the bins that are compared; small degrees have a bin each."""
    edges = np.unique(np.geomspace(TAIL, 1 << 31, 400).astype(np.int64))
    return edges.astype(np.float64) - 0.5

"""Products of rows of links with a vector: what rows gather, and what they scatter.

    gather   y_i += Σ w_ij x_j   each row sums up what its targets have
    scatter  y_j += Σ w_ij x_i   each row hands what it has to its targets

Both are two loops in C of scipy's sparse matrices, called on parts of a graph as they lie. These
loops are no public part of scipy. Where a release of scipy lacks them, and for small graphs, numpy
does the same.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

AnyFloats = NDArray[np.floating[Any]]


class WeightedRows(NamedTuple):
    """The links of row i are those from `starts[i]` to `starts[i + 1]`."""

    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: AnyFloats


class RowProducts(NamedTuple):
    """Each adds to its last argument: (rows, x, y)."""

    gather: Callable[[WeightedRows, AnyFloats, AnyFloats], None]
    scatter: Callable[[WeightedRows, AnyFloats, AnyFloats], None]


@cache
def row_products() -> RowProducts:
    """The quickest that there are. Loaded when they are needed, as scipy takes 25 MB."""
    try:
        from scipy.sparse import _sparsetools

        return _by_loops(_sparsetools.csr_matvec, _sparsetools.csc_matvec)
    except (ImportError, AttributeError):  # pragma: no cover - in no release of scipy so far
        return by_counting()


def _by_loops(csr_matvec: Callable[..., None], csc_matvec: Callable[..., None]) -> RowProducts:
    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csr_matvec(len(y), len(x), *rows, x, y)

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csc_matvec(len(y), len(x), *rows, x, y)

    return RowProducts(gather, scatter)


def by_counting() -> RowProducts:
    """The same by numpy, which takes no time to load but a vector for each call."""

    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        places = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        y += np.bincount(places, rows.weights * x[rows.targets], len(y))

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        handed = np.repeat(x, np.diff(rows.starts)) * rows.weights
        y += np.bincount(rows.targets, handed, len(y))

    return RowProducts(gather, scatter)

"""Scores: the result of every rank, with a bound of the error.

Scores are 0 or more and sum to 1 over all nodes, except for a graph without nodes; scores are
marked as converged only if the requested bound was reached.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64] | NDArray[np.float32]

FURTHEST = 2.0
"""Largest distance of two ranks whose scores sum to 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """A rank of all nodes."""

    values: Floats
    iterations: int
    error_bound: float
    """Largest possible distance from the limit, summed over all nodes; infinite if unknown."""
    converged: bool
    standard_error: float | None = None
    """Relative standard error of each value, if these are estimates: a third are off by more."""


def share_done(error: float, tolerance: float) -> float:
    """Return the progress of an error from 1 to the tolerance, on a logarithmic scale."""
    if error <= tolerance:
        return 1.0
    return float(np.log(error) / np.log(tolerance)) if 0 < tolerance < error < 1 else 0.0

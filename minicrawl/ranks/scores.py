"""What a rank says: a score for every node, and how far it may be wrong.

Laws: scores are 0 or more and sum to 1 over all nodes, but for a graph without nodes; a score is
never said to have converged where the bound that was asked for was not reached.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64] | NDArray[np.float32]

FURTHEST = 2.0
"""Two ranks whose scores sum to 1 cannot be further apart."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """One rank of all nodes."""

    values: Floats
    iterations: int
    error_bound: float
    """The values are not further than this from their limit, summed over all nodes.

    Infinite where no bound is known."""
    converged: bool
    standard_error: float | None = None
    """Of each value, as a share of it, where they are estimates: no bound, a third is further."""


def share_done(error: float, tolerance: float) -> float:
    """How far an error has come down from 1 to what is asked for, in powers of ten."""
    if error <= tolerance:
        return 1.0
    return float(np.log(error) / np.log(tolerance)) if 0 < tolerance < error < 1 else 0.0

"""Scores, the result of every rank, with a bound of the error; power method.

Scores are 0 or more and sum to 1 over all nodes, except for a graph without nodes; scores are
marked as converged only if the requested bound was reached.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.ports import Progress

Floats = NDArray[np.float64] | NDArray[np.float32]

FURTHEST = 2.0
"""Largest distance between two ranks whose scores sum to 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """Scores of all nodes, and their precision."""

    values: Floats
    iterations: int
    error_bound: float
    """Largest possible distance from the limit, summed over all nodes; infinite if unknown."""
    converged: bool
    standard_error: float | None = None
    """Relative standard error of estimated values: a third of them are off by more."""

    @classmethod
    def exact(cls, values: Floats) -> "Scores":
        """Return scores without an error."""
        return cls(values=values, iterations=0, error_bound=0.0, converged=True)

    @classmethod
    def within(cls, values: Floats, iterations: int, bound: float, tolerance: float) -> "Scores":
        """Return scores with an error of at most `bound`: converged if it is within `tolerance`."""
        bound = min(bound, FURTHEST)
        return cls(
            values=values, iterations=iterations, error_bound=bound, converged=bound <= tolerance
        )


def share_done(error: float, tolerance: float) -> float:
    """Return the progress of an error from 1 to the tolerance, on a logarithmic scale."""
    if error <= tolerance:
        return 1.0
    return float(np.log(error) / np.log(tolerance)) if 0 < tolerance < error < 1 else 0.0


_ROUNDINGS = 64


def rounding_floor(contraction: float, precision: np.dtype[np.floating]) -> float:
    """Return the bound that rounding alone allows."""
    return float(_ROUNDINGS * np.finfo(precision).eps / (1 - contraction))


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerMethod:
    """The power method repeats a step until the limit is near enough.

    κ  contraction: a step multiplies the distance of any two vectors by at most κ, with |.| as the
       sum over all nodes. So there is one limit x*, and after a step from x to x'

        |x' - x*| <= κ |x - x*| <= κ (|x' - x| + |x' - x*|)
        |x' - x*| <= |x' - x| κ / (1 - κ)

    `floor` covers rounding by 64 ε of what a step passes on. That is far more than was ever
    observed, but not proven. No bound is then below 64 ε / (1 - κ), and a smaller tolerance is not
    reached.
    """

    contraction: float
    tolerance: float
    most_iterations: int
    floor: float = 0.0
    """Rounding error added to each bound."""

    def run(
        self, step: Callable[[], float | NDArray[np.float64]], tell: Progress
    ) -> tuple[int, list[float]]:
        """Iterate; return the number of iterations and the error bounds.

        `step` makes one step and returns |x' - x| of one vector or of several.
        """
        iterations, bounds = 0, np.array([inf])
        while iterations < self.most_iterations and not self.is_enough(float(bounds.max())):
            bounds = np.atleast_1d(step() * self.contraction / (1 - self.contraction) + self.floor)
            iterations += 1
            tell(share_done(float(bounds.max()), self.tolerance))
        return iterations, np.minimum(bounds, FURTHEST).tolist()

    def is_enough(self, bound: float) -> bool:
        """Return True if a bound is low enough, or as low as rounding allows."""
        return bound <= max(self.tolerance, 1.5 * self.floor)

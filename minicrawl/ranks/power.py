"""The power method: repeats a step until the limit is near enough.

κ  contraction: a step brings any two vectors closer by this factor, with |.| as the sum over all
   nodes. So there is one limit x*, and after a step from x to x'

    |x' - x*| <= κ |x - x*| <= κ (|x' - x| + |x' - x*|)
    |x' - x*| <= |x' - x| κ / (1 - κ)

Rounding is covered by 64 ε of what is passed on, far more than was ever observed but not proven: no
bound is below 64 ε / (1 - κ), and scores report a smaller tolerance as not reached.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.progress import Progress
from minicrawl.ranks.scores import FURTHEST, share_done

_ROUNDINGS = 64


def rounding_floor(contraction: float, precision: np.dtype[np.floating]) -> float:
    """Return the least possible bound."""
    return float(_ROUNDINGS * np.finfo(precision).eps / (1 - contraction))


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerMethod:
    """Stopping rule, and bounds of the distance of the last vectors from their limits."""

    contraction: float
    tolerance: float
    most_iterations: int
    floor: float = 0.0
    """Rounding error that is added to each bound."""

    def run(
        self, step: Callable[[], float | NDArray[np.float64]], tell: Progress
    ) -> tuple[int, list[float]]:
        """Iterate; return the number of iterations, and the bounds of the errors.

        Each call of `step` makes a step and returns |x' - x|, of one vector or of several.
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

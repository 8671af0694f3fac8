"""The power method: the same step again and again, until the limit is near enough.

κ  the contraction: a step brings any two vectors nearer to each other by this factor, |.| being the
   sum over all nodes. So there is one limit x*, and after a step from x to x'

    |x' - x*| <= κ |x - x*| <= κ (|x' - x| + |x' - x*|)
    |x' - x*| <= |x' - x| κ / (1 - κ)

Rounding is allowed for with 64 ε of what is handed on, which is far more than was ever seen but is
not a proof: no bound is below 64 ε / (1 - κ), and scores say that an error below that was not
reached.
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
    """No bound is below this."""
    return float(_ROUNDINGS * np.finfo(precision).eps / (1 - contraction))


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerMethod:
    """When to stop, and how far the last vectors may be from their limits."""

    contraction: float
    tolerance: float
    most_iterations: int
    floor: float = 0.0
    """What rounding adds to each bound."""

    def run(
        self, step: Callable[[], float | NDArray[np.float64]], tell: Progress
    ) -> tuple[int, list[float]]:
        """The number of iterations, and the bounds of the errors.

        Each call of `step` makes a step and answers with |x' - x|, of one vector or of several.
        """
        iterations, bounds = 0, np.array([inf])
        while iterations < self.most_iterations and not self.is_enough(float(bounds.max())):
            bounds = np.atleast_1d(step() * self.contraction / (1 - self.contraction) + self.floor)
            iterations += 1
            tell(share_done(float(bounds.max()), self.tolerance))
        return iterations, np.minimum(bounds, FURTHEST).tolist()

    def is_enough(self, bound: float) -> bool:
        """Whether a bound is low enough, or as low as it can be."""
        return bound <= max(self.tolerance, 1.5 * self.floor)

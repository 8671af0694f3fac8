"""A surfer who follows links, and now and then starts anew anywhere.

    x' = ε/n + (1 − ε) (what each node shares among its links, and 1/n of what those without have)

Law: a move brings any two distributions nearer by 1 − ε at least, summed over all nodes; so there
is one limit, and it is (1 − ε) / ε of the last change away at most.
"""

from collections.abc import Callable

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.ranks.adjacency import Vector


def check_anew(anew: float) -> None:
    """Refuse a surfer without one limit."""
    if not 0 < anew <= 1:
        raise UsageError(f"the surfer starts anew with a probability above 0, up to 1, not {anew}")


def move(
    along: Callable[[Vector], Vector], weight: Vector, anew: float
) -> Callable[[Vector], Vector]:
    """One move; `weight` is that of all links by which the surfer can leave each node."""
    is_stuck = weight == 0
    share = 1 / np.where(is_stuck, np.inf, weight)

    def move(x: Vector) -> Vector:
        moved = along((1 - anew) * share * x)
        moved += (1 - moved.sum()) / len(x)
        return moved

    return move

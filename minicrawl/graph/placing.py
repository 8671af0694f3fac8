"""Links put into rows a piece at a time, so that no second list of them all is in memory.

Law: the rows are those that a stable sort would make: what has the same row keeps its order. Beside
what is given and what is made it takes memory for one piece, and for each row.

row      a number from 0 to rows - 1: what links are to lie side by side by
starts   where the links of each row begin, and where those of the last one end
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Starts = NDArray[np.int64]

_BITS = 16
_AT_ONCE = 1 << _BITS
"""Links that are worked on together: their sort stays near the processor."""


def _pieces(links: int) -> Iterator[slice]:
    """All links, some at a time."""
    return (slice(first, min(first + _AT_ONCE, links)) for first in range(0, links, _AT_ONCE))


def starts_of(rows: int, row_of: NDArray[np.integer]) -> Starts:
    """Where rows start, by the row of each link."""
    starts = np.zeros(rows + 1, dtype=np.int64)
    for piece in _pieces(len(row_of)):
        # Places as wide as an address are added to twice as fast.
        np.add.at(starts[1:], row_of[piece].astype(np.intp), 1)
    return np.cumsum(starts, out=starts)


def place(
    starts: Starts,
    row_of: NDArray[np.integer],
    what: Callable[[slice], NDArray[Any]],
    into: NDArray[Any],
) -> None:
    """Put what belongs to each link into its row; `what` tells it of one piece of the links."""
    free = starts[:-1].copy()
    for piece in _pieces(len(row_of)):
        # A row and a place in one number sort faster than the places by their rows.
        keys = row_of[piece].astype(np.int64)
        keys <<= _BITS
        keys |= np.arange(len(keys))
        keys.sort()
        order = keys & (_AT_ONCE - 1)
        keys >>= _BITS
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.diff(firsts, append=len(keys))
        rows = keys[firsts]
        places = np.repeat(free[rows] - firsts, counts)
        places += np.arange(len(keys))
        into[places] = what(piece)[order]
        free[rows] += counts


def blocks(starts: Starts) -> Iterator[tuple[int, int]]:
    """The first and the last row, which is the next one's first, of some rows at a time."""
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], _AT_ONCE))
    return pairwise(np.unique(np.append(cuts, len(starts) - 1)).tolist())

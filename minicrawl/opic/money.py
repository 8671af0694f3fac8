"""Cash is counted in whole numbers, so that every split is exact and the same on every machine.

atom    the smallest amount of cash; all amounts are counts of atoms.
UNIT    what a page is born with. 2^31 pages fit into a signed 64-bit count.
PARTS   the fixed point for shares that people write as 0.15: whole 65,536ths.
pot     what a page hands to its links together. The rest of its cash is its *small edge*,
        the link that every page has to the virtual page.
"""

from collections.abc import Callable
from functools import partial

UNIT = 1 << 32
PARTS = 1 << 16

SMALL_EDGE = 0.15
"""Its share unless the user sets another one: PageRank's damping of 0.85."""

FOCUS_SHARE = 0.5
"""Of the unit that each unread page was born with: so much the virtual page may lend to links that
the user looks for. More than a unit would leave other pages with nothing."""

SmallEdge = Callable[[int, int], int]
"""(cash, number of links) -> pot."""


def in_parts(share: float) -> int:
    """A share between 0 and 1 as whole 65,536ths."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share must lie between 0 and 1, not {share!r}")
    return round(share * PARTS)


def fixed_edge(share: float = SMALL_EDGE) -> SmallEdge:
    """The small edge takes this share of the cash of every page."""
    return edge_of(in_parts(share))


def edge_of(parts: int) -> SmallEdge:
    """The same for a share in 65,536ths."""
    return partial(_less, parts)


def _less(parts: int, cash: int, _links: int) -> int:
    return cash - (cash * parts >> 16)


def one_more_link(cash: int, links: int) -> int:
    """The small edge weighs as much as any other link of the page, as in the paper."""
    return cash - cash // (links + 1)

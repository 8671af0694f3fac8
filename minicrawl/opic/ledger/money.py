"""Integer cash: every split is exact, and the same on every machine.

atom    smallest amount of cash; all amounts are counts of atoms.
UNIT    cash of a newly discovered page. 2^31 pages fit into a signed 64-bit count.
PARTS   fixed-point denominator: a share such as 0.15 is stored in 65,536ths.
part    cash that a page passes to its links together. The rest of its cash goes along its *small
        edge*, the implicit link from every page to the virtual page.
"""

from collections.abc import Callable
from functools import partial

UNIT = 1 << 32
PARTS = 1 << 16

SMALL_EDGE = 0.15
"""Default share of the small edge: PageRank's damping factor of 0.85."""

SmallEdge = Callable[[int, int], int]
"""Maps (cash, number of links) to the part for the links, which the small edge leaves."""


def in_parts(share: float) -> int:
    """Return a share between 0 and 1 in 65,536ths."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share must lie between 0 and 1, not {share!r}")
    return round(share * PARTS)


def fixed_edge(share: float = SMALL_EDGE) -> SmallEdge:
    """Return a small edge that takes `share` of the cash of every page."""
    return edge_of(in_parts(share))


def edge_of(parts: int) -> SmallEdge:
    """Return a small edge that takes `parts` 65,536ths of the cash of every page.

    A ledger can be pickled with it.
    """
    return partial(_less_parts, parts)


def _less_parts(parts: int, cash: int, _links: int) -> int:
    return cash - (cash * parts >> 16)


def exact_edge(share: float) -> SmallEdge:
    """Return a small edge of `share` itself, for measuring: money is counted in 65,536ths of it."""
    return lambda cash, _links: cash - int(cash * share)


def one_more_link(cash: int, links: int) -> int:
    """Weigh the small edge like one more link of the page, as in the OPIC paper."""
    return cash - cash // (links + 1)

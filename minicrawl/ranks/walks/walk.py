"""A walk over the links that now and then jumps: what PageRank and its relatives are the limit of.

One step hands everything on that there is, x -> G x, and nothing is lost:

    (G x)_j = Σ x_i s_i w_ij / w_i  +  v_j Σ x_i a_i  +  1/n Σ x_i b_i,     s_i + a_i + b_i = 1

w    weights of links; w_i is the sum of those that leave node i.
s    what a node hands to the nodes it links to: the damping c, or nothing where it has no link.
v    where jumps lead to, summing to 1.
a    what of a node jumps to v.
b    what of a node goes to all nodes alike.
κ    the contraction: the largest s. G x - G y is no longer than κ |x - y| if x and y have equal
     sums, |.| being the sum over all nodes; for at least 1 - κ of every node goes the same way,
     and no more than the rest can differ. (Uniformly spread dangling mass is c of a node.)

So there is one limit x* = G x* of sum 1 if κ < 1, and for x of sum 1

    |x - x*| <= |x - G x| + |G x - G x*| <= |G x - x| + κ |x - x*|
    |x - x*| <= |G x - x| / (1 - κ)
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Adjacency, AnyFloats, Weights
from minicrawl.graph.csr import Csr


class Dangling(StrEnum):
    """Where a page without links hands what it has."""

    UNIFORM = "uniform"
    TELEPORT = "teleport"
    VIRTUAL = "virtual"
    """To OPIC's virtual page, which also gets the small edge of all others and links to all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Walk:
    """`per_weight` is what node i hands along a link of weight 1, `contraction` is κ."""

    links: Adjacency
    shares: AnyFloats
    per_weight: AnyFloats
    dangling: Dangling
    contraction: float

    def jumps(
        self, x: AnyFloats, rows: slice | NDArray[np.intp] = slice(None)
    ) -> tuple[float, float]:
        """How much of x jumps, and how much goes to all alike; `x` is that of these rows."""
        held = float(x.sum(dtype=np.float64))
        handed = float(np.einsum("i,i->", x, self.shares[rows], dtype=np.float64))
        match self.dangling:
            case Dangling.UNIFORM:
                return (1 - self.contraction) * held, self.contraction * held - handed
            case Dangling.TELEPORT:
                return held - handed, 0.0
            case Dangling.VIRTUAL:
                return 0.0, held - handed
            case other:
                assert_never(other)

    def step(self, xs: AnyFloats, teleports: AnyFloats) -> AnyFloats:
        """G x of every row x, each with the jumps of its own row."""
        found = self.links.pushed_all(xs * self.per_weight)
        for row, x in enumerate(xs):
            jumping, to_all = self.jumps(x)
            found[row] += teleports[row] * x.dtype.type(jumping) + x.dtype.type(to_all / len(x))
        return found


def walk_of(
    graph: Csr,
    weights: Weights | None,
    damping: float | None,
    dangling: Dangling,
    precision: type[np.float32 | np.float64],
) -> Walk:
    """Without a damping the virtual page is one more link of each page, as in OPIC's paper."""
    if damping is None and dangling is not Dangling.VIRTUAL:
        raise UsageError("a walk without a damping needs the virtual page")
    if damping is not None and not 0 <= damping < 1:
        raise UsageError(f"damping is 0 or more and below 1, not {damping}")
    strengths = _strengths(graph, weights)
    if damping is None:
        shares = strengths / (strengths + 1)
        contraction = float(shares.max(initial=0))
    else:
        shares, contraction = np.where(strengths > 0, damping, 0.0), damping
    per_weight = np.divide(shares, strengths, out=np.zeros_like(shares), where=strengths > 0)
    return Walk(
        links=Adjacency(graph, weights),
        shares=shares.astype(precision, copy=False),
        per_weight=per_weight.astype(precision, copy=False),
        dangling=dangling,
        contraction=contraction,
    )


def _strengths(graph: Csr, weights: Weights | None) -> AnyFloats:
    """The weight of all links that leave each node."""
    if weights is None:
        return graph.out_degrees().astype(np.float64)
    return Adjacency(graph, weights).pulled(np.ones(graph.nodes))

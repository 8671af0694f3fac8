"""Triangles and k-cores of a graph whose links come and go, without regard to their direction.

A triangle is three nodes of which each two are linked. The core number of a node is the largest k
so that it is in a subgraph in which every node has k neighbours or more.

triangles   exact, by the changed links alone: a triangle comes with the last of its links, and goes
            with the first. So each changed link counts the common neighbours of its ends that it
            closes a triangle with, unless another changed link of that triangle comes after it.
cores       exact, by local updates (Sariyuce, Seshadhri, Pinar, *Local algorithms for hierarchical
            dense subgraph discovery*, 2018): core numbers are what is left if, from above, every
            node falls to the largest h so that h neighbours have h or more. When links go, the
            numbers from before are above the new ones. When links come, the nodes that may rise by
            one are those that nodes of the same number link to an end of a new link, or to one that
            has risen (Sariyuce and others, *Streaming algorithms for k-core decomposition*, 2013);
            they rise, and fall again if they must, until none rises. Many links at once: anew.

Example: of the links a-b, b-c, c-a and c-d, the first three are a triangle and the 2-core; d has
core number 1. Without c-a there is no triangle, and all core numbers are 1.

around   both directions of all links between different nodes, as ascending keys
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

BITS = 31
_TARGET = (1 << BITS) - 1
_LARGE = 8
"""Part of the links, as its inverse, beyond which new links make core numbers be computed anew."""
_AT_ONCE = 1 << 21
"""Neighbours looked at in one step, to bound memory."""

Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Neighbours:
    """Triangles and core numbers of a changing graph."""

    def __init__(self) -> None:
        self.triangles = 0
        self.cores = np.zeros(0, dtype=np.int64)
        self._around = np.empty(0, dtype=np.int64)

    def change(self, nodes: int, added: Keys, removed: Keys, keys: Keys) -> None:
        """Follow links that came and went; `keys` are all links from now on, in order."""
        self.cores = np.pad(self.cores, (0, nodes - len(self.cores)))
        both = _both_ways(removed)
        gone = both[~are_among(both, keys) & ~are_among(_reversed(both), keys)]
        if len(gone):
            self.triangles -= self._closed_by(gone)
            self._around = np.delete(self._around, np.searchsorted(self._around, gone))
            self._fall(np.unique(gone >> BITS))
        both = _both_ways(added)
        new = both[~are_among(both, self._around)]
        if len(new):
            self._around = np.insert(self._around, np.searchsorted(self._around, new), new)
            self.triangles += self._closed_by(new)
            self._rise(new)

    def innermost(self) -> tuple[int, int]:
        """Return the number of the innermost core, and how many nodes it has."""
        most = int(self.cores.max(initial=0))
        return most, int(np.count_nonzero(self.cores == most)) if most else 0

    def _closed_by(self, changed: Keys) -> int:
        """Return the triangles that have one of these links or more."""
        once = changed[(changed >> BITS) < (changed & _TARGET)]
        starts = self._starts()
        node, other = once >> BITS, once & _TARGET
        degrees = np.diff(starts)
        is_swapped = degrees[node] > degrees[other]
        node, other = np.where(is_swapped, other, node), np.where(is_swapped, node, other)
        count, ends = 0, np.cumsum(degrees[node])
        # Rows with about `_AT_ONCE` neighbours together.
        cuts = np.searchsorted(ends, np.arange(_AT_ONCE, int(ends[-1]), _AT_ONCE)) + 1
        for first, last in pairwise(np.unique([0, *cuts, len(ends)]).tolist()):
            rows = np.arange(first, last)
            each = np.repeat(rows, degrees[node[rows]])
            third = self._gathered(starts, node[rows])
            closes = are_among(other[each] << BITS | third, self._around)
            each, third = each[closes], third[closes]
            is_last = np.ones(len(each), dtype=np.bool_)
            for end in (node, other):  # the last of the changed links of a triangle counts it
                side = np.minimum(end[each], third) << BITS | np.maximum(end[each], third)
                is_last &= ~are_among(side, once) | (side < once[each])
            count += int(np.count_nonzero(is_last))
        return count

    def _rise(self, new: Keys) -> None:
        """Let numbers rise by one where the new links may allow it, until none rises."""
        starts, cores = self._starts(), self.cores
        if len(new) * _LARGE > len(self._around):
            self.cores = self._peeled(starts)
            return
        # An end with h neighbours in the h-core is in it as well.
        ends = np.unique(new >> BITS)
        supported = self._supported(starts, ends)
        risen = ends[supported > cores[ends]]
        cores[ends] = np.maximum(cores[ends], supported)
        roots = new[cores[new >> BITS] <= cores[new & _TARGET]] >> BITS
        while len(roots) or len(risen):
            near = self._gathered(starts, risen)
            lower = near[cores[near] < np.repeat(cores[risen], np.diff(starts)[risen])]
            able = self._able(starts, np.unique(np.concatenate((roots, risen, lower))))
            cores[able] += 1
            risen = np.setdiff1d(able, self._fall(able), assume_unique=True)
            roots = risen

    def _able(self, starts: Keys, roots: Keys) -> Keys:
        """Return the nodes that may rise: those that nodes of their number link to a root.

        Such a node has more neighbours of at least its number than that number.
        """
        cores, degrees = self.cores, np.diff(starts)
        is_met = np.zeros(len(cores), dtype=np.bool_)
        is_met[roots] = True
        able = [roots[:0]]
        while len(roots):
            rows = np.repeat(np.arange(len(roots)), degrees[roots])
            near = self._gathered(starts, roots)
            own = cores[roots][rows]
            is_able = np.bincount(rows[cores[near] >= own], minlength=len(roots)) > cores[roots]
            able.append(roots[is_able])
            roots = np.unique(near[is_able[rows] & (cores[near] == own) & ~is_met[near]])
            is_met[roots] = True
        return np.concatenate(able)

    def _fall(self, nodes: Keys) -> Keys:
        """Let numbers fall to what the neighbours support, from these nodes on.

        Return the nodes that fell.
        """
        starts, all_fallen = self._starts(), [nodes[:0]]
        while len(nodes):
            supported = self._supported(starts, nodes)
            is_less = supported < self.cores[nodes]
            fallen = nodes[is_less]
            self.cores[fallen] = supported[is_less]
            all_fallen.append(fallen)
            near = self._gathered(starts, fallen)
            # Only nodes that a fallen one supported until now may fall as well.
            counts = np.diff(starts)[fallen]
            nodes = np.unique(near[self.cores[near] > np.repeat(supported[is_less], counts)])
        return np.unique(np.concatenate(all_fallen))

    def _peeled(self, starts: Keys) -> Keys:
        """Return all core numbers anew: take off those with fewest neighbours, again and again."""
        left = np.diff(starts)
        cores, is_left, number = np.zeros_like(left), np.ones(len(left), dtype=np.bool_), 0
        while is_left.any():
            number = max(number, int(left[is_left].min()))
            taken = np.flatnonzero(is_left & (left <= number))
            cores[taken], is_left[taken] = number, False
            left -= np.bincount(self._gathered(starts, taken), minlength=len(left))
        return cores

    def _supported(self, starts: Keys, nodes: Keys) -> Keys:
        """Return, for each node, the largest h so that h neighbours have h or more."""
        degrees = np.diff(starts)[nodes]
        rows = np.repeat(np.arange(len(nodes)), degrees)
        cores = self.cores[self._gathered(starts, nodes)]
        order = np.lexsort((-cores, rows))
        places = np.arange(len(rows)) - np.repeat(np.cumsum(degrees) - degrees, degrees) + 1
        return np.bincount(rows[cores[order] >= places], minlength=len(nodes))

    def _gathered(self, starts: Keys, nodes: Keys) -> Keys:
        """Return the neighbours of these nodes, one node after the other."""
        degrees = np.diff(starts)[nodes]
        places = np.arange(degrees.sum()) - np.repeat(np.cumsum(degrees) - degrees, degrees)
        gathered: Keys = self._around[np.repeat(starts[nodes], degrees) + places] & _TARGET
        return gathered

    def _starts(self) -> Keys:
        ends = np.arange(len(self.cores) + 1, dtype=np.int64) << BITS
        return np.searchsorted(self._around, ends).astype(np.int64, copy=False)


def are_among(keys: Keys, known: Keys) -> Mask:
    """Return, for each key, whether it is known. The known ones ascend."""
    if not len(known):
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.searchsorted(known, keys).clip(max=len(known) - 1)
    is_known: Mask = known[places] == keys
    return is_known


def _both_ways(keys: Keys) -> Keys:
    """Return both directions of these links, without those from a node to itself."""
    keys = keys[keys >> BITS != keys & _TARGET]
    both = np.sort(np.concatenate((keys, _reversed(keys))))
    is_first = np.ones(len(both), dtype=np.bool_)
    is_first[1:] = both[1:] != both[:-1]
    return both[is_first]


def _reversed(keys: Keys) -> Keys:
    return (keys & _TARGET) << BITS | keys >> BITS

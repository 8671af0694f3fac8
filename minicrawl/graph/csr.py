"""A directed graph as compressed sparse rows (CSR): the links of node i lie side by side.

Law: the targets of node i are `targets[starts[i]:starts[i + 1]]`, ascending, each once; so two
graphs with the same nodes and links have the same arrays. A link from a node to itself is kept.

starts   nodes + 1 positions in `targets`, from 0 to edges, never falling.
targets  one node for each link, from 0 to nodes - 1.

Links are put into rows a piece at a time, by a stable counting sort: what has the same row keeps
its order. Beside what is given and made, that takes memory for one piece, and 8 bytes a row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Starts = NDArray[np.int64]

_BITS = 16
_AT_ONCE = 1 << _BITS
"""Links that are worked on together: their sort stays near the processor."""

MOST_NODES = 2**31 - 1
"""A node has 31 bits: the ends of a link make one sortable key that no product overflows."""


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """A graph of the nodes 0 to nodes - 1. Graphs are compared by identity, not by their arrays."""

    starts: Starts
    targets: NDArray[np.int32]

    @staticmethod
    def from_edges(nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> "Csr":
        """The graph with a link from `sources[k]` to `targets[k]` for every k, in any order."""
        _check_ends(nodes, sources, targets)
        starts = starts_of(nodes, sources)
        ends = np.empty(len(targets), dtype=np.int32)
        place(starts, sources, targets.__getitem__, ends)
        return _distinct(starts, ends)

    @property
    def nodes(self) -> int:
        return len(self.starts) - 1

    @property
    def edges(self) -> int:
        return len(self.targets)

    def out_degrees(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def in_degrees(self) -> NDArray[np.int64]:
        return np.diff(starts_of(self.nodes, self.targets))

    def sources(self) -> NDArray[np.int32]:
        """The node that each link leaves, in the order of `targets`."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), self.out_degrees())

    def targets_of(self, node: int) -> NDArray[np.int32]:
        """The nodes that `node` links to; a view, not a copy."""
        if not 0 <= node < self.nodes:
            raise IndexError(f"no node {node} in a graph of {self.nodes}")
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def adjacency(self) -> list[list[int]]:
        """Every node's targets as lists: a loop in Python is quicker over Python's own numbers."""
        flat = self.targets.tolist()
        return [flat[start:end] for start, end in pairwise(self.starts.tolist())]

    def reversed(self) -> "Csr":
        """The same links, followed backwards."""
        starts = starts_of(self.nodes, self.targets)
        sources = np.empty(self.edges, dtype=np.int32)
        place(starts, self.targets, self._sources_of, sources)
        return Csr(starts=starts, targets=sources)

    def turned(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of links in the order of `targets`, put in the order of the reversed graph."""
        turned = np.empty_like(values)
        place(starts_of(self.nodes, self.targets), self.targets, values.__getitem__, turned)
        return turned

    def _sources_of(self, links: slice) -> NDArray[np.int64]:
        """`sources`, of some links side by side."""
        first, last = np.searchsorted(self.starts, (links.start, links.stop - 1), side="right")
        counts = np.diff(self.starts[first - 1 : last + 1].clip(links.start, links.stop))
        return np.repeat(np.arange(first - 1, last), counts)


def _check_ends(nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> None:
    if not 0 <= nodes <= MOST_NODES:
        raise ValueError(f"a graph has 0 to {MOST_NODES} nodes, not {nodes}")
    if sources.shape != targets.shape or sources.ndim != 1:
        raise ValueError(f"{sources.shape} sources do not pair with {targets.shape} targets")
    for name, ends in (("source", sources), ("target", targets)):
        outside = ends[(ends < 0) | (ends >= nodes)]
        if outside.size:
            raise ValueError(f"{name} {outside[0]} is no node of a graph of {nodes}")


def distinct_keys(
    nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]
) -> NDArray[np.int64]:
    """source * nodes + target of every link, ascending, each once.

    One sort of one array; a lexical sort of two columns takes three times as long.
    """
    keys = sources.astype(np.int64)
    keys *= nodes
    keys += targets
    keys.sort()
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]


def _distinct(starts: Starts, targets: NDArray[np.int32]) -> Csr:
    """The graph of rows whose targets are in any order: they are sorted, and each kept once."""
    nodes, left = len(starts) - 1, 0
    first_of = np.zeros_like(starts)
    for first, last in blocks(starts):
        sources = np.repeat(np.arange(first, last), np.diff(starts[first : last + 1]))
        keys = distinct_keys(nodes, sources, targets[starts[first] : starts[last]])
        ends = np.arange(first + 1, last + 1) * nodes
        first_of[first + 1 : last + 1] = left + np.searchsorted(keys, ends)
        targets[left : left + len(keys)] = keys % nodes
        left += len(keys)
    targets.resize(left, refcheck=False)  # No copy: what is behind the end is given back.
    return Csr(starts=first_of, targets=targets)


# ---------------------------------------------------------------- links into rows


def _pieces(links: int) -> Iterator[slice]:
    """All links, some at a time."""
    return (slice(first, min(first + _AT_ONCE, links)) for first in range(0, links, _AT_ONCE))


def starts_of(rows: int, row_of: NDArray[np.integer]) -> Starts:
    """Where each row begins and the last one ends, by the row of each link."""
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
    """Put a value for each link into its row; `what` gives the values of one piece of the links."""
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
    """Some rows at a time: the first of them, and the one behind the last."""
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], _AT_ONCE))
    return pairwise(np.unique(np.append(cuts, len(starts) - 1)).tolist())

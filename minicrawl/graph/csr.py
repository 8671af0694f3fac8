"""A directed graph as compressed sparse rows: the links of page i lie side by side.

Law: the targets of page i are `targets[starts[i]:starts[i + 1]]`, ascending, each once; so two
graphs with the same pages and links have the same arrays. A link from a page to itself is kept.

starts   nodes + 1 positions in targets, from 0 to edges, never falling.
targets  one page number a link, from 0 to nodes - 1.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

MOST_NODES = 2**31 - 1
"""A page number has 31 bits: two of them make one sortable key that no product overflows."""


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """A graph of pages 0 to nodes - 1. Compared by identity: equal arrays have no one truth."""

    starts: NDArray[np.int64]
    targets: NDArray[np.int32]

    @classmethod
    def from_edges(
        cls, nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]
    ) -> "Csr":
        """The graph with a link from `sources[k]` to `targets[k]` for every k, in any order."""
        _check_ends(nodes, sources, targets)
        keys = distinct_keys(nodes, sources, targets)
        starts = np.searchsorted(keys, np.arange(nodes + 1, dtype=np.int64) * nodes)
        # In place: with 50 million links every copy of the keys is 400 MB.
        np.remainder(keys, max(nodes, 1), out=keys)
        return cls(starts=starts.astype(np.int64, copy=False), targets=keys.astype(np.int32))

    @property
    def nodes(self) -> int:
        return len(self.starts) - 1

    @property
    def edges(self) -> int:
        return len(self.targets)

    def out_degrees(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def in_degrees(self) -> NDArray[np.int64]:
        return np.bincount(self.targets, minlength=self.nodes).astype(np.int64, copy=False)

    def sources(self) -> NDArray[np.int32]:
        """The page that each link leaves, in the order of `targets`."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), self.out_degrees())

    def targets_of(self, node: int) -> NDArray[np.int32]:
        """The pages that `node` links to; a view, not a copy."""
        if not 0 <= node < self.nodes:
            raise IndexError(f"no page {node} in a graph of {self.nodes}")
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def adjacency(self) -> list[list[int]]:
        """Every page's targets as plain lists: a loop over Python's own numbers is the quicker."""
        flat = self.targets.tolist()
        return [flat[start:end] for start, end in pairwise(self.starts.tolist())]

    def reversed(self) -> "Csr":
        """The same links, followed backwards."""
        return Csr.from_edges(self.nodes, self.targets, self.sources())


def _check_ends(nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> None:
    if not 0 <= nodes <= MOST_NODES:
        raise ValueError(f"a graph has 0 to {MOST_NODES} pages, not {nodes}")
    if sources.shape != targets.shape or sources.ndim != 1:
        raise ValueError(f"{sources.shape} sources do not pair with {targets.shape} targets")
    for name, ends in (("source", sources), ("target", targets)):
        outside = ends[(ends < 0) | (ends >= nodes)]
        if outside.size:
            raise ValueError(f"{name} {outside[0]} is no page of a graph of {nodes}")


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

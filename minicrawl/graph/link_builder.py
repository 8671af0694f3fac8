"""Builders that turn links into a graph: links in any order, or all links of a node at once.

`LinkBuilder` takes links between ids in any order. A link takes 8 bytes while links are collected
and sorted, and 4 more with a weight; in the finished graph it takes 4, or 8. More memory is
needed for ids of 2^31 and above, for ids that are far fewer than their range, and for sorting
links with weights. Duplicate links are merged, and their weights summed.

`RowBuilder` takes rows: all links of a node at once, the nodes in any order. A link takes 8 bytes
while the graph is built, 4 in its row and 4 in the result.

Both build the graph that `Csr.from_edges` makes of the same links.

id    name of a node in a list: an integer from 0 to 2^63 - 1
key   a link as one integer: its source in the upper bits, its target in the lowest 31
"""

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import MOST_NODES, Csr, distinct_keys

Ids = NDArray[np.int64]
Weights = NDArray[np.float32]

_TARGET_BITS = 31
_TARGET = (1 << _TARGET_BITS) - 1
_KEYS_AT_ONCE = 1 << 18
"""Number of links processed together: few enough to fit into the processor's cache."""

_SPARSE = 8  # ids are sparse if the largest one is at least this many times the number of links


class LinkArrays(NamedTuple):
    """A batch of links: link k leads from `sources[k]` to `targets[k]`."""

    sources: Ids
    targets: Ids
    weights: NDArray[np.float64] | None = None


class BuiltGraph(NamedTuple):
    """A graph, and the weights of its links if they have any."""

    graph: Csr
    weights: Weights | None


class LinkBuilder:
    """Single-use builder of a graph from links in any order."""

    def __init__(self) -> None:
        self._keys = array("q")
        self._wide = array("q")  # sources and targets in turn, once any id is large
        self._weights = array("f")

    def __len__(self) -> int:
        return len(self._keys) + len(self._wide) // 2

    def add(self, links: LinkArrays) -> None:
        """Add links; either all links have weights, or none has."""
        if links.weights is not None:
            self._weights.frombytes(links.weights.astype(np.float32).tobytes())
        # Both ends fit into one number as long as ids are below 2^31, as they are in nearly every
        # file. From the first larger id on, each end has a number of its own, twice the memory.
        if self._wide or max(_largest(links.sources), _largest(links.targets)) > _TARGET:
            self._widen()
            self._wide.frombytes(np.column_stack(links[:2]).tobytes())
        else:
            self._keys.frombytes(_keys(links.sources, links.targets).tobytes())

    def graph_of(self, nodes: int) -> BuiltGraph:
        """Return the graph of all nodes, if ids are from 0 to nodes - 1."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        if not self._weights:
            keys.sort()
            left, weights = squeeze(keys), None
        else:
            left, weights = _merge(keys, np.frombuffer(self._weights, dtype=np.float32))
        ends = np.arange(nodes + 1, dtype=np.int64) << _TARGET_BITS
        starts = np.searchsorted(keys[:left], ends).astype(np.int64, copy=False)
        # The targets are stored over the keys, at half the width. Reads stay ahead of writes.
        packed, done = keys.view(np.int32), 0
        for part in _key_slices(keys[:left]):
            packed[done : done + len(part)] = part & _TARGET
            done += len(part)
        part = keys[:0]
        del keys, packed, part  # a view would keep the array from shrinking
        del self._keys[(left + 1) // 2 :]
        targets = np.frombuffer(self._keys, dtype=np.int32, count=left)
        return BuiltGraph(Csr(starts=starts, targets=targets), weights)

    def of_ids(self) -> tuple[BuiltGraph, Ids]:
        """Return the graph of all ids that occur, and the ascending ids of its nodes."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        is_dense = not self._wide and _largest_id(keys) < max(_SPARSE * len(keys), _KEYS_AT_ONCE)
        del keys  # a view would keep the array from changing
        ids = self._number_densely() if is_dense else self._number_sparsely()
        return self.graph_of(len(ids)), ids

    def _number_densely(self) -> Ids:
        """Replace ids by nodes with a table of all possible ids."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        occurs = np.zeros(_largest_id(keys) + 1, dtype=np.bool_)
        for part in _key_slices(keys):
            occurs[part >> _TARGET_BITS] = True
            occurs[part & _TARGET] = True
        ids = np.flatnonzero(occurs)
        if len(ids) < len(occurs):
            node = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
            for part in _key_slices(keys):
                part[:] = _keys(node[part >> _TARGET_BITS], node[part & _TARGET])
        return ids

    def _number_sparsely(self) -> Ids:
        self._widen()
        ends = np.frombuffer(self._wide, dtype=np.int64)
        ids = np.unique(ends)
        if len(ids) > MOST_NODES:  # pragma: no cover - takes 60 GB
            raise ValueError(f"a graph has {MOST_NODES} nodes at most, not {len(ids)}")
        for part in _key_slices(ends):
            nodes = np.searchsorted(ids, part)
            self._keys.frombytes(_keys(nodes[::2], nodes[1::2]).tobytes())
        del ends, part
        self._wide = array("q")
        return ids

    def _widen(self) -> None:
        keys = np.frombuffer(self._keys, dtype=np.int64)
        self._wide.frombytes(np.column_stack((keys >> _TARGET_BITS, keys & _TARGET)).tobytes())
        self._keys = array("q")


def _keys(sources: NDArray[np.integer], targets: NDArray[np.integer]) -> Ids:
    keys = sources.astype(np.int64)
    keys <<= _TARGET_BITS
    keys |= targets
    return keys


def _largest(ids: Ids) -> int:
    return int(ids.max(initial=-1))


def _largest_id(keys: Ids) -> int:
    targets = max((int((part & _TARGET).max()) for part in _key_slices(keys)), default=-1)
    return max(_largest(keys) >> _TARGET_BITS, targets)


def _key_slices(keys: Ids) -> list[Ids]:
    return [keys[start : start + _KEYS_AT_ONCE] for start in range(0, len(keys), _KEYS_AT_ONCE)]


def squeeze(keys: Ids) -> int:
    """Move the distinct values of ascending keys to the front, and return their number."""
    left, last = 0, -1
    for part in _key_slices(keys):
        fresh = part[np.diff(part, prepend=last) != 0]
        last = int(part[-1])
        keys[left : left + len(fresh)] = fresh
        left += len(fresh)
    return left


def _merge(keys: Ids, weights: Weights) -> tuple[int, Weights]:
    """Like `squeeze` for unsorted keys; also return the sum of the weights of each distinct key."""
    order = np.argsort(keys, kind="stable")
    keys[:] = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(weights[order], firsts, dtype=np.float64)
    keys[: len(firsts)] = keys[firsts]
    return len(firsts), sums.astype(np.float32)


class RowBuilder:
    """Single-use builder of a graph from whole rows, with a known number of nodes."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._degrees = np.zeros(nodes, dtype=np.int64)
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []

    def add(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        """Add the rows of some nodes. Each node may be added only once."""
        is_ascending = (targets[1:] > targets[:-1]) | (sources[1:] != sources[:-1])
        if not is_ascending.all():
            keys = distinct_keys(self._nodes, sources, targets)
            sources, targets = np.divmod(keys, self._nodes)
        firsts = np.flatnonzero(np.diff(sources, prepend=-1))
        nodes = sources[firsts]
        self._degrees[nodes] = np.diff(firsts, append=len(sources))
        self._blocks.append((nodes, targets.astype(np.int32)))

    def graph(self) -> Csr:
        """Return the graph. The memory of the rows is freed block by block."""
        starts = np.concatenate(([0], np.cumsum(self._degrees)))
        ends = np.empty(starts[-1], dtype=np.int32)
        while self._blocks:
            nodes, targets = self._blocks.pop()
            degrees = self._degrees[nodes]
            shifts = starts[nodes] - (np.cumsum(degrees) - degrees)
            ends[np.repeat(shifts, degrees) + np.arange(len(targets))] = targets
        return Csr(starts=starts, targets=ends)

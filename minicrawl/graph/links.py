"""Links on their way to a graph: in any order, or all links of a node at once.

`LinkBuilder` takes links of ids in any order. While links are gathered and while they are sorted, a
link takes 8 bytes, and 4 more if it has a weight; in the end 4, or 8. Two things cost more: ids of
2^31 and above or far fewer than their range, and sorting links with weights. Links that are there
twice become one, and their weights are summed.

`RowBuilder` takes rows: all links of a node at once, the nodes in any order. While the graph is
made a link takes 8 bytes, 4 in its row and 4 in its place.

Law: the graph is the one that `Csr.from_edges` makes of the same links.

id    what a list calls a node: a whole number from 0 to 2^63 - 1
key   a link as one number: its source in the upper bits, its target in the last 31
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
_AT_ONCE = 1 << 18
"""Links that are worked on together: few enough to stay near the processor."""

_SPARSE = 8  # so many numbers that could be ids for each link


class LinkArrays(NamedTuple):
    """Some links: link k leads from `sources[k]` to `targets[k]`."""

    sources: Ids
    targets: Ids
    weights: NDArray[np.float64] | None = None


class BuiltGraph(NamedTuple):
    """A graph, and the weight of each of its links where they have any."""

    graph: Csr
    weights: Weights | None


class LinkBuilder:
    """Takes links, gives the graph of them, once."""

    def __init__(self) -> None:
        self._keys = array("q")
        self._wide = array("q")  # sources and targets in turn, as soon as one id is large
        self._weights = array("f")

    def __len__(self) -> int:
        return len(self._keys) + len(self._wide) // 2

    def add(self, links: LinkArrays) -> None:
        """All links have weights, or none has."""
        if links.weights is not None:
            self._weights.frombytes(links.weights.astype(np.float32).tobytes())
        if self._wide or max(_top(links.sources), _top(links.targets)) > _TARGET:
            self._widen()
            self._wide.frombytes(np.column_stack(links[:2]).tobytes())
        else:
            self._keys.frombytes(_keys(links.sources, links.targets).tobytes())

    def among(self, nodes: int) -> BuiltGraph:
        """The graph where ids are the nodes themselves, from 0 to nodes - 1."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        if not self._weights:
            keys.sort()
            left, weights = squeeze(keys), None
        else:
            left, weights = _merge(keys, np.frombuffer(self._weights, dtype=np.float32))
        ends = np.arange(nodes + 1, dtype=np.int64) << _TARGET_BITS
        starts = np.searchsorted(keys[:left], ends).astype(np.int64, copy=False)
        _pack(keys[:left])
        del keys  # whose memory can now shrink
        del self._keys[(left + 1) // 2 :]
        targets = np.frombuffer(self._keys, dtype=np.int32, count=left)
        return BuiltGraph(Csr(starts=starts, targets=targets), weights)

    def of_ids(self) -> tuple[BuiltGraph, Ids]:
        """The graph of all ids that occur, in their order; node i is the i-th of them."""
        ids = self._number_densely() if self._is_dense() else self._number_sparsely()
        return self.among(len(ids)), ids

    def _is_dense(self) -> bool:
        keys = np.frombuffer(self._keys, dtype=np.int64)
        return not self._wide and _top_id(keys) < max(_SPARSE * len(keys), _AT_ONCE)

    def _number_densely(self) -> Ids:
        """By a table of all numbers that could be ids."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        occurs = np.zeros(_top_id(keys) + 1, dtype=np.bool_)
        for some in _pieces(keys):
            occurs[some >> _TARGET_BITS] = True
            occurs[some & _TARGET] = True
        ids = np.flatnonzero(occurs)
        if len(ids) < len(occurs):
            node = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
            for some in _pieces(keys):
                some[:] = _keys(node[some >> _TARGET_BITS], node[some & _TARGET])
        return ids

    def _number_sparsely(self) -> Ids:
        self._widen()
        ends = np.frombuffer(self._wide, dtype=np.int64)
        ids = np.unique(ends)
        if len(ids) > MOST_NODES:  # pragma: no cover - takes 60 GB
            raise ValueError(f"a graph has {MOST_NODES} nodes at most, not {len(ids)}")
        for some in _pieces(ends):
            nodes = np.searchsorted(ids, some)
            self._keys.frombytes(_keys(nodes[::2], nodes[1::2]).tobytes())
        del ends, some
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


def _top(ids: Ids) -> int:
    return int(ids.max(initial=-1))


def _top_id(keys: Ids) -> int:
    """The largest id, or -1."""
    targets = max((int((some & _TARGET).max()) for some in _pieces(keys)), default=-1)
    return max(_top(keys) >> _TARGET_BITS, targets)


def _pieces(keys: Ids) -> list[Ids]:
    """Views, side by side."""
    return [keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE)]


def squeeze(keys: Ids) -> int:
    """Move the different ones of ascending keys to the front; say how many these are."""
    left, last = 0, -1
    for some in _pieces(keys):
        fresh = some[np.diff(some, prepend=last) != 0]
        last = int(some[-1])
        keys[left : left + len(fresh)] = fresh
        left += len(fresh)
    return left


def _merge(keys: Ids, weights: Weights) -> tuple[int, Weights]:
    """The same in any order, with the sums of the weights of equal keys."""
    order = np.argsort(keys, kind="stable")
    keys[:] = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(weights[order], firsts, dtype=np.float64)
    keys[: len(firsts)] = keys[firsts]
    return len(firsts), sums.astype(np.float32)


def _pack(keys: Ids) -> None:
    """Put the targets where the keys are, in half the room; what is read lies always ahead."""
    targets, done = keys.view(np.int32), 0
    for some in _pieces(keys):
        targets[done : done + len(some)] = some & _TARGET
        done += len(some)


# ---------------------------------------------------------------- rows


class RowBuilder:
    """Takes rows of a graph of so many nodes, gives the graph, once."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._degrees = np.zeros(nodes, dtype=np.int64)
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []

    def add(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        """The rows of some nodes, side by side. No node may come twice."""
        if not _is_in_order(sources, targets):
            keys = distinct_keys(self._nodes, sources, targets)
            sources, targets = np.divmod(keys, self._nodes)
        firsts = np.flatnonzero(np.diff(sources, prepend=-1))
        pages = sources[firsts]
        self._degrees[pages] = np.diff(firsts, append=len(sources))
        self._blocks.append((pages, targets.astype(np.int32)))

    def graph(self) -> Csr:
        """The graph. The memory of the rows is freed block by block."""
        starts = np.concatenate(([0], np.cumsum(self._degrees)))
        ends = np.empty(starts[-1], dtype=np.int32)
        while self._blocks:
            pages, targets = self._blocks.pop()
            degrees = self._degrees[pages]
            shifts = starts[pages] - (np.cumsum(degrees) - degrees)
            ends[np.repeat(shifts, degrees) + np.arange(len(targets))] = targets
        return Csr(starts=starts, targets=ends)


def _is_in_order(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> bool:
    """Whether the targets of each node ascend, each once."""
    return bool(((targets[1:] > targets[:-1]) | (sources[1:] != sources[:-1])).all())

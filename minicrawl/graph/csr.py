"""A directed graph as compressed sparse rows (CSR): the links of node i lie side by side.

Law: the targets of node i are `targets[starts[i]:starts[i + 1]]`, ascending, each once; so two
graphs with the same nodes and links have the same arrays. A link from a node to itself is kept.

starts   nodes + 1 positions in `targets`, from 0 to edges, never falling.
targets  one node for each link, from 0 to nodes - 1.

Links are put into rows a piece at a time, by a stable counting sort: what has the same row keeps
its order. Beside what is given and made, that takes memory for one piece, and 8 bytes a row.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

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


# ================================================================ named
#
# A graph whose nodes are known by name: URLs, hosts, titles, or the numbers of an edge list.
#
# Law: node i of `graph` is the i-th of `names`. Where links have weights, `weights[k]` is that of
# the link to `graph.targets[k]`, above 0; without them all links are alike.


class NodeHosts(NamedTuple):
    """On which host each node is; a node that is no URL is a host of its own."""

    of_node: NDArray[np.int32]
    names: Sequence[str]


class Names(Protocol):
    """What the nodes of a graph are called. It may have to look it up: ask for many at once."""

    def __len__(self) -> int:
        """How many nodes there are."""

    def of(self, nodes: Sequence[int]) -> list[str]:
        """The names of these nodes, in this order."""

    def find(self, names: Sequence[str]) -> list[int | None]:
        """The node of each name; None where the graph has none of this name."""

    def hosts(self) -> NodeHosts:
        """The hosts of all nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedGraph:
    """What every link analysis begins from."""

    graph: Csr
    names: Names
    weights: NDArray[np.float32] | None = None


# ================================================================ links
#
# Links on their way to a graph: in any order, or all links of a node at once.
#
# `LinkBuilder` takes links of ids in any order. While links are gathered and while they are sorted,
# a link takes 8 bytes, and 4 more if it has a weight; in the end 4, or 8. Two things cost more: ids
# of 2^31 and above or far fewer than their range, and sorting links with weights. Links that are
# there twice become one, and their weights are summed.
#
# `RowBuilder` takes rows: all links of a node at once, the nodes in any order. While the graph is
# made a link takes 8 bytes, 4 in its row and 4 in its place.
#
# Law: the graph is the one that `Csr.from_edges` makes of the same links.
#
# id    what a list calls a node: a whole number from 0 to 2^63 - 1
# key   a link as one number: its source in the upper bits, its target in the last 31

Ids = NDArray[np.int64]
Weights = NDArray[np.float32]

_TARGET_BITS = 31
_TARGET = (1 << _TARGET_BITS) - 1
_AT_ONCE_LINKS = 1 << 18
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
        return not self._wide and _top_id(keys) < max(_SPARSE * len(keys), _AT_ONCE_LINKS)

    def _number_densely(self) -> Ids:
        """By a table of all numbers that could be ids."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        occurs = np.zeros(_top_id(keys) + 1, dtype=np.bool_)
        for some in _pieces_links(keys):
            occurs[some >> _TARGET_BITS] = True
            occurs[some & _TARGET] = True
        ids = np.flatnonzero(occurs)
        if len(ids) < len(occurs):
            node = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
            for some in _pieces_links(keys):
                some[:] = _keys(node[some >> _TARGET_BITS], node[some & _TARGET])
        return ids

    def _number_sparsely(self) -> Ids:
        self._widen()
        ends = np.frombuffer(self._wide, dtype=np.int64)
        ids = np.unique(ends)
        if len(ids) > MOST_NODES:  # pragma: no cover - takes 60 GB
            raise ValueError(f"a graph has {MOST_NODES} nodes at most, not {len(ids)}")
        for some in _pieces_links(ends):
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
    targets = max((int((some & _TARGET).max()) for some in _pieces_links(keys)), default=-1)
    return max(_top(keys) >> _TARGET_BITS, targets)


def _pieces_links(keys: Ids) -> list[Ids]:
    """Views, side by side."""
    return [keys[start : start + _AT_ONCE_LINKS] for start in range(0, len(keys), _AT_ONCE_LINKS)]


def squeeze(keys: Ids) -> int:
    """Move the different ones of ascending keys to the front; say how many these are."""
    left, last = 0, -1
    for some in _pieces_links(keys):
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
    for some in _pieces_links(keys):
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


# ================================================================ parts
#
# Parts of a graph: some of its links, or some of its nodes and the links between them.
#
# Law: what is kept keeps its order, so that nothing is sorted again, and in a graph whose nodes
# have names also its name and the weights of its links. In a part of the nodes, node i is the i-th
# of those that were kept.

Mask = NDArray[np.bool_]


def with_links(graph: Csr, is_kept: Mask) -> Csr:
    """All nodes, and of the links those for which `is_kept` is true, in the order of `targets`."""
    kept_before = np.zeros(graph.edges + 1, dtype=np.int64)
    np.cumsum(is_kept, out=kept_before[1:])
    return Csr(starts=kept_before[graph.starts], targets=graph.targets[is_kept])


def links_between(graph: Csr, is_kept: Mask) -> Mask:
    """Of each link, whether both its ends are kept."""
    return np.repeat(is_kept, graph.out_degrees()) & is_kept[graph.targets]


def with_pages(graph: Csr, is_kept: Mask) -> Csr:
    """The nodes for which `is_kept` is true, renumbered, and the links between them."""
    between = with_links(graph, links_between(graph, is_kept))
    number = np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
    starts = np.append(between.starts[:-1][is_kept], between.edges)
    return Csr(starts=starts, targets=number[between.targets])


class SomeNames:
    """The names of some nodes of a graph."""

    def __init__(self, names: Names, nodes: NDArray[np.int64]) -> None:
        """The nodes ascend."""
        self._names = names
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return self._names.of(self._nodes[np.asarray(nodes, dtype=np.int64)].tolist())

    def find(self, names: Sequence[str]) -> list[int | None]:
        return [None if node is None else self._place(node) for node in self._names.find(names)]

    def hosts(self) -> NodeHosts:
        of_node, names = self._names.hosts()
        return NodeHosts(of_node[self._nodes], names)

    def _place(self, node: int) -> int | None:
        place = int(np.searchsorted(self._nodes, node))
        return place if place < len(self) and self._nodes[place] == node else None


def with_nodes(named: NamedGraph, is_kept: Mask) -> NamedGraph:
    """The nodes for which `is_kept` is true, and the links between them."""
    weights = named.weights
    return NamedGraph(
        graph=with_pages(named.graph, is_kept),
        names=SomeNames(named.names, np.flatnonzero(is_kept)),
        weights=None if weights is None else weights[links_between(named.graph, is_kept)],
    )

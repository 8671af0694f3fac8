"""Directed graphs as compressed sparse rows (CSR): the links of node i are adjacent in memory.

Invariant: the targets of node i are `targets[starts[i]:starts[i + 1]]`, ascending and distinct. So
two graphs with the same nodes and links have the same arrays. Self-links are kept.

starts   nodes + 1 positions in `targets`, from 0 to edges, non-decreasing.
targets  one node for each link, from 0 to nodes - 1.

Links are distributed to rows in pieces, by a stable counting sort. Besides input and output, this
takes memory for one piece and 8 bytes for each row.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.wording import counted

Starts = NDArray[np.int64]
Edge = tuple[int, int]

_BITS = 16
_AT_ONCE = 1 << _BITS
"""Number of links processed together: their sort fits into the processor's cache."""

MOST_NODES = 2**31 - 1
"""Node ids have 31 bits: both ends of a link fit into one sortable 64-bit key."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Csr:
    """A graph of the nodes 0 to nodes - 1. Graphs compare by identity, not by their arrays."""

    starts: Starts
    targets: NDArray[np.int32]

    @staticmethod
    def from_edges(nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> "Csr":
        """Return the graph with a link from `sources[k]` to `targets[k]` for every k."""
        _check_ends(nodes, sources, targets)
        starts = starts_of(nodes, sources)
        ends = np.empty(len(targets), dtype=np.int32)
        place(starts, sources, targets.__getitem__, ends)
        return _distinct(starts, ends)

    def __repr__(self) -> str:
        return f"<Csr of {counted(self.nodes, 'node')}, {counted(self.edges, 'link')}>"

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
        """Return the source of each link, in the order of `targets`."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), self.out_degrees())

    def targets_of(self, node: int) -> NDArray[np.int32]:
        """Return the nodes that `node` links to; a view, not a copy."""
        if not 0 <= node < self.nodes:
            raise IndexError(f"node {node} out of range: the graph has {self.nodes} nodes")
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def adjacency(self) -> list[list[int]]:
        """Return the targets of every node as lists: Python loops are faster over lists."""
        flat = self.targets.tolist()
        return [flat[start:end] for start, end in pairwise(self.starts.tolist())]

    def reversed(self) -> "Csr":
        """Return the graph with all links reversed."""
        starts = starts_of(self.nodes, self.targets)
        sources = np.empty(self.edges, dtype=np.int32)
        place(starts, self.targets, self._sources_of, sources)
        return Csr(starts=starts, targets=sources)

    def turned(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reorder values of links from the order of `targets` to that of the reversed graph."""
        turned = np.empty_like(values)
        place(starts_of(self.nodes, self.targets), self.targets, values.__getitem__, turned)
        return turned

    def _sources_of(self, links: slice) -> NDArray[np.int64]:
        """Return the sources of a range of links."""
        first, last = np.searchsorted(self.starts, (links.start, links.stop - 1), side="right")
        counts = np.diff(self.starts[first - 1 : last + 1].clip(links.start, links.stop))
        return np.repeat(np.arange(first - 1, last), counts)


def _check_ends(nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> None:
    if not 0 <= nodes <= MOST_NODES:
        raise ValueError(f"a graph has 0 to {MOST_NODES} nodes, not {nodes}")
    if sources.shape != targets.shape or sources.ndim != 1:
        raise ValueError(
            f"sources and targets differ in shape: {sources.shape} and {targets.shape}"
        )
    for name, ends in (("source", sources), ("target", targets)):
        outside = ends[(ends < 0) | (ends >= nodes)]
        if outside.size:
            raise ValueError(f"{name} {outside[0]} out of range: the graph has {nodes} nodes")


def distinct_keys(
    nodes: int, sources: NDArray[np.integer], targets: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return source * nodes + target of every link, ascending and distinct.

    Sorting one array takes a third of the time of a lexical sort of two columns.
    """
    keys = sources.astype(np.int64)
    keys *= nodes
    keys += targets
    keys.sort()
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]


def _distinct(starts: Starts, targets: NDArray[np.int32]) -> Csr:
    """Return the graph of unsorted rows; sorts the targets of each row and drops duplicates."""
    nodes, left = len(starts) - 1, 0
    first_of = np.zeros_like(starts)
    for first, last in blocks(starts):
        sources = np.repeat(np.arange(first, last), np.diff(starts[first : last + 1]))
        keys = distinct_keys(nodes, sources, targets[starts[first] : starts[last]])
        ends = np.arange(first + 1, last + 1) * nodes
        first_of[first + 1 : last + 1] = left + np.searchsorted(keys, ends)
        targets[left : left + len(keys)] = keys % nodes
        left += len(keys)
    targets.resize(left, refcheck=False)  # in place: the memory after the end is freed
    return Csr(starts=first_of, targets=targets)


# ---------------------------------------------------------------- links into rows


def _pieces(links: int) -> Iterator[slice]:
    """Yield slices that cover all links."""
    return (slice(first, min(first + _AT_ONCE, links)) for first in range(0, links, _AT_ONCE))


def starts_of(rows: int, row_of: NDArray[np.integer]) -> Starts:
    """Return the start of each row and the end of the last one, from the row of each link."""
    starts = np.zeros(rows + 1, dtype=np.int64)
    for piece in _pieces(len(row_of)):
        # Adding at indices of pointer width is twice as fast.
        np.add.at(starts[1:], row_of[piece].astype(np.intp), 1)
    return np.cumsum(starts, out=starts)


def place(
    starts: Starts,
    row_of: NDArray[np.integer],
    values_of: Callable[[slice], NDArray[Any]],
    into: NDArray[Any],
) -> None:
    """Store a value for each link in its row; `values_of` returns the values of a slice."""
    free = starts[:-1].copy()
    for piece in _pieces(len(row_of)):
        # Sorting row and position as one number is faster than an argsort of rows.
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
        into[places] = values_of(piece)[order]
        free[rows] += counts


def blocks(starts: Starts) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, end) of rows with about `_AT_ONCE` links each."""
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], _AT_ONCE))
    return pairwise(sorted({*cuts.tolist(), len(starts) - 1}))


# ================================================================ named
#
# Graphs with named nodes: URLs, hosts, titles, or the ids of an edge list.
#
# Invariant: node i of `graph` is the i-th of `names`. Where links have weights, `weights[k]` > 0 is
# that of the link to `graph.targets[k]`; without weights all links are equal.


class NodeHosts(NamedTuple):
    """The host of each node; a node that is not a URL is its own host."""

    of_node: NDArray[np.int32]
    names: Sequence[str]


class Names(Protocol):
    """Names of the nodes of a graph; look-ups may be slow, so they take many at once."""

    def __len__(self) -> int:
        """Return the number of nodes."""

    def of(self, nodes: Sequence[int]) -> list[str]:
        """Return the names of these nodes, in this order."""

    def find(self, names: Sequence[str]) -> list[int | None]:
        """Return the node of each name; None for unknown names."""

    def hosts(self) -> NodeHosts:
        """Return the hosts of all nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedGraph:
    """A graph with named nodes, the input of every link analysis."""

    graph: Csr
    names: Names
    weights: NDArray[np.float32] | None = None


# ================================================================ links
#
# Builders that turn links into a graph: links in any order, or all links of a node at once.
#
# `LinkBuilder` takes links between ids in any order. A link takes 8 bytes while links are collected
# and sorted, and 4 more with a weight; in the finished graph it takes 4, or 8. More memory is
# needed for ids of 2^31 and above, for ids that are far fewer than their range, and for sorting
# links with weights. Duplicate links are merged, and their weights summed.
#
# `RowBuilder` takes rows: all links of a node at once, the nodes in any order. A link takes 8 bytes
# while the graph is built, 4 in its row and 4 in the result.
#
# Both build the graph that `Csr.from_edges` makes of the same links.
#
# id    name of a node in a list: an integer from 0 to 2^63 - 1
# key   a link as one integer: its source in the upper bits, its target in the lowest 31

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
        _pack(keys[:left])
        del keys  # a view would keep the array from shrinking
        del self._keys[(left + 1) // 2 :]
        targets = np.frombuffer(self._keys, dtype=np.int32, count=left)
        return BuiltGraph(Csr(starts=starts, targets=targets), weights)

    def of_ids(self) -> tuple[BuiltGraph, Ids]:
        """Return the graph of all ids that occur, and the ascending ids of its nodes."""
        ids = self._number_densely() if self._is_dense() else self._number_sparsely()
        return self.graph_of(len(ids)), ids

    def _is_dense(self) -> bool:
        keys = np.frombuffer(self._keys, dtype=np.int64)
        return not self._wide and _largest_id(keys) < max(_SPARSE * len(keys), _KEYS_AT_ONCE)

    def _number_densely(self) -> Ids:
        """Replace ids by nodes with a table of all possible ids."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        occurs = np.zeros(_largest_id(keys) + 1, dtype=np.bool_)
        for some in _key_slices(keys):
            occurs[some >> _TARGET_BITS] = True
            occurs[some & _TARGET] = True
        ids = np.flatnonzero(occurs)
        if len(ids) < len(occurs):
            node = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
            for some in _key_slices(keys):
                some[:] = _keys(node[some >> _TARGET_BITS], node[some & _TARGET])
        return ids

    def _number_sparsely(self) -> Ids:
        self._widen()
        ends = np.frombuffer(self._wide, dtype=np.int64)
        ids = np.unique(ends)
        if len(ids) > MOST_NODES:  # pragma: no cover - takes 60 GB
            raise ValueError(f"a graph has {MOST_NODES} nodes at most, not {len(ids)}")
        for some in _key_slices(ends):
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


def _largest(ids: Ids) -> int:
    return int(ids.max(initial=-1))


def _largest_id(keys: Ids) -> int:
    """Return the largest id, or -1."""
    targets = max((int((some & _TARGET).max()) for some in _key_slices(keys)), default=-1)
    return max(_largest(keys) >> _TARGET_BITS, targets)


def _key_slices(keys: Ids) -> list[Ids]:
    """Return consecutive views that cover all keys."""
    return [keys[start : start + _KEYS_AT_ONCE] for start in range(0, len(keys), _KEYS_AT_ONCE)]


def squeeze(keys: Ids) -> int:
    """Move the distinct values of ascending keys to the front, and return their number."""
    left, last = 0, -1
    for some in _key_slices(keys):
        fresh = some[np.diff(some, prepend=last) != 0]
        last = int(some[-1])
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


def _pack(keys: Ids) -> None:
    """Store the targets over the keys, at half the width. Reads stay ahead of writes."""
    targets, done = keys.view(np.int32), 0
    for some in _key_slices(keys):
        targets[done : done + len(some)] = some & _TARGET
        done += len(some)


# ---------------------------------------------------------------- rows


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


# ================================================================ parts
#
# Subgraphs: some of the links, or some of the nodes and the links between them.
#
# The order of nodes and links is kept, so nothing is sorted again; a named graph keeps its names
# and weights. In a subgraph of some nodes, node i is the i-th node that was kept.

Mask = NDArray[np.bool_]


def with_links(graph: Csr, is_kept: Mask) -> Csr:
    """Return the graph with all nodes and the links marked in `is_kept`."""
    kept_before = np.zeros(graph.edges + 1, dtype=np.int64)
    np.cumsum(is_kept, out=kept_before[1:])
    return Csr(starts=kept_before[graph.starts], targets=graph.targets[is_kept])


def links_between(graph: Csr, is_kept: Mask) -> Mask:
    """Return a mask of the links whose two ends are kept."""
    return np.repeat(is_kept, graph.out_degrees()) & is_kept[graph.targets]


def with_pages(graph: Csr, is_kept: Mask) -> Csr:
    """Return the graph of the nodes marked in `is_kept`, renumbered, and the links between them."""
    between = with_links(graph, links_between(graph, is_kept))
    number = np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
    starts = np.append(between.starts[:-1][is_kept], between.edges)
    return Csr(starts=starts, targets=number[between.targets])


class SomeNames:
    """Names of some nodes of a graph."""

    def __init__(self, names: Names, nodes: NDArray[np.int64]) -> None:
        """Restrict `names` to these nodes, which ascend."""
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
    """Return the named graph of the nodes marked in `is_kept` and the links between them."""
    weights = named.weights
    return NamedGraph(
        graph=with_pages(named.graph, is_kept),
        names=SomeNames(named.names, np.flatnonzero(is_kept)),
        weights=None if weights is None else weights[links_between(named.graph, is_kept)],
    )


# ================================================================ products
#
# Products of the adjacency matrix A of a graph with vectors. A[i, j] is the weight of the link from
# node i to node j, 1 for links without weights, 0 for no link.
#
#     pulled(x) = A x     each node sums the values of the nodes that it links to
#     pushed(x) = Aᵀ x    each node adds its value to all nodes that it links to
#     through(x) = AᵀA x  both in one pass over the links
#
# All of them read the rows of the graph in place. No transposed copy is made, so memory is that of
# the graph, the vectors and one block of links. They are composed of two products of rows of links
# with a vector:
#
#     gather   y_i += Σ w_ij x_j   each row sums the values of its targets
#     scatter  y_j += Σ w_ij x_i   each row adds its value to its targets
#
# scipy has both as the C loops of its sparse matrices; here they are called on parts of a graph in
# place. numpy does the same in three to four times the time: without the extra `ranks`, for small
# graphs, and if a release of scipy lacks these loops, which are not part of its public API.

AnyFloats = NDArray[np.floating[Any]]


class WeightedRows(NamedTuple):
    """Rows of links: those of row i go from `starts[i]` to `starts[i + 1]`."""

    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: AnyFloats


class RowProducts(NamedTuple):
    """Functions (rows, x, y) that add their product to y."""

    gather: Callable[[WeightedRows, AnyFloats, AnyFloats], None]
    scatter: Callable[[WeightedRows, AnyFloats, AnyFloats], None]


@cache
def row_products() -> RowProducts:
    """Return the fastest products. scipy is imported on first use, as it takes 25 MB."""
    try:
        from scipy.sparse import _sparsetools

        return _by_loops(_sparsetools.csr_matvec, _sparsetools.csc_matvec)
    except (ImportError, AttributeError):
        return by_counting()


def _by_loops(csr_matvec: Callable[..., None], csc_matvec: Callable[..., None]) -> RowProducts:
    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csr_matvec(len(y), len(x), *rows, x, y)

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csc_matvec(len(y), len(x), *rows, x, y)

    return RowProducts(gather, scatter)


def by_counting() -> RowProducts:
    """Return products by numpy: no import, but each call allocates a vector."""

    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        places = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        y += np.bincount(places, rows.weights * x[rows.targets], len(y))

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        handed = np.repeat(x, np.diff(rows.starts)) * rows.weights
        y += np.bincount(rows.targets, handed, len(y))

    return RowProducts(gather, scatter)


Vector = NDArray[np.float64]

_LINKS_AT_ONCE = 1 << 16  # a block and its intermediate results fit into the processor's cache


class AdjacencyBlock(NamedTuple):
    """Block of nodes, with their links and the start of each node's links in the block."""

    nodes: slice | NDArray[np.intp]
    links: slice | NDArray[np.int64]
    starts: NDArray[np.int64]


class Adjacency:
    """The adjacency matrix of a graph; `weights` are in the order of its targets."""

    def __init__(
        self, graph: Csr, weights: Weights | None = None, links_at_once: int = _LINKS_AT_ONCE
    ) -> None:
        """`links_at_once` is the usual number of links of a block."""
        self.graph = graph
        self.weights = weights
        self._at_once = links_at_once
        # Blocks have about equally many links, not nodes: with equally many nodes, a block with a
        # node of a million links would not fit into the cache.
        firsts = np.searchsorted(graph.starts, np.arange(0, graph.edges, links_at_once))
        self._cuts = sorted({0, *firsts.tolist(), graph.nodes})
        self._cached_ones: AnyFloats = np.empty(0)
        self._products = row_products()

    def pulled(self, x: Vector) -> Vector:
        """Return A x."""
        sums = np.empty(self.graph.nodes)
        for block in self.blocks():
            sums[block.nodes] = self._gathered(self._rows(block, x), x)
        return sums

    def through(self, x: Vector) -> Vector:
        """Return AᵀA x, without storing A x."""
        sums = np.zeros(self.graph.nodes)
        for block in self.blocks():
            rows = self._rows(block, x)
            self._products.scatter(rows, self._gathered(rows, x), sums)
        return sums

    def pushed(self, x: Vector) -> Vector:
        """Return Aᵀ x."""
        sums: Vector = self.pushed_all(x[np.newaxis])[0]
        return sums

    def pushed_all(self, xs: AnyFloats) -> AnyFloats:
        """Return Aᵀ x for every row x, in one pass over the links."""
        sums = np.zeros_like(xs)
        for block in self.blocks():
            self.push(block, xs[:, block.nodes], sums)
        return sums

    def push(self, block: AdjacencyBlock, xs: AnyFloats, to: AnyFloats) -> None:
        """Push each row of `xs`, values of a block's nodes, and add it to the same row of `to`."""
        rows = self._rows(block, to)
        for x, sums in zip(xs, to, strict=True):
            self._products.scatter(rows, x, sums)

    def _rows(self, block: AdjacencyBlock, like: AnyFloats) -> WeightedRows:
        targets = self.graph.targets[block.links]
        if self.weights is None:
            count, ones = len(targets), self._cached_ones
            if len(ones) < count or ones.dtype != like.dtype:
                ones = self._cached_ones = np.ones(max(count, self._at_once), dtype=like.dtype)
            weights = ones[:count]
        else:
            weights = self.weights[block.links].astype(like.dtype, copy=False)
        return WeightedRows(block.starts.astype(np.int32), targets, weights)

    def _gathered(self, rows: WeightedRows, x: AnyFloats) -> AnyFloats:
        """Return, for each node of a block, the weighted sum of its targets' values."""
        sums = np.zeros(len(rows.starts) - 1, dtype=x.dtype)
        self._products.gather(rows, x, sums)
        return sums

    def blocks(self) -> Iterator[AdjacencyBlock]:
        """Yield blocks that cover all nodes."""
        starts = self.graph.starts
        for first, last in pairwise(self._cuts):
            links = slice(int(starts[first]), int(starts[last]))
            yield AdjacencyBlock(slice(first, last), links, starts[first : last + 1] - links.start)

    def blocks_of(self, nodes: NDArray[np.intp]) -> Iterator[AdjacencyBlock]:
        """Yield blocks that cover these nodes, each small enough for the cache."""
        starts = self.graph.starts
        ends = np.cumsum(starts[nodes + 1] - starts[nodes])
        cuts = np.searchsorted(ends, np.arange(self._at_once, ends.max(initial=0), self._at_once))
        for some in np.split(nodes, cuts):
            within = np.append(0, np.cumsum(starts[some + 1] - starts[some]))
            links = np.repeat(starts[some] - within[:-1], np.diff(within))
            links += np.arange(len(links))
            yield AdjacencyBlock(some, links, within)

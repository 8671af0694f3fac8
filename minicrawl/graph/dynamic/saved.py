"""Graphs with their answers as bytes (`.g`), and as DIMACS text.

Law: what is packed comes back equal, edges in the order of insertion. A damaged file is refused
with a reason; nothing is read past its end.

All numbers are little-endian u32: the name ends with a NUL; pages, edges, components; distances
page by page, with 2^32 - 1 where no path is; the component of each page; then a byte for each pair
of pages, 1 if an edge is there; then the edges, tail and head. The first ten bytes are `minigraph`
and the version."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.dynamic.matrices import A4, FAR, MOST_PAGES, Distances
from minicrawl.graph.dynamic.recomputed import Tarjan
from minicrawl.graph.dynamic.suite import EdgeSequence

MAGIC = b"minigraph\x01"
_NO_PATH = 0xFFFFFFFF
_U32 = np.dtype("<u4")


@dataclass(frozen=True, slots=True, eq=False)
class SavedGraph:
    """A graph, and the answers that algorithms are validated against."""

    graph: EdgeSequence
    distances: Distances
    components: NDArray[np.int64]


def solved(graph: EdgeSequence) -> SavedGraph:
    """The graph with its answers."""
    distances, components = A4(graph.nodes), Tarjan(graph.nodes)
    distances.add_all(graph.edges)
    for source, target in graph.edges:
        components.add(source, target)
    return SavedGraph(graph, distances.distances, components.components)


def pack(saved: SavedGraph) -> bytes:
    """The graph as bytes."""
    graph = saved.graph
    edges = np.array(graph.edges, dtype=_U32).reshape(-1, 2)
    distances = saved.distances.astype(_U32)
    distances[saved.distances == FAR] = _NO_PATH
    is_edge = np.zeros((graph.nodes, graph.nodes), dtype=np.uint8)
    is_edge[edges[:, 0], edges[:, 1]] = 1
    sizes = np.array([graph.nodes, len(edges), len(np.unique(saved.components))], dtype=_U32)
    parts = (sizes, distances, saved.components.astype(_U32), is_edge, edges)
    name = graph.name.encode().replace(b"\0", b"")
    return MAGIC + name + b"\0" + b"".join(part.tobytes() for part in parts)


def unpack(data: bytes) -> SavedGraph:
    """The graph in these bytes; ValueError if they are none."""
    if not data.startswith(MAGIC[:-1]):
        raise ValueError("it does not begin with `minigraph`")
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError(f"it is of version {data[len(MAGIC) - 1]}; this program reads {MAGIC[-1]}")
    end = data.find(b"\0", len(MAGIC))
    if end < 0:
        raise ValueError("its name has no end")
    numbers = _Numbers(data, end + 1)
    nodes, edges, components = numbers.take(3).tolist()
    if nodes > MOST_PAGES or len(data) - numbers.place != 5 * nodes**2 + 4 * nodes + 8 * edges:
        raise ValueError(f"it is not as long as {nodes:,} pages and {edges:,} edges are")
    return _checked(
        numbers, data[len(MAGIC) : end].decode(errors="replace"), nodes, edges, components
    )


class _Numbers:
    """Takes numbers one array after the other."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self.place = data, place

    def take(
        self, count: int, kind: np.dtype[np.unsignedinteger] = _U32
    ) -> NDArray[np.unsignedinteger]:
        """So many numbers."""
        if len(self._data) < self.place + count * kind.itemsize:
            raise ValueError("it ends too early")
        found = np.frombuffer(self._data, dtype=kind, count=count, offset=self.place)
        self.place += count * kind.itemsize
        return found


def _checked(numbers: _Numbers, name: str, nodes: int, edges: int, components: int) -> SavedGraph:
    distances = numbers.take(nodes * nodes).reshape(nodes, nodes)
    component_of = numbers.take(nodes).astype(np.int64)
    numbers.take(nodes * nodes, np.dtype(np.uint8))
    ends = numbers.take(2 * edges)
    if (ends >= nodes).any() or (component_of >= nodes).any():
        raise ValueError(f"it names a page that is not among its {nodes:,}")
    if len(np.unique(component_of)) != components:
        raise ValueError("its components are not as many as it says")
    pairs = [(source, target) for source, target in ends.reshape(-1, 2).tolist()]
    graph = EdgeSequence(name, nodes, tuple(pairs))
    return SavedGraph(graph, np.minimum(distances, FAR).astype(np.uint16), component_of)


def as_dimacs(graph: EdgeSequence) -> Iterator[str]:
    """The lines of the graph as DIMACS text: pages from 1, all edges of length 1."""
    yield f"c {graph.name}"
    yield f"p sp {graph.nodes} {len(graph.edges)}"
    yield from (f"a {source + 1} {target + 1} 1" for source, target in graph.edges)

"""Graphs saved with their distances and components (`.g`), and graphs as DIMACS text.

The saved numbers are the expected results of algorithms that run on the graph.

Law: unpacking returns what was packed, with edges in the order of insertion. A damaged file is
refused with a reason.

The file has `minigraph` and a version byte, the name with a NUL at its end, and then
little-endian u32 numbers: pages, edges, components; the distances page by page, with 2^32 - 1 for
no path; the component of each page; then a byte for each pair of pages, 1 for an edge; then the
edges as tail and head.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import FAR, Distances

MAGIC = b"minigraph\x01"
_NO_PATH = 0xFFFFFFFF
_U32 = np.dtype("<u4")


@dataclass(frozen=True, slots=True)
class EdgeSequence:
    """A graph with a fixed order of edges."""

    name: str
    nodes: int
    edges: tuple[Edge, ...]

    @property
    def density(self) -> float:
        """Share of all possible edges that exist."""
        return len(self.edges) / max(1, self.nodes * (self.nodes - 1))


@dataclass(frozen=True, slots=True, eq=False)
class SavedGraph:
    """A graph with the distances and components that algorithms are validated against."""

    graph: EdgeSequence
    distances: Distances
    components: NDArray[np.int64]


def pack(saved: SavedGraph) -> bytes:
    """Return the graph as bytes."""
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
    """Return the graph in these bytes; ValueError if they hold none."""
    if not data.startswith(MAGIC[:-1]):
        raise ValueError("not a saved graph: no `minigraph` at the beginning")
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError(
            f"version {data[len(MAGIC) - 1]} of the format; only {MAGIC[-1]} is supported"
        )
    end = data.find(b"\0", len(MAGIC))
    if end < 0 or len(data) < end + 1 + 3 * _U32.itemsize:
        raise ValueError("truncated: the name or the sizes are incomplete")
    nodes, edges, components = np.frombuffer(data, _U32, 3, end + 1).tolist()
    place = end + 1 + 3 * _U32.itemsize
    expected = 5 * nodes**2 + 4 * nodes + 8 * edges
    if nodes > FAR or len(data) - place != expected:
        raise ValueError(
            f"{len(data) - place:,} bytes behind the sizes, expected {expected:,} for "
            f"{nodes:,} pages (at most {FAR:,}) and {edges:,} edges"
        )
    numbers = np.frombuffer(data, _U32, nodes * (nodes + 1), place)
    distances = numbers[: nodes * nodes].reshape(nodes, nodes)
    component_of = numbers[nodes * nodes :].astype(np.int64)
    ends = np.frombuffer(data, _U32, 2 * edges, len(data) - 8 * edges)
    if (ends >= nodes).any() or (component_of >= nodes).any():
        raise ValueError(f"a page number is not below {nodes:,}, the number of pages")
    if (distinct := len(np.unique(component_of))) != components:
        raise ValueError(f"{distinct:,} components, expected {components:,} by the sizes")
    pairs = [(source, target) for source, target in ends.reshape(-1, 2).tolist()]
    name = data[len(MAGIC) : end].decode(errors="replace")
    graph = EdgeSequence(name, nodes, tuple(pairs))
    return SavedGraph(graph, np.minimum(distances, FAR).astype(np.uint16), component_of)


def as_dimacs(graph: EdgeSequence) -> Iterator[str]:
    """Yield the lines of the graph as DIMACS text: pages from 1, all edges of length 1."""
    yield f"c {graph.name}"
    yield f"p sp {graph.nodes} {len(graph.edges)}"
    yield from (f"a {source + 1} {target + 1} 1" for source, target in graph.edges)

"""Small graphs that the tests of ranks share."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr, NamedGraph
from minicrawl.graphfiles import Texts

Pairs = list[tuple[int, int]]
Matrix = NDArray[np.float64]

NODES = 7

a_node = st.integers(0, NODES - 1)
some_links = st.sets(st.tuples(a_node, a_node), max_size=25).map(sorted)
some_weights = st.lists(st.integers(1, 9), min_size=25, max_size=25)

DEGENERATE = {
    "empty": (0, []),
    "a single node": (1, []),
    "all dangling": (4, []),
    "a link to itself": (1, [(0, 0)]),
    "disconnected": (6, [(0, 1), (2, 3), (4, 4)]),
    "a cycle": (3, [(0, 1), (1, 2), (2, 0)]),
}
"""By name: how many nodes, and the links."""


def graph_of(nodes: int, pairs: Pairs) -> Csr:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Csr.from_edges(nodes, ends[:, 0], ends[:, 1])


def dense(graph: Csr, weights: NDArray[np.float32] | None = None) -> Matrix:
    """The link matrix."""
    matrix = np.zeros((graph.nodes, graph.nodes))
    matrix[graph.sources(), graph.targets] = 1.0 if weights is None else weights
    return matrix


def through_virtual_page(graph: Csr, small_edge: float | None) -> Matrix:
    """What each page hands to each other one: along its links, and by way of the virtual page.

    The small edge is a share of each page, or None for one more link.
    """
    links = dense(graph)
    out = links.sum(axis=1, keepdims=True)
    along = 1 / (out + 1) if small_edge is None else (1 - small_edge) / np.maximum(out, 1)
    handed_on: Matrix = links * along
    rest = 1 - handed_on.sum(axis=1, keepdims=True)
    step: Matrix = handed_on + rest / graph.nodes
    return step


def fixpoint(step: Matrix) -> Matrix:
    """x = x step, with the sum 1."""
    nodes = len(step)
    equations = np.vstack([np.eye(nodes) - step.T, np.ones(nodes)])
    found: Matrix = np.linalg.lstsq(equations, np.append(np.zeros(nodes), 1.0), rcond=None)[0]
    return found


def random_graph(nodes: int, links: int, seed: int = 1) -> Csr:
    ends = np.random.default_rng(seed).integers(0, nodes, size=(2, links))
    return Csr.from_edges(nodes, *ends)


def links_of(graph: Csr) -> Pairs:
    return list(zip(graph.sources().tolist(), graph.targets.tolist(), strict=True))


def named(names: list[str], pairs: Pairs, weights: list[float] | None = None) -> NamedGraph:
    """A graph of URLs; weights are those of the pairs in order."""
    kept = None if weights is None else np.array(weights, dtype=np.float32)
    return NamedGraph(graph_of(len(names), pairs), Texts([name.encode() for name in names]), kept)

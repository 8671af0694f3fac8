"""Small graphs that the tests of ranks share."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graphfiles import Texts
from minicrawl.ranks.seeds.cores import Core, CoreRule, between_hosts, extracted
from minicrawl.report.graph.source import opened
from tests.graph.graphs import graph_of, links_of

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
"""Number of nodes and links of extreme graphs, keyed by name."""


def dense(graph: Csr, weights: NDArray[np.float32] | None = None) -> Matrix:
    """Link matrix: a row for each source, a column for each target."""
    matrix = np.zeros((graph.nodes, graph.nodes))
    matrix[graph.sources(), graph.targets] = 1.0 if weights is None else weights
    return matrix


def through_virtual_page(graph: Csr, small_edge: float | None) -> Matrix:
    """Matrix of what each page gives each other page, along links and by way of the virtual page.

    The virtual page gets the share `small_edge` of each page, or as much as one more link if None.
    """
    links = dense(graph)
    out = links.sum(axis=1, keepdims=True)
    along = 1 / (out + 1) if small_edge is None else (1 - small_edge) / np.maximum(out, 1)
    handed_on: Matrix = links * along
    rest = 1 - handed_on.sum(axis=1, keepdims=True)
    step: Matrix = handed_on + rest / graph.nodes
    return step


def with_virtual_page(links: Matrix) -> Matrix:
    """Link matrix with one more page, which links to all pages and which all link to."""
    pages = len(links)
    return np.block([[links, np.ones((pages, 1))], [np.ones((1, pages)), 0]])


def fixpoint(step: Matrix) -> Matrix:
    """Solve x = x step for the x whose sum is 1."""
    nodes = len(step)
    equations = np.vstack([np.eye(nodes) - step.T, np.ones(nodes)])
    found: Matrix = np.linalg.lstsq(equations, np.append(np.zeros(nodes), 1.0), rcond=None)[0]
    return found


def links_in(store: Path) -> set[tuple[str, str]]:
    """All links in a store, as pairs of URLs."""
    with opened(store, None) as source:
        graph, names = source.graph.graph, source.graph.names
        urls = names.of(range(graph.nodes))
        return {(urls[giver], urls[target]) for giver, target in links_of(graph)}


def named(names: Sequence[str], pairs: Pairs, weights: Sequence[float] | None = None) -> NamedGraph:
    """A graph of URLs. The weights are those of the links in ascending order."""
    kept = None if weights is None else np.array(weights, dtype=np.float32)
    return NamedGraph(graph_of(len(names), pairs), Texts([name.encode() for name in names]), kept)


def cores_of(web: NamedGraph, count: int, rule: CoreRule) -> list[Core]:
    """Extract the first cores of a web, without links inside its hosts."""
    return extracted(between_hosts(web.graph, web.names.hosts().of_node), count, rule)

"""Small graphs for tests, as lists of links."""

from collections.abc import Iterable

import networkx
import numpy as np
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr

Link = tuple[int, int]


def graph_of(nodes: int, links: Iterable[Link]) -> Csr:
    ends = np.array(list(links), dtype=np.int64).reshape(-1, 2)
    return Csr.from_edges(nodes, ends[:, 0], ends[:, 1])


def networkx_of(nodes: int, links: Iterable[Link]) -> networkx.DiGraph:
    """The graph as networkx has it, an oracle."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(links)
    return graph


def random_graph(nodes: int, links: int, seed: int = 1) -> Csr:
    ends = np.random.default_rng(seed).integers(0, nodes, (2, links))
    return Csr.from_edges(nodes, ends[0], ends[1])


def links_of(graph: Csr) -> list[Link]:
    return list(zip(graph.sources().tolist(), graph.targets.tolist(), strict=True))


@st.composite
def nodes_and_links(draw: st.DrawFn, least: int = 0) -> tuple[int, list[Link]]:
    nodes = draw(st.integers(least, 12))
    if nodes == 0:
        return 0, []
    page = st.integers(0, nodes - 1)
    return nodes, draw(st.lists(st.tuples(page, page), max_size=40))

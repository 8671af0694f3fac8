"""Small graphs for tests, as lists of links."""

import numpy as np
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr

Link = tuple[int, int]


def graph_of(nodes: int, links: list[Link]) -> Csr:
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    return Csr.from_edges(nodes, ends[:, 0], ends[:, 1])


def random_graph(nodes: int, links: int) -> Csr:
    ends = np.random.default_rng(7).integers(0, nodes, (2, links))
    return Csr.from_edges(nodes, ends[0], ends[1])


def links_of(graph: Csr) -> list[Link]:
    return list(zip(graph.sources().tolist(), graph.targets.tolist(), strict=True))


@st.composite
def nodes_and_links(draw: st.DrawFn) -> tuple[int, list[Link]]:
    nodes = draw(st.integers(0, 12))
    if nodes == 0:
        return 0, []
    page = st.integers(0, nodes - 1)
    return nodes, draw(st.lists(st.tuples(page, page), max_size=40))

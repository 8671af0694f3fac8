"""`RowBuilder` makes the graph that `Csr.from_edges` makes of the links."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr, RowBuilder

NODES = 6


def graph_of(nodes: int, *blocks: list[tuple[int, int]]) -> Csr:
    rows = RowBuilder(nodes)
    for block in blocks:
        sources, targets = np.array(block, dtype=np.int64).reshape(-1, 2).T
        rows.add(sources, targets)
    return rows.graph()


def test_rows_may_come_in_any_order() -> None:
    graph = graph_of(4, [(2, 0), (2, 3)], [(3, 1), (0, 1), (0, 2)])
    assert graph.adjacency() == [[1, 2], [], [0, 3], [1]]
    assert [column.dtype.name for column in (graph.starts, graph.targets)] == ["int64", "int32"]


def test_links_of_a_page_are_sorted_and_kept_once() -> None:
    assert graph_of(3, [(1, 2), (1, 0), (1, 2), (0, 0)]).adjacency() == [[0], [0, 2], []]


def test_without_rows_there_are_no_links() -> None:
    assert graph_of(2, []).adjacency() == [[], []]
    assert graph_of(0).adjacency() == []


@given(
    st.lists(st.lists(st.integers(0, NODES - 1), max_size=8), min_size=NODES, max_size=NODES),
    st.permutations(range(NODES)),
    st.integers(1, NODES),
)
def test_rows_make_the_graph_of_all_links(
    links: list[list[int]], order: list[int], at_once: int
) -> None:
    blocks = [
        [(page, target) for page in order[first : first + at_once] for target in links[page]]
        for first in range(0, NODES, at_once)
    ]
    pairs = np.array([pair for block in blocks for pair in block], dtype=np.int64).reshape(-1, 2)
    wanted = Csr.from_edges(NODES, pairs[:, 0], pairs[:, 1])
    found = graph_of(NODES, *blocks)
    assert found.starts.tolist() == wanted.starts.tolist()
    assert found.targets.tolist() == wanted.targets.tolist()

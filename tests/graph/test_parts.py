"""Parts of a graph have the links that were kept and no others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr, with_links, with_pages
from tests.graph.graphs import Link, graph_of, links_of, nodes_and_links

LINKS = [(0, 1), (0, 2), (1, 2), (2, 0), (2, 3)]


def without_pages(graph: Csr, gone: set[int]) -> Csr:
    return with_pages(graph, np.array([page not in gone for page in range(graph.nodes)], bool))


def test_dropping_links_keeps_all_pages() -> None:
    part = with_links(graph_of(4, LINKS), np.array([False, True, False, True, True]))
    assert part.nodes == 4
    assert links_of(part) == [(0, 2), (2, 0), (2, 3)]


def test_all_or_nothing_may_be_kept() -> None:
    graph = graph_of(4, LINKS)
    assert without_pages(graph, {0, 1, 2, 3}).nodes == 0
    assert links_of(without_pages(graph, set())) == LINKS
    assert links_of(with_links(graph, np.zeros(5, bool))) == []


def test_a_part_has_the_types_of_a_graph() -> None:
    part = without_pages(graph_of(4, LINKS), {1})
    assert part.starts.dtype == np.int64
    assert part.targets.dtype == np.int32


@given(nodes_and_links(), st.sets(st.integers(0, 11)))
def test_a_part_is_the_graph_of_the_links_that_are_left(
    case: tuple[int, list[Link]], gone: set[int]
) -> None:
    nodes, links = case
    kept = [page for page in range(nodes) if page not in gone]
    left = [
        (kept.index(source), kept.index(target))
        for source, target in links
        if source in kept and target in kept
    ]
    part, oracle = without_pages(graph_of(nodes, links), gone), graph_of(len(kept), left)
    assert part.starts.tolist() == oracle.starts.tolist()
    assert part.targets.tolist() == oracle.targets.tolist()

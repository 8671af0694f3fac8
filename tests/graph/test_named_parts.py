"""A part of a named graph: some of its nodes with their names, and the links between them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import NamedGraph, with_nodes
from minicrawl.graph.text_formats import NumericNames
from tests.graph.graphs import Link, graph_of, links_of, networkx_of

NODES = 6
a_node = st.integers(0, NODES - 1)


def named(links: list[Link], weights: list[float] | None = None) -> NamedGraph:
    weighed = None if weights is None else np.array(weights, dtype=np.float32)
    return NamedGraph(graph_of(NODES, links), NumericNames(np.arange(NODES) * 10), weighed)


def part_of(graph: NamedGraph, *nodes: int) -> NamedGraph:
    return with_nodes(graph, np.isin(np.arange(NODES), nodes))


def test_links_between_the_nodes_stay_with_their_weights() -> None:
    part = part_of(named([(0, 1), (0, 5), (4, 5), (5, 0)], [1, 2, 3, 4]), 0, 2, 5)
    assert part.graph.adjacency() == [[2], [], [0]]
    assert part.weights is not None
    assert part.weights.tolist() == [2, 4]


def test_nodes_keep_their_names() -> None:
    names = part_of(named([(0, 1)]), 0, 2, 5).names
    assert len(names) == 3
    assert names.of([2, 0]) == ["50", "0"]
    assert names.find(["20", "30", "51", "50"]) == [1, None, None, 2]
    of_node, hosts = names.hosts()
    assert [hosts[host] for host in of_node] == ["0", "20", "50"]


def test_a_part_may_be_empty() -> None:
    part = part_of(named([(0, 1)]))
    assert (part.graph.nodes, part.graph.edges, part.names.of([])) == (0, 0, [])
    assert part.names.find(["0"]) == [None]


@given(st.sets(st.tuples(a_node, a_node)), st.sets(a_node))
def test_a_part_agrees_with_the_subgraph_of_networkx(pairs: set[Link], chosen: set[int]) -> None:
    oracle, nodes = networkx_of(NODES, pairs), sorted(chosen)
    part = part_of(named(sorted(pairs)), *nodes).graph
    links = {(nodes[source], nodes[target]) for source, target in links_of(part)}
    assert links == set(oracle.subgraph(chosen).edges)

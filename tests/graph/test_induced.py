"""Part of a graph is its nodes and the links between them."""

import networkx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr
from minicrawl.graph.ids import Ids
from minicrawl.graph.induced import induced
from minicrawl.graph.named import NamedGraph

NODES = 6
PAIRS = st.sets(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)))


def named(pairs: list[tuple[int, int]], weights: list[float] | None = None) -> NamedGraph:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    graph = Csr.from_edges(NODES, ends[:, 0], ends[:, 1])
    weighed = None if weights is None else np.array(weights, dtype=np.float32)
    return NamedGraph(graph, Ids(np.arange(NODES) * 10), weighed)


def test_links_between_the_nodes_stay_with_their_weights() -> None:
    part = induced(named([(0, 1), (0, 5), (4, 5), (5, 0)], [1, 2, 3, 4]), np.array([0, 2, 5]))
    assert part.graph.adjacency() == [[2], [], [0]]
    assert part.weights is not None
    assert part.weights.tolist() == [2, 4]


def test_nodes_keep_their_names() -> None:
    names = induced(named([(0, 1)]), np.array([0, 2, 5])).names
    assert len(names) == 3
    assert names.of([2, 0]) == ["50", "0"]
    assert names.find(["20", "30", "51", "50"]) == [1, None, None, 2]
    of_node, hosts = names.hosts()
    assert [hosts[host] for host in of_node] == ["0", "20", "50"]


def test_nothing_may_be_left() -> None:
    part = induced(named([(0, 1)]), np.array([], dtype=np.int64))
    assert (part.graph.nodes, part.graph.edges, part.names.find(["0"])) == (0, 0, [None])


@given(PAIRS, st.sets(st.integers(0, NODES - 1)))
def test_it_is_what_networkx_leaves(pairs: set[tuple[int, int]], chosen: set[int]) -> None:
    oracle = networkx.DiGraph(sorted(pairs))
    nodes = sorted(chosen)
    part = induced(named(sorted(pairs)), np.array(nodes, dtype=np.int64)).graph
    links = {
        (nodes[source], nodes[target])
        for source, target in zip(part.sources().tolist(), part.targets.tolist(), strict=True)
    }
    assert links == set(oracle.subgraph(chosen).edges)

"""Triangles, core numbers and PageRank follow any changes of a graph, as networkx has them."""

from collections.abc import Iterator

import networkx as nx
import numpy as np
import pytest

from minicrawl.graph import cohesion, neighbours
from minicrawl.graph.cohesion import TOLERANCE, DynamicRanks
from minicrawl.graph.csr import Csr
from minicrawl.graph.neighbours import BITS, Keys, Neighbours

TARGET = (1 << BITS) - 1
NONE = np.empty(0, dtype=np.int64)


def keys_of(*edges: tuple[int, int]) -> Keys:
    return np.unique(np.array([one << BITS | other for one, other in edges], dtype=np.int64))


def graph_of(nodes: int, keys: Keys) -> Csr:
    return Csr.from_edges(nodes, keys >> BITS, keys & TARGET)


def random_changes(seed: int, nodes: int, steps: int) -> Iterator[tuple[np.ndarray, Keys]]:
    """Yield nodes and links; some changes are small, and in others all links are new."""
    rng, keys = np.random.default_rng(seed), NONE
    for _ in range(steps):
        is_node = rng.random(nodes) < 0.9
        ends = rng.integers(nodes, size=(2, rng.integers(3 * nodes)))
        drawn = np.unique(ends[0] << BITS | ends[1])
        if rng.random() < 0.7:
            drawn = np.unique(np.concatenate((keys[rng.random(len(keys)) < 0.9], drawn[:4])))
        keys = drawn[is_node[drawn >> BITS] & is_node[drawn & TARGET]]
        yield is_node, keys


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("always_by_update", [True, False])
def test_any_sequence_of_changes(
    seed: int, always_by_update: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if always_by_update:
        monkeypatch.setattr(neighbours, "_LARGE", 0)
    monkeypatch.setattr(neighbours, "_AT_ONCE", 16)
    near, ranks, before = Neighbours(), DynamicRanks(), NONE
    nodes = 4 + seed
    for is_node, keys in random_changes(seed, nodes, 15):
        added, removed = np.setdiff1d(keys, before), np.setdiff1d(before, keys)
        near.change(nodes, added, removed, keys)
        ranks.change(
            is_node, np.unique(np.concatenate((added, removed)) >> BITS), graph_of(nodes, keys)
        )
        before = keys
        directed = nx.DiGraph(zip((keys >> BITS).tolist(), (keys & TARGET).tolist(), strict=True))
        directed.add_nodes_from(np.flatnonzero(is_node).tolist())
        graph = directed.to_undirected()
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        assert near.triangles == sum(nx.triangles(graph).values()) // 3
        cores = nx.core_number(graph)
        assert near.cores.tolist() == [cores.get(node, 0) for node in range(nodes)]
        truth = nx.pagerank(directed, tol=1e-12, max_iter=1000)
        shares = ranks.ranks / max(ranks.ranks.sum(), 1)
        assert np.abs(shares - [truth.get(node, 0) for node in range(nodes)]).sum() <= TOLERANCE


def test_a_triangle_with_a_tail() -> None:
    near, keys = Neighbours(), keys_of((0, 1), (1, 2), (2, 0), (2, 3), (3, 3))
    near.change(4, keys, NONE, keys)
    assert (near.triangles, near.cores.tolist()) == (1, [2, 2, 2, 1])
    assert near.innermost() == (2, 3)
    left = keys_of((0, 1), (1, 2), (2, 3), (3, 3))
    near.change(4, NONE, keys_of((2, 0)), left)
    assert (near.triangles, near.cores.tolist()) == (0, [1, 1, 1, 1])


def test_a_link_there_and_back_counts_once_and_goes_with_the_last() -> None:
    near, keys = Neighbours(), keys_of((0, 1), (1, 0), (1, 2), (2, 0))
    near.change(3, keys, NONE, keys)
    assert near.triangles == 1
    near.change(3, NONE, keys_of((1, 0)), keys_of((0, 1), (1, 2), (2, 0)))
    assert near.triangles == 1
    near.change(3, NONE, keys_of((0, 1)), keys_of((1, 2), (2, 0)))
    assert near.triangles == 0


def test_a_link_between_two_nodes_changes_one_rank() -> None:
    ranks, are_nodes = DynamicRanks(), np.ones(2, dtype=np.bool_)
    ranks.change(are_nodes, NONE, graph_of(2, NONE))
    assert ranks.ranks.tolist() == [1, 1]
    assert ranks.nodes_with(0.5) == 1
    ranks.change(are_nodes, np.array([0]), graph_of(2, keys_of((0, 1))))
    assert ranks.ranks == pytest.approx([1, 1.85])


def test_an_empty_graph_and_one_with_too_many_links(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cohesion.cohesion(graph_of(0, NONE)) == cohesion.Cohesion(
        triangles=0, core=0, core_nodes=0, half_of_rank=0
    )
    monkeypatch.setattr(cohesion, "MOST_MEASURED", 0)
    assert cohesion.cohesion(graph_of(2, keys_of((0, 1)))) is None

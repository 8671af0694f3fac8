"""Harmonic centrality, exact and by HyperLogLog counters."""

from collections.abc import Callable
from math import inf
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given

from minicrawl.errors import UsageError
from minicrawl.graph import distances as module
from minicrawl.graphfiles import read
from minicrawl.ranks.centrality import exact, hyperball, standard_error
from tests.graph.graphs import graph_of, networkx_of, random_graph
from tests.ranks.graphs import DEGENERATE, NODES, Pairs, some_links


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_a_chain_by_hand() -> None:
    """0 → 1 → 2: H is 0, 1 and 1 + 1/2."""
    assert exact(graph_of(3, [(0, 1), (1, 2)])).values == pytest.approx([0, 0.4, 0.6])


def test_small_balls_are_counted_nearly_exactly() -> None:
    found = hyperball(graph_of(3, [(0, 1), (1, 2)]), rng=rng(), precision=12)
    assert found.values == pytest.approx([0, 0.4, 0.6], abs=0.01)
    assert found.iterations == 2


@given(some_links)
def test_exact_centrality_agrees_with_networkx(pairs: Pairs) -> None:
    oracle = networkx.harmonic_centrality(networkx_of(NODES, pairs))
    wanted = np.array([oracle[node] for node in range(NODES)])
    total = wanted.sum()
    expected = wanted / total if total else [1 / NODES] * NODES
    assert exact(graph_of(NODES, pairs)).values == pytest.approx(expected)


@pytest.mark.parametrize("precision", [4, 6, 10])
def test_hyperball_stays_within_its_standard_error(precision: int) -> None:
    graph = random_graph(2000, 8000)
    wanted = exact(graph).values
    found = hyperball(graph, rng=rng(), precision=precision)
    assert found.standard_error == standard_error(precision)
    assert np.abs(found.values - wanted).sum() < standard_error(precision)
    assert found.error_bound == inf


def test_the_standard_error_falls_with_the_root_of_the_registers() -> None:
    assert standard_error(6) == pytest.approx(0.13)
    assert standard_error(8) == pytest.approx(0.065)


@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_sum_to_one_whatever_the_graph(name: str) -> None:
    graph = graph_of(*DEGENERATE[name])
    for found in (exact(graph), hyperball(graph, rng=rng())):
        assert np.isfinite(found.values).all()
        assert found.values.sum() == pytest.approx(1 if graph.nodes else 0)
        assert found.converged


@pytest.mark.parametrize("at_once", [1, 100, 5000])
def test_the_size_of_blocks_does_not_change_scores(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    graph = random_graph(200, 600)
    whole = hyperball(graph, rng=rng())
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", at_once)
    assert hyperball(graph, rng=rng()).values == pytest.approx(whole.values)


def test_progress_is_reported() -> None:
    told: list[float] = []
    exact(graph_of(2, [(0, 1)]), tell=told.append)
    assert told == [0.5, 1.0]
    told.clear()
    hyperball(graph_of(3, [(0, 1), (1, 2)]), rng=rng(), tell=told.append)
    assert told == sorted(told)
    assert len(told) == 2


def test_too_little_memory_is_refused() -> None:
    graph = random_graph(1000, 10)
    with pytest.raises(UsageError, match=r"7 MiB .* 1 MiB .*precision"):
        hyperball(graph, rng=rng(), precision=12, memory_bytes=1 << 20)


@pytest.mark.parametrize("precision", [3, 17])
def test_a_precision_out_of_range_is_refused(precision: int) -> None:
    with pytest.raises(UsageError, match=f"4 to 16 .*not {precision}"):
        hyperball(random_graph(5, 5), rng=rng(), precision=precision)


def test_on_a_real_graph_the_best_are_found(shared_graph: Callable[[str], Path]) -> None:
    graph = read(shared_graph("california.txt.gz")).graph
    wanted, found = exact(graph), hyperball(graph, rng=rng(), precision=10)
    assert {*np.argsort(-wanted.values)[:5]} <= {*np.argsort(-found.values)[:15]}
    assert np.abs(wanted.values - found.values).sum() < standard_error(10)


def test_hyperball_stops_after_its_most_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minicrawl.ranks.centrality.most_rounds", lambda _graph: 20)
    path = graph_of(100, [(page, page + 1) for page in range(99)])
    found = hyperball(path, rng=rng())
    assert (found.iterations, found.converged) == (20, False)

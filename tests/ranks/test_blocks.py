"""PageRank of a graph in files: its error bound holds, and the best nodes come in order."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from minicrawl.graph.link_builder import LinkArrays
from minicrawl.ranks.blocks.files import BlockFiles, MemoryPlan
from minicrawl.ranks.blocks.pagerank import best, pagerank
from minicrawl.ranks.scores import Scores

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]


def plan(block: int, stretch: int, portion: int) -> MemoryPlan:
    return MemoryPlan(block=block, sorted=portion, text=1, stretch=stretch, at_once=portion)


def portions(pairs: Pairs, size: int) -> Iterator[LinkArrays]:
    for first in range(0, len(pairs), size):
        sources, targets = np.array(pairs[first : first + size], dtype=np.int64).T
        yield LinkArrays(sources, targets)


def limit(nodes: int, links: Pairs, damping: float) -> Floats:
    """Solve the equations of PageRank."""
    flow = np.zeros((nodes, nodes))
    for source, target in set(links):
        flow[target, source] = 1
    out = flow.sum(axis=0)
    flow = np.where(out, flow / np.maximum(out, 1), 1 / nodes)
    here = np.linalg.solve(np.eye(nodes) - damping * flow, np.full(nodes, (1 - damping) / nodes))
    return np.asarray(here)


def ranked(nodes: int, links: Pairs, block: int = 2, stretch: int = 3, **options: float) -> Scores:
    with TemporaryDirectory() as name:
        files = BlockFiles(nodes, plan(block, stretch, portion=2), Path(name))
        files.fill(portions(links, 2))
        return pagerank(files, **options)  # type: ignore[arg-type]  # they are its options


def test_convergence_is_claimed_only_when_it_is_reached() -> None:
    cut_short = ranked(3, [(0, 1), (1, 2)], most_iterations=2)
    assert (cut_short.iterations, cut_short.converged) == (2, False)
    assert cut_short.error_bound > 1e-8
    beyond_rounding = ranked(3, [(0, 1), (1, 2)], tolerance=1e-15)
    assert beyond_rounding.iterations < 1000
    assert not beyond_rounding.converged


@pytest.mark.parametrize("count", [0, 1, 3, 10])
def test_the_best_come_in_order_and_equal_scores_by_number(count: int, tmp_path: Path) -> None:
    files = BlockFiles(5, plan(2, 2, 2), tmp_path)
    files.scores.write(0, np.array([1.0, 3, 2, 3, 1]))
    batches = list(best(files, count))
    assert [node for nodes, _ in batches for node in nodes] == [1, 3, 2, 0, 4][:count]
    assert [score for _, scores in batches for score in scores] == [3, 3, 2, 1, 1][:count]
    assert all(len(nodes) <= 2 for nodes, _ in batches)


@given(st.data(), st.sampled_from([0.5, 0.85]))
def test_the_error_bound_holds(data: st.DataObject, damping: float) -> None:
    nodes = data.draw(st.integers(1, 8))
    ends = st.integers(0, nodes - 1)
    links = data.draw(st.lists(st.tuples(ends, ends)))
    found = ranked(
        nodes,
        links,
        block=data.draw(st.integers(1, nodes)),
        stretch=data.draw(st.integers(1, nodes)),
        damping=damping,
        tolerance=data.draw(st.sampled_from([1e-2, 1e-6])),
        most_iterations=5000,
    )
    assert found.converged
    assert found.values.sum() == pytest.approx(1)
    assert np.abs(found.values - limit(nodes, links, damping)).sum() <= found.error_bound + 1e-12

"""PageRank of a graph in files: numbers are sorted, links lie in their blocks, scores are right."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.graph.csr import LinkArrays
from minicrawl.ranks.blocks import BlockFiles, MemoryPlan, NodeIds, Sorter, best, pagerank
from minicrawl.ranks.scores import Scores

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]

NODES = 7
PAIRS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=40)


def plan(block: int, stretch: int, portion: int) -> MemoryPlan:
    return MemoryPlan(block=block, sorted=portion, text=1, stretch=stretch, links=portion)


def portions(pairs: Pairs, size: int) -> Iterator[LinkArrays]:
    for first in range(0, len(pairs), size):
        sources, targets = np.array(pairs[first : first + size], dtype=np.int64).T
        yield LinkArrays(sources, targets)


# ---------------------------------------------------------------- files


def in_order(numbers: list[int], at_once: int, portion: int) -> list[int]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        sorter = Sorter(folder, at_once)
        for first in range(0, len(numbers), portion):
            sorter.add(np.array(numbers[first : first + portion], dtype=np.int64))
        found = [number for some in sorter.in_order() for number in some.tolist()]
        assert not list(folder.iterdir())
    return found


@given(
    st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 9), max_size=40),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_numbers_come_in_order_each_once(numbers: list[int], at_once: int, portion: int) -> None:
    assert in_order(numbers, at_once, portion) == sorted(set(numbers))


def test_many_runs_are_merged_in_several_passes() -> None:
    numbers = np.random.default_rng(1).integers(0, 500, 300).tolist()
    assert in_order(numbers, at_once=2, portion=7) == sorted(set(numbers))


@given(PAIRS, st.integers(1, NODES), st.integers(1, NODES), st.integers(1, 9))
def test_every_link_is_in_its_block_once_in_the_order_of_sources(
    pairs: Pairs, block: int, stretch: int, portion: int
) -> None:
    with TemporaryDirectory() as name:
        files = BlockFiles(NODES, plan(block, stretch, portion), Path(name))
        files.fill(portions(pairs, portion))
        found = [
            (target // block, stretch * piece.stretch + source, target)
            for number in range(-(-NODES // block))
            for piece in files.links.pieces(number)
            for source, place in zip(piece.sources.tolist(), piece.targets.tolist(), strict=True)
            for target in [number * block + place]
        ]
        degrees = files.degrees.read(0, NODES).tolist()
    links = set(pairs)
    assert found == sorted((target // block, source, target) for source, target in links)
    assert files.links.edges == len(links)
    assert degrees == [sum(source == node for source, _ in links) for node in range(NODES)]


LARGEST = 2**63 - 1


@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [7, 8, 9, 10], [0, 5, 6, LARGEST], [3, 4, 70, 900]])
@pytest.mark.parametrize("portion", [1, 2, 3, 100])
def test_nodes_have_the_order_of_their_ids_dense_or_sparse(
    ids: list[int], portion: int, tmp_path: Path
) -> None:
    pairs = [(ids[3], ids[0]), (ids[1], ids[2]), (ids[2], ids[2]), (ids[0], ids[3])]
    known = NodeIds(portions(pairs, 2), plan(1, 1, portion), tmp_path)
    assert len(known) == 4
    assert known.column.whole().tolist() == ids
    assert known.of([3, 0, 3]) == [str(ids[node]) for node in (3, 0, 3)]
    found = [known.links(links) for links in portions(pairs, 2)]
    nodes = [
        pair for links in found for pair in zip(*(end.tolist() for end in links[:2]), strict=True)
    ]
    assert nodes == [(3, 0), (1, 2), (2, 2), (0, 3)]


# ---------------------------------------------------------------- scores

EXAMPLE = [(0, 2), (1, 2), (2, 3), (3, 0), (3, 1)]


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


def test_the_worked_example_comes_out_to_its_digits() -> None:
    first = ranked(4, EXAMPLE, stretch=2, damping=0.8, most_iterations=1)
    assert first.values == pytest.approx([0.15, 0.15, 0.45, 0.25])
    assert first.error_bound == pytest.approx(1.6)
    found = ranked(4, EXAMPLE, stretch=2, damping=0.8, tolerance=1e-12)
    assert found.values == pytest.approx([0.176230, 0.176230, 0.331967, 0.315574], abs=5e-7)


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_without_links_all_scores_are_equal(nodes: int) -> None:
    found = ranked(nodes, [])
    assert found.values.tolist() == pytest.approx([1 / nodes] * nodes)
    assert found.converged


def test_convergence_is_claimed_only_when_it_is_reached() -> None:
    cut_short = ranked(3, [(0, 1), (1, 2)], most_iterations=2)
    assert (cut_short.iterations, cut_short.converged) == (2, False)
    assert cut_short.error_bound > 1e-8
    beyond_rounding = ranked(3, [(0, 1), (1, 2)], tolerance=1e-15)
    assert beyond_rounding.iterations < 1000
    assert not beyond_rounding.converged


def test_progress_rises_to_1_with_each_iteration(tmp_path: Path) -> None:
    told: list[float] = []
    files = BlockFiles(4, plan(2, 2, 2), tmp_path)
    files.fill(portions([(0, 1), (1, 2), (2, 1)], 2))
    found = pagerank(files, tell=told.append)
    assert len(told) == found.iterations
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize("count", [0, 1, 3, 10])
def test_the_best_come_in_order_and_equal_scores_by_number(count: int, tmp_path: Path) -> None:
    files = BlockFiles(5, plan(2, 2, 2), tmp_path)
    files.scores.write(0, np.array([1.0, 3, 2, 3, 1]))
    found = list(best(files, count))
    assert [node for some in found for node in some.nodes] == [1, 3, 2, 0, 4][:count]
    assert [score for some in found for score in some.scores] == [3, 3, 2, 1, 1][:count]
    assert all(len(some.nodes) <= 2 for some in found)


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

"""Scores made block by block are those of the whole matrix, to the bound that is told."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.ranks.blocks import BlockSizes, Outcome, Piece, best, pagerank

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]


class Memory:
    """A column that is kept in memory."""

    def __init__(self, numbers: Floats) -> None:
        self.numbers = numbers

    def read(self, first: int, count: int) -> Floats:
        return self.numbers[first : first + count].copy()

    def write(self, first: int, numbers: Floats) -> None:
        self.numbers[first : first + len(numbers)] = numbers


class InMemory:
    """Files that are none."""

    def __init__(self, nodes: int, links: Pairs, block: int, stretch: int, at_once: int) -> None:
        self.sizes = BlockSizes(nodes, block, stretch, at_once)
        self.links = sorted(set(links))
        self.degrees = Memory(
            np.bincount([source for source, _ in self.links], minlength=nodes).astype(np.float64)
        )
        self.scores = Memory(np.full(nodes, np.nan))
        self.given, self.given_next = Memory(np.full(nodes, np.nan)), Memory(np.zeros(nodes))

    def pieces(self, block: int) -> Iterator[Piece]:
        for source, target in self.links:
            if target // self.sizes.block == block:
                stretch, place = divmod(source, self.sizes.stretch)
                yield Piece(stretch, np.array([place]), np.array([target % self.sizes.block]))

    def turn(self) -> None:
        self.given, self.given_next = self.given_next, self.given


def limit(nodes: int, links: Pairs, damping: float) -> Floats:
    """By solving the equations."""
    flow = np.zeros((nodes, nodes))
    for source, target in set(links):
        flow[target, source] = 1
    out = flow.sum(axis=0)
    flow = np.where(out, flow / np.maximum(out, 1), 1 / nodes)
    here = np.linalg.solve(np.eye(nodes) - damping * flow, np.full(nodes, (1 - damping) / nodes))
    return np.asarray(here)


def ranked(
    nodes: int, links: Pairs, block: int = 2, stretch: int = 3, **options: float
) -> tuple[Floats, Outcome]:
    files = InMemory(nodes, links, block, stretch, at_once=2)
    outcome = pagerank(files, **options)  # type: ignore[arg-type]
    return files.scores.numbers, outcome


def test_the_worked_example_comes_out_to_its_digits() -> None:
    a, b, c, d = range(4)
    scores, _ = ranked(4, [(a, c), (b, c), (c, d), (d, a), (d, b)], damping=0.8, tolerance=1e-12)
    assert scores == pytest.approx([0.176230, 0.176230, 0.331967, 0.315574], abs=5e-7)


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_where_everything_dangles_all_are_alike(nodes: int) -> None:
    scores, outcome = ranked(nodes, [])
    assert scores.tolist() == pytest.approx([1 / nodes] * nodes)
    assert outcome.converged


def test_a_link_to_oneself_counts() -> None:
    scores, _ = ranked(2, [(0, 0), (1, 0)])
    assert scores == pytest.approx(limit(2, [(0, 0), (1, 0)], 0.85), abs=1e-8)


def test_a_convergence_that_was_not_reached_is_not_claimed() -> None:
    _, outcome = ranked(3, [(0, 1), (1, 2)], most_iterations=2)
    assert (outcome.iterations, outcome.converged) == (2, False)
    assert outcome.error_bound > 1e-8


def test_an_error_that_rounding_does_not_allow_is_not_claimed() -> None:
    _, outcome = ranked(3, [(0, 1), (1, 2)], tolerance=1e-15)
    assert outcome.iterations < 1000
    assert not outcome.converged


def test_what_is_done_is_told_and_never_falls() -> None:
    told: list[float] = []
    files = InMemory(4, [(0, 1), (1, 2), (2, 1)], 2, 2, 2)
    outcome = pagerank(files, tell=told.append)
    assert len(told) == outcome.iterations
    assert told == sorted(told)
    assert told[0] >= 0
    assert told[-1] == 1


@pytest.mark.parametrize("count", [0, 1, 3, 10])
def test_the_best_come_in_order_and_of_equals_the_first(count: int) -> None:
    files = InMemory(5, [], block=2, stretch=2, at_once=2)
    files.scores.numbers = np.array([1.0, 3, 2, 3, 1])
    found = list(best(files, count))
    assert [node for some in found for node in some.nodes] == [1, 3, 2, 0, 4][:count]
    assert [score for some in found for score in some.scores] == [3, 3, 2, 1, 1][:count]
    assert all(len(some.nodes) <= 2 for some in found)


@given(st.data(), st.sampled_from([0.5, 0.85, 0.99]))
def test_scores_are_as_near_to_the_limit_as_is_said(data: st.DataObject, damping: float) -> None:
    nodes = data.draw(st.integers(1, 8))
    ends = st.integers(0, nodes - 1)
    links = data.draw(st.lists(st.tuples(ends, ends)))
    scores, outcome = ranked(
        nodes,
        links,
        block=data.draw(st.integers(1, nodes)),
        stretch=data.draw(st.integers(1, nodes)),
        damping=damping,
        tolerance=data.draw(st.sampled_from([1e-2, 1e-6, 1e-10])),
        most_iterations=5000,
    )
    assert outcome.converged
    assert scores.sum() == pytest.approx(1)
    assert np.abs(scores - limit(nodes, links, damping)).sum() <= outcome.error_bound + 1e-12

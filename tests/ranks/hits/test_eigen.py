"""Approximations of the leading eigenvector, and their error bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Vector
from minicrawl.ranks.hits import Approximation, leading, length
from tests.ranks.graphs import Matrix


def all_of(matrix: Matrix, start: Vector, most_images: int = 16) -> list[Approximation]:
    found = []
    for approximation in leading(lambda x: matrix @ x, start, most_images=most_images):
        found.append(approximation)
        if approximation.sine < 1e-12:
            break
    return found


def symmetric(size: int, seed: int) -> Matrix:
    half = np.random.default_rng(seed).random((size, size))
    return half.T @ half


def sine_between(x: Vector, y: Vector) -> float:
    """Sine of the angle between two unit vectors of either sign."""
    return float(length(x - (x @ y) * y))


def test_a_2_by_2_matrix_takes_two_products() -> None:
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    last = all_of(matrix, np.array([1.0, 0.0]))[-1]
    assert (last.products, last.is_all) == (2, True)
    assert last.value == pytest.approx(3)
    assert np.abs(last.vector()) == pytest.approx([0.5**0.5] * 2)


def test_a_start_that_is_an_eigenvector_is_known_at_once() -> None:
    last = all_of(np.diag([3.0, 5.0]), np.array([2.0, 0.0]))[-1]
    assert (last.products, last.value, last.is_all) == (1, 3.0, True)


def test_a_zero_matrix_has_the_value_0() -> None:
    (only,) = leading(np.zeros_like, np.ones(3))
    assert (only.value, only.is_all) == (0.0, True)


def test_equal_eigenvalues_give_the_projection_of_the_start() -> None:
    last = all_of(np.diag([4.0, 4.0, 1.0]), np.array([3.0, 4.0, 5.0]))[-1]
    assert np.abs(last.vector()) == pytest.approx([0.6, 0.8, 0.0])


def test_known_eigenvectors_are_not_found_again() -> None:
    matrix = np.diag([5.0, 3.0, 1.0])
    known = np.array([[1.0, 0.0, 0.0]])
    *_, last = leading(lambda x: matrix @ x, np.array([0.0, 1.0, 1.0]), known)
    assert last.value == pytest.approx(3)
    assert np.abs(last.vector()) == pytest.approx([0, 1, 0])


def test_the_first_product_claims_no_bound() -> None:
    assert next(leading(lambda x: np.diag([2.0, 1.0]) @ x, np.ones(2))).sine == 1.0


@given(st.integers(2, 30), st.integers(0, 1000), st.sampled_from([3, 5, 16]))
def test_the_last_bound_holds(size: int, seed: int, room: int) -> None:
    matrix = symmetric(size, seed)
    values, vectors = np.linalg.eigh(matrix)
    last = all_of(matrix, np.ones(size), room)[-1]
    assert last.value == pytest.approx(values[-1])
    assert last.value <= values[-1] * (1 + 1e-12)
    assert sine_between(last.vector(), vectors[:, -1]) <= last.sine + 1e-12


@given(st.integers(0, 100))
def test_every_bound_holds_within_2_percent(seed: int) -> None:
    """The bounds rest on the gap between two eigenvalues, which early steps can only estimate."""
    matrix = symmetric(25, seed)
    truth = np.linalg.eigh(matrix)[1][:, -1]
    for approximation in leading(lambda x: matrix @ x, np.ones(25), most_images=5):
        assert sine_between(approximation.vector(), truth) <= 1.02 * approximation.sine + 1e-12
        if approximation.sine < 1e-12:
            break


def test_few_images_take_more_products_to_the_same_vector() -> None:
    matrix = np.diag(np.append(np.linspace(0, 0.98, 200), 1.0))
    wide, narrow = (all_of(matrix, np.ones(201), images) for images in (16, 3))
    assert len(wide) < len(narrow)
    for found in (wide, narrow):
        assert np.abs(found[-1].vector()[-1]) == pytest.approx(1)


def test_a_vector_takes_fewer_products_than_by_plain_iteration() -> None:
    matrix = np.diag(np.append(np.linspace(0, 0.9, 50), 1.0))
    found = all_of(matrix, np.ones(51))
    assert len(found) < 0.4 * np.log(1e-12) / np.log(0.9)


def test_length_agrees_with_numpy() -> None:
    x = np.random.default_rng(1).random(1000)
    assert length(x) == pytest.approx(np.linalg.norm(x))

"""Map of cores: exact where the plane has room."""

import numpy as np
import pytest

from minicrawl.ranks.scores import Floats
from tests.bench.core_map import core_map, links_apart


def apart(points: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(points[:, None] - points, axis=2)
    return lengths


@pytest.mark.parametrize(
    "places",
    [[(0, 0), (3, 0), (3, 4)], [(0, 0), (4, 0), (4, 3), (0, 3)], [(0, 0), (1, 0), (3, 0), (7, 0)]],
)
def test_cores_that_fit_into_the_plane_are_that_far_apart(places: list[tuple[int, int]]) -> None:
    links = apart(np.array(places)).round().astype(np.int64)
    assert apart(core_map(links)) == pytest.approx(links, abs=0.05)


def test_a_single_core_is_at_the_origin() -> None:
    assert core_map(np.zeros((1, 1), dtype=np.int64)).tolist() == [[0, 0]]


def test_the_shorter_direction_counts_and_no_path_is_the_farthest() -> None:
    links = links_apart(np.array([[0, 3, -1], [2, 0, -1], [-1, -1, 0]], dtype=np.int32))
    assert links.tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    lengths = apart(core_map(links))
    assert lengths[0, 1] == pytest.approx(2, abs=0.01)
    assert lengths[2, :2] == pytest.approx([3, 3], abs=0.01)

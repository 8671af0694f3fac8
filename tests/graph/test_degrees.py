"""Distributions of degrees: their bins, and the exponent of their power law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.outline import FEWEST_PAGES, TAIL, distribution


def test_small_degrees_have_a_bin_each_and_large_ones_share_one() -> None:
    found = distribution(np.array([0, 0, 1, 19, 20, 39, 139, 140, 279, 280]))
    assert found.bins == ((0, 2), (1, 1), (19, 1), (20, 2), (120, 1), (140, 2), (280, 1))
    assert found.most == 280
    assert list(found.ranges()) == [
        ("0-19", 4),
        ("20-39", 2),
        ("40-59", 0),
        ("60-79", 0),
        ("80-99", 0),
        ("100-119", 0),
        ("120-139", 1),
        ("140+", 3),
    ]


def test_a_point_of_the_density_is_the_mean_of_its_bin() -> None:
    found = distribution(np.array([0, 3, 3, 20, 21, 280]))
    places, heights = zip(*found.density(), strict=True)
    assert places == pytest.approx((3, (20 * 39) ** 0.5, (280 * 559) ** 0.5))
    assert heights == pytest.approx((2, 2 / 20, 1 / 280))


@given(st.lists(st.integers(0, 10**7)))
def test_bins_and_ranges_add_up_to_all_pages(degrees: list[int]) -> None:
    found = distribution(np.array(degrees, dtype=np.int64))
    assert sum(pages for _, pages in found.bins) == len(degrees)
    assert sum(pages for _, pages in found.ranges()) == len(degrees)
    assert found.most == max(degrees, default=0)


@pytest.mark.parametrize("exponent", [2.1, 2.7, 3.5])
def test_the_exponent_of_drawn_degrees_is_found(exponent: float) -> None:
    drawn = np.random.default_rng(1).zipf(exponent, 1_000_000)
    found = distribution(drawn[drawn < 2**40])
    assert found.exponent == pytest.approx(exponent, rel=0.03)
    assert found.exponent_error is not None
    assert found.exponent_error < 0.05


def test_a_power_law_is_told_from_other_tails() -> None:
    rng = np.random.default_rng(1)
    law = np.floor((TAIL - 0.5) * rng.random(20_000) ** (-1 / 1.3) + 0.5).astype(np.int64)
    assert distribution(law).is_power_law
    for other in (rng.poisson(9, 20_000), rng.geometric(0.1, 20_000)):
        found = distribution(other)
        assert not found.is_power_law
        assert found.exponent is not None
        assert found.ks_distance is not None
        assert found.ks_distance > 0.1


def test_few_pages_have_no_exponent() -> None:
    few = np.full(FEWEST_PAGES - 1, TAIL)
    assert distribution(few).exponent is None
    assert distribution(np.append(few, TAIL)).exponent is not None
    assert distribution(np.full(1000, TAIL - 1)).exponent is None

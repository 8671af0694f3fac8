"""Whole numbers of cash, and what the virtual page gets."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.opic.ledger.money import PARTS, exact_edge, fixed_edge, in_parts, one_more_link


def test_a_share_is_kept_in_whole_parts() -> None:
    assert in_parts(0) == 0
    assert in_parts(0.15) == 9830
    assert in_parts(1) == PARTS


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_refused_by_value(share: float) -> None:
    with pytest.raises(ValueError, match=repr(share)):
        in_parts(share)


@given(st.integers(0, 1 << 62), st.integers(1, 10_000), st.floats(0, 1))
def test_a_pot_is_never_more_than_the_cash(cash: int, links: int, share: float) -> None:
    assert 0 <= fixed_edge(share)(cash, links) <= cash
    assert 0 <= one_more_link(cash, links) <= cash
    assert 0 <= exact_edge(share)(cash, links) <= cash


def test_a_measured_edge_is_not_rounded_to_parts() -> None:
    assert exact_edge(0.15)(1 << 62, 1) / (1 << 62) == 0.85
    assert fixed_edge(0.15)(1 << 62, 1) / (1 << 62) == 55_706 / PARTS

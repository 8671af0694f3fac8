"""Numbers sorted on disk are those that went in, ascending, each once."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.ranks import block_files as blocks
from minicrawl.ranks.block_files import Sorter

NUMBERS = st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 9), max_size=40)


def in_order(numbers: list[int], at_once: int, portion: int) -> list[int]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        sorter = Sorter(folder, at_once)
        for first in range(0, len(numbers), portion):
            sorter.add(np.array(numbers[first : first + portion], dtype=np.int64))
        found = [number for some in sorter.in_order() for number in some.tolist()]
        assert not list(folder.iterdir())
    return found


@given(NUMBERS, st.integers(1, 20), st.integers(1, 20))
def test_they_come_in_order_each_once(numbers: list[int], at_once: int, portion: int) -> None:
    assert in_order(numbers, at_once, portion) == sorted(set(numbers))


def test_runs_are_merged_in_turns_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_MOST_RUNS", 3)
    numbers = np.random.default_rng(1).integers(0, 500, 300).tolist()
    assert in_order(numbers, at_once=10, portion=7) == sorted(set(numbers))

"""Whether work is linear: twice the input takes twice the time, and not four times."""

import statistics
import time
from collections.abc import Callable

import pytest

_REPEATS = 5
_TRIES = 4
_MOST = 3.0


def expect_linear(work: Callable[[str], object], short: str, long: str) -> None:
    """The second input is twice the first; whoever else uses the machine makes one try slow."""
    ratios = []
    for _ in range(_TRIES):
        ratios.append(_median_s(work, long) / _median_s(work, short))
        if ratios[-1] < _MOST:
            return
    pytest.fail(f"twice the input takes {min(ratios):.1f} times the time")


def _median_s(work: Callable[[str], object], text: str) -> float:
    times_s = []
    for _ in range(_REPEATS):
        began = time.process_time()
        work(text)
        times_s.append(time.process_time() - began)
    return max(statistics.median(times_s), 1e-4)

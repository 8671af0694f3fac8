"""Assertion of linear time: four times the input takes four times the time, not sixteen times.

The shortest measurement counts: other programs on the machine prolong some and shorten none.
"""

import time
from collections.abc import Callable

import pytest

TIMES = 4
"""Size of the second input, relative to the first."""
MOST = 2.5 * TIMES
"""Largest ratio of times: linear work takes 4 times as long, quadratic work 16 times."""
_TRIES = 30
_NOISE_S = 1e-3  # shorter times say nothing

Work = Callable[[], object]


def expect_linear(little: Work, much: Work, what: str = "") -> None:
    """Fail unless `much`, with `TIMES` the input of `little`, takes about `TIMES` as long."""
    little_s = much_s = float("inf")
    for _ in range(_TRIES):
        little_s, much_s = min(little_s, _seconds(little)), min(much_s, _seconds(much))
        if much_s < MOST * max(little_s, _NOISE_S):
            return
    pytest.fail(
        f"{much_s / little_s:.1f} times the time for {TIMES} times the input {what}".rstrip()
    )


def expect_linear_reading(
    read: Callable[[str], object], again: str, length: int = 8000, once: str = ""
) -> None:
    """Expect linear time for a text that begins with `once` and repeats `again`."""
    few, many = (once + again * (size // len(again)) for size in (length, length * TIMES))
    expect_linear(lambda: read(few), lambda: read(many), f"of {once[:20]!r} and {again[:20]!r}")


def _seconds(work: Work) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began

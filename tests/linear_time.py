"""Whether work is linear: four times the input takes four times the time, and not sixteen times.

Of all measurements the least counts: other programs on the machine make some slow, and none quick.
"""

import time
from collections.abc import Callable

import pytest

TIMES = 4
"""So many times the input has the second work."""
MOST = 2.5 * TIMES
"""Four is expected, sixteen is feared: a noisy machine takes neither for the other."""
_TRIES = 30
_NOTHING_S = 1e-3  # what takes less is quick, whatever it is

Work = Callable[[], object]


def expect_linear(little: Work, much: Work, what: str = "") -> None:
    """The second work has `TIMES` the input of the first."""
    little_s = much_s = float("inf")
    for _ in range(_TRIES):
        little_s, much_s = min(little_s, _seconds(little)), min(much_s, _seconds(much))
        if much_s < MOST * max(little_s, _NOTHING_S):
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

"""Whether work is linear: twice the input takes twice the time, and not four times.

Of all measurements the least count: whoever else uses the machine makes some slow, and none quick.
"""

import time
from collections.abc import Callable

import pytest

MOST = 3.2
"""Two is what is expected of twice the input, four what is feared."""
_TRIES, _REPEATS = 10, 3
_NOTHING_S = 2e-3  # what takes less is quick, whatever it is

Work = Callable[[], object]


def expect_linear(once: Work, twice: Work, what: str = "") -> None:
    """The second work has twice the input of the first."""
    once_s = twice_s = float("inf")
    for _ in range(_TRIES):
        once_s = min(once_s, *(_seconds(once) for _ in range(_REPEATS)))
        twice_s = min(twice_s, *(_seconds(twice) for _ in range(_REPEATS)))
        if twice_s < MOST * max(once_s, _NOTHING_S):
            return
    pytest.fail(f"{twice_s / once_s:.1f} times the time for twice the input {what}".rstrip())


def _seconds(work: Work) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began

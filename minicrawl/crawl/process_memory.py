"""How the memory of a long crawl is kept in shape.

glibc learns from what is freed: after a while it takes large arrays from the heap that all small
things share. Arrays that grow and move leave holes there, a third of all memory in the end, and so
do threads that each have a heap of their own. Both can be switched off, but not on again: only a
command, whose process is a crawl and nothing else, does that.

Python looks for cycles among all objects after every few hundred new ones. A crawl makes hardly
any, and the search stalled it for 200 ms at a million URLs: a fifth of the time of a settlement. So
while a crawl is under way the search is rare; connections leave no cycles behind. A worker knows
next to nothing but what it has loaded: once that is left out, all is soon searched. Modules make
hardly any cycles either: to look for them first would take longer than to load most of them.
"""

import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8  # of malloc.h
_LARGE = 128 * 1024
_FREE_AT_MOST, _TAKEN_AT_ONCE = 4 * 1024 * 1024, 256 * 1024
_STATM = Path("/proc/self/statm")


CYCLES_AFTER = 2_000, 10, 5_000
"""New objects; searches among the young; searches among the older ones."""
_IN_A_WORKER = 2_000, 5, 5


class RareCycleSearch:
    """Python searches for cycles seldom while one crawl at least is under way."""

    def __init__(self) -> None:
        self._crawls = 0
        self._former = gc.get_threshold()

    @contextmanager
    def during_a_crawl(self) -> Iterator[None]:
        """The last crawl that ends restores what the first one found."""
        if not self._crawls:
            self._former = gc.get_threshold()
            gc.set_threshold(*CYCLES_AFTER)
        self._crawls += 1
        try:
            yield
        finally:
            self._crawls -= 1
            if not self._crawls:
                gc.set_threshold(*self._former)


RARE_CYCLE_SEARCH = RareCycleSearch()
"""That of this process."""


def look_for_cycles_among_what_comes() -> None:
    """Objects that are there by now stay for ever, and are looked at no more."""
    gc.freeze()
    gc.set_threshold(*_IN_A_WORKER)


def keep_large_arrays_apart() -> None:
    """From now on a large array has pages of its own; nothing changes where there is no glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _FREE_AT_MOST)
        mallopt(_TOP_PAD, _TAKEN_AT_ONCE)


def resident() -> int:
    """The bytes of memory that this process has now; elsewhere, the most that it had."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * resource.getpagesize()

"""Memory of a long-running process.

glibc adapts to freed memory: after a while it takes large arrays from the heap that all small
objects share. Arrays that grow and move leave holes there, in the end a third of all memory, and so
do threads that each have a heap of their own. Both can be switched off, but not on again: so only a
command does that, whose process is a crawl and nothing else.

Python looks for reference cycles among all objects after every few hundred new ones. A crawl makes
hardly any, and a search stalled it for 200 ms at a million URLs: a fifth of the time of a
settlement. So searches are rare while a crawl is under way; connections leave no cycles behind. In
a worker nearly all objects are those of loaded modules: once they are exempted, a search is quick.
A search before exempting them was refused: modules make hardly any cycles, and it would take longer
than to load most of them.
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
"""Thresholds: new objects, searches among young objects, searches among older ones."""
_IN_A_WORKER = 2_000, 5, 5


class RareCycleSearch:
    """Makes the search for cycles rare while at least one crawl is under way."""

    def __init__(self) -> None:
        self._crawls = 0
        self._former = gc.get_threshold()

    @contextmanager
    def during_a_crawl(self) -> Iterator[None]:
        """Make searches rare.

        The last crawl that ends restores the thresholds that the first one found.
        """
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
"""The instance of this process."""


def look_for_cycles_among_what_comes() -> None:
    """Exempt the present objects from the search for cycles: they stay as long as the process."""
    gc.freeze()
    gc.set_threshold(*_IN_A_WORKER)


def keep_large_arrays_apart() -> None:
    """Give large arrays pages of their own from now on. Nothing changes without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _FREE_AT_MOST)
        mallopt(_TOP_PAD, _TAKEN_AT_ONCE)


def resident() -> int:
    """Return the resident bytes of this process: on Linux the present ones, elsewhere the peak."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * resource.getpagesize()

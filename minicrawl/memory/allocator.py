"""glibc's allocator in a process with large arrays.

glibc adapts to freed memory: after a while it takes large arrays from the heap that all small
objects share. Arrays that grow and move leave holes there, in the end a third of all memory, and
so do threads that each have a heap of their own. Both can be switched off, but not on again, so
only a command whose process does nothing but crawl does so.
"""

import ctypes

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8  # of malloc.h
_LARGE = 128 * 1024
LARGER_THAN_LINKS = 512 * 1024
"""Size for the process that crawls: arrays for links of a page and for the first ranks are smaller,
and come by the thousand. With pages of their own, a quarter of the kernel's time was page faults.
"""
LARGER_THAN_BODIES = 4 * 1024 * 1024
"""Size for processes that parse: a third faster where a body takes the memory of the last one."""
_FREE_AT_MOST, _TAKEN_AT_ONCE = 4 * 1024 * 1024, 256 * 1024


def mmap_large_arrays(large: int = _LARGE) -> None:
    """Give arrays of this size pages of their own from now on. Nothing changes without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, large)
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, max(_FREE_AT_MOST, 4 * large))
        mallopt(_TOP_PAD, _TAKEN_AT_ONCE)


def return_free_memory() -> None:
    """Return free memory to the system, after work that took more than what follows will."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

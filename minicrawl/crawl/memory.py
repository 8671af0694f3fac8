"""How the memory of a long crawl is kept in shape.

glibc learns from what is freed: after a while it takes large arrays from the heap that all small
things share. Arrays that grow and move leave holes there, a third of all memory in the end, and so
do threads that each have a heap of their own. Both can be switched off.
"""

import ctypes

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of malloc.h
_LARGE = 128 * 1024


def keep_large_arrays_apart() -> None:
    """From now on a large array has pages of its own; nothing changes where there is no glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_ARENA_MAX, 1)

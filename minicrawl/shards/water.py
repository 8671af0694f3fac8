"""A level of cash for all shards: pages below it wait while richer ones wait elsewhere.

Laws: a level is nowhere above the richest page that waits, so somebody always reads. Pages without
a level are read as on one machine. A level may be old: it changes the order, and no cash.

sketch   how many pages wait with how much cash, an eighth of an octave at a time
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.money import UNIT

_STEPS = 8
"""Parts of an octave."""

NO_LEVEL = 0
"""Every page is above."""


def sketch(keys: NDArray[np.int64], most: int) -> Counter[int]:
    """Of the keys of all pages that wait: bin -> pages, for the `most` richest or some more."""
    bins, counts = np.unique(_bins(keys), return_counts=True)
    richer = np.cumsum(counts[::-1])[::-1] - counts
    told = richer < most
    return Counter(dict(zip(bins[told].tolist(), counts[told].tolist(), strict=True)))


def water_level(sketches: Iterable[Mapping[int, int]], pages: int) -> int:
    """The highest level that leaves so many pages above it, or all if there are fewer; as a key."""
    waiting = Counter[int]()
    for one in sketches:
        waiting.update(one)
    above = 0
    for place in sorted(waiting, reverse=True):
        above += waiting[place]
        if above >= pages:
            return _least_key(place)
    return NO_LEVEL


def _bins(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bin 0 begins at a 256th of a unit, and has all that is below as well."""
    least = np.maximum(keys, 1)
    places = np.maximum(np.log2(least / UNIT * (1 << _STEPS)) * _STEPS, 0)
    found: NDArray[np.int64] = places.astype(np.int64)
    begins = np.array([_least_key(place) for place in range(int(found.max(initial=0)) + 1)])
    found -= begins[found] > least  # logarithms are rounded
    return found


def _least_key(place: int) -> int:
    """The least key of a bin; of the last one there is none."""
    return int(UNIT * 2 ** (place / _STEPS - _STEPS)) if place else NO_LEVEL

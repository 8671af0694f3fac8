"""A common cash threshold: pages below it wait while richer pages wait in other shards.

Laws: the threshold is never above the richest waiting page, so some shard always reads. Without a
threshold pages are read as on one machine. A stale threshold changes the order, but no cash.

sketch    histogram of the cash of waiting pages, in bins of an eighth of an octave
headroom  number of pages above the threshold, in multiples of the pages that all shards can read
          before the next threshold
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.records import ShardFacts
from minicrawl.opic.ledger.money import UNIT

_STEPS = 8
"""Bins per octave."""

NO_THRESHOLD = 0
"""Threshold that admits every page."""
TELL_S = 1.0
"""Interval at which shards tell facts; in a young crawl they tell them more often."""
HEADROOM = 2
FEWEST = 16
"""Least number of pages per second that a shard is assumed to read."""


def sketch(keys: NDArray[np.int64], most: int) -> Counter[int]:
    """Count the keys in each bin, down to the bin of the `most`-th richest page."""
    # Bin 0 begins at 1/256 unit, and has all smaller keys as well.
    least = np.maximum(keys, 1)
    eighths = np.log2(least / UNIT * (1 << _STEPS)) * _STEPS
    bin_of: NDArray[np.int64] = np.maximum(eighths, 0).astype(np.int64)
    begins = np.array([_least_key(place) for place in range(int(bin_of.max(initial=0)) + 1)])
    bin_of -= begins[bin_of] > least  # logarithms are rounded
    bins, counts = np.unique(bin_of, return_counts=True)
    richer = np.cumsum(counts[::-1])[::-1] - counts
    is_counted = richer < most
    return Counter(dict(zip(bins[is_counted].tolist(), counts[is_counted].tolist(), strict=True)))


def cash_threshold(sketches: Iterable[Mapping[int, int]], pages: int) -> int:
    """Return the highest threshold, as a key, with at least `pages` pages above it.

    If fewer pages wait, that is `NO_THRESHOLD`.
    """
    waiting = Counter[int]()
    for bins in sketches:
        waiting.update(bins)
    above = 0
    for place in sorted(waiting, reverse=True):
        above += waiting[place]
        if above >= pages:
            return _least_key(place)
    return NO_THRESHOLD


def _least_key(place: int) -> int:
    """Return the least key of a bin. Bin 0 has none, so as a threshold it admits every page."""
    return int(UNIT * 2 ** (place / _STEPS - _STEPS)) if place else NO_THRESHOLD


def pages_to_admit(facts: Iterable[ShardFacts], within_s: float) -> int:
    return HEADROOM * sum(ceil(max(shard.pace, FEWEST) * within_s) for shard in facts)

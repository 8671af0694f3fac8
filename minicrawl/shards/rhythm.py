"""How long shards may wait before they tell each other something, and before they send cash.

What is not known yet changes the order by as much as was read meanwhile. So it may be as old as a
small part of the crawl: at the beginning, when the richest pages are found, shards talk quickly,
and later as rarely as they may. Laws: what they wait never shrinks while a crawl grows older, and
all of them together talk no quicker than so many messages a second, however many they are.
"""

PART = 1 / 50
"""Of the age of a crawl, that may pass before others hear of it."""
QUICKEST_S = 0.1
QUICK_SHARDS = 16
"""So many may talk as quickly as that; with more of them each pair waits longer."""


def rhythm_s(age_s: float, shards: int, longest_s: float) -> float:
    """What a shard waits, in a crawl of such an age that waits so long when it is old."""
    quickest_s = QUICKEST_S * max(1.0, shards / QUICK_SHARDS) ** 2
    return min(longest_s, max(quickest_s, PART * age_s))

"""How the pages of a budget are shared out among shards. No I/O.

Law: what all shards may fetch is never more than the budget, whoever shares it out, and whatever
was told late: the sums are one value of the engine, which changes only for who knows its revision.
A shard never has less than it has fetched and asks for now.

granted   the pages that a shard may fetch in all
spent     those that it has fetched, and those under way
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

AHEAD_S = 12.0
"""A shard gets what it will read in this time, so that it need not wait for the next grant, even
while servers choose who leads the keys."""
SOON_S = 3.0
"""If others want pages and none is left, it keeps what it will read in this time."""
LEAST = 8


class ShardNeed(NamedTuple):
    """What a shard has spent, what waits there, and how many pages it reads in a second."""

    spent: int
    waiting: int
    pace: float


def granted_anew(
    budget: int,
    granted: Mapping[int, int],
    needs: Mapping[int, ShardNeed],
    shards: int,
    *,
    is_wanted: bool = False,
) -> dict[int, int]:
    """What the shards with these needs may fetch from now on, where that changes.

    Shards without need give back what they have not spent; if pages are wanted elsewhere and none
    is left, so do those that have more than they read soon. `shards` are those of the whole crawl:
    the last pages are shared out in small parts, so that others come in for them as well.
    """
    left = budget - sum(granted.values())
    is_short = is_wanted and left <= 0
    back = {
        shard: need.spent
        for shard, need in needs.items()
        if (unspent := granted.get(shard, 0) - need.spent) > 0
        and (not need.waiting or (is_short and unspent > need.pace * SOON_S))
    }
    hungry = {
        shard: wanted
        for shard, need in needs.items()
        if shard not in back
        and need.waiting
        and (wanted := _wanted(need) - granted.get(shard, 0)) > 0
    }
    most, more = max(1, left // shards), {}
    for shard, wanted in sorted(hungry.items(), key=lambda one: -needs[one[0]].waiting):
        if (part := min(wanted, most, left)) > 0:
            more[shard] = granted.get(shard, 0) + part
            left -= part
    return back | more


def _wanted(need: ShardNeed) -> int:
    """That a shard should have in all."""
    ahead = max(LEAST, int(need.pace * AHEAD_S))
    return need.spent + min(ahead, need.waiting)

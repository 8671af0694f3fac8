"""How the pages of a budget are shared out among shards. No I/O.

Law: what all shards may fetch is never more than the budget, whoever shares it out, and whatever
was told late: the sums are one value of the engine, which changes only for who knows its revision.
A shard never has less than it has fetched and asks for now.

granted   the pages that a shard may fetch in all
spent     those that it has fetched, and those under way
ahead     A shard gets what it will read in this time, so that it need not wait for the next grant,
          even while servers choose who leads the log of grants. Towards the end that is a part of
          the time that is left: else shards that asked first would have all pages, and the last
          ones would be none of the richest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

AHEAD_S, SHORTEST_S = 12.0, 0.5
SOON_S = 3.0
"""If others want pages and none is left, a shard keeps what it will read in this time."""
LEAST = 8
PARTS = 4
"""Of what is left, that are ahead of all shards together at most."""


class ShardNeed(NamedTuple):
    """What a shard has spent, what waits there, and how many pages it reads in a second."""

    spent: int
    waiting: int
    pace: float


def ahead_s(left: float, pace: float) -> float:
    """How long shards have enough, which together read so many pages in a second."""
    if pace <= 0 or left >= AHEAD_S * PARTS * pace:
        return AHEAD_S
    return max(SHORTEST_S, left / (PARTS * pace))


def granted_anew(
    budget: int,
    granted: Mapping[int, int],
    needs: Mapping[int, ShardNeed],
    shards: int,
    *,
    pace: float = 0.0,
    is_wanted: bool = False,
) -> dict[int, int]:
    """What the shards with these needs may fetch from now on, where that changes.

    Shards without need give back what they have not spent; if pages are wanted elsewhere and none
    is left, so do those that have more than they read soon. `shards` of the whole crawl have pages
    that wait, and `pace` is theirs: the last pages are shared out in small parts, so that others
    come in for them as well.
    """
    left = budget - sum(granted.values())
    soon_s = ahead_s(left, pace)
    back = _given_back(granted, needs, are_wanted=is_wanted and left <= 0)
    hungry = {
        shard: wanted
        for shard, need in needs.items()
        if shard not in back
        and need.waiting
        and (wanted := _wanted(need, soon_s) - granted.get(shard, 0)) > 0
    }
    most, more = max(1, left // max(1, shards)), {}
    for shard, wanted in sorted(hungry.items(), key=lambda one: -needs[one[0]].waiting):
        if (part := min(wanted, most, left)) > 0:
            more[shard] = granted.get(shard, 0) + part
            left -= part
    return back | more


def _given_back(
    granted: Mapping[int, int], needs: Mapping[int, ShardNeed], *, are_wanted: bool
) -> dict[int, int]:
    return {
        shard: need.spent
        for shard, need in needs.items()
        if (unspent := granted.get(shard, 0) - need.spent) > 0
        and (not need.waiting or (are_wanted and unspent > need.pace * SOON_S))
    }


def is_short(granted: int, need: ShardNeed) -> bool:
    """Whether a shard will soon have read all that it may."""
    return bool(need.waiting) and granted - need.spent <= need.pace * SHORTEST_S


def _wanted(need: ShardNeed, soon_s: float) -> int:
    """That a shard should have in all."""
    return need.spent + min(max(LEAST, int(need.pace * soon_s)), need.waiting)

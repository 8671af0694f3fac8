"""Division of the page budget among shards. No I/O.

Law: the pages that all shards may fetch never exceed the budget, whichever node divides it and
however late it hears: one log entry of the engine has the grants of all shards, and is replaced
only by a node that knows it. A grant is never less than what its shard has fetched and has under
way.

granted   pages that a shard may fetch in total
spent     pages fetched, and pages under way
ahead     time for which pages are granted in advance, so that a shard need not wait for its next
          grant, even while servers elect a leader for the log of grants. Towards the end the time
          shrinks with the pages left: else the shards that ask first would get all of them,
          whether or not they have the richest pages.
"""

from collections.abc import Mapping

from minicrawl.cluster.records import ShardFacts

AHEAD_S, SHORTEST_S = 12.0, 0.5
SOON_S = 3.0
"""Time for which a shard keeps pages if others want some and none is left."""
LEAST_AHEAD = 8
"""Pages to grant ahead at least, if as many wait."""
AHEAD_PARTS = 4
"""At most 1 / AHEAD_PARTS of the remaining pages is granted ahead, over all shards."""


def ahead_s(left: float, pace: float) -> float:
    """Return the seconds of reading that a grant covers, for the pages left and the total rate."""
    if pace <= 0 or left >= AHEAD_S * AHEAD_PARTS * pace:
        return AHEAD_S
    return max(SHORTEST_S, left / (AHEAD_PARTS * pace))


def new_grants(
    budget: int,
    granted: Mapping[int, int],
    needs: Mapping[int, ShardFacts],
    shards: int,
    *,
    pace: float = 0.0,
    is_wanted: bool = False,
) -> dict[int, int]:
    """Return the new grants of these shards, where they change.

    A shard without need returns what it has not spent. If pages are wanted elsewhere and none is
    left, so does a shard with more than it will read soon. `shards` is the number of shards in the
    whole crawl that have waiting pages, and `pace` their rate. The last pages are divided into
    small parts, so that shards of other nodes get some as well.
    """
    left = budget - sum(granted.values())
    soon_s = ahead_s(left, pace)
    are_wanted = is_wanted and left <= 0
    back = {
        shard: need.spent
        for shard, need in needs.items()
        if (unspent := granted.get(shard, 0) - need.spent) > 0
        and (not need.left or (are_wanted and unspent > need.pace * SOON_S))
    }
    hungry = {}
    for shard, need in needs.items():
        ahead = min(max(LEAST_AHEAD, int(need.pace * soon_s)), need.left)
        lack = need.spent + ahead - granted.get(shard, 0)
        if shard not in back and need.left and lack > 0:
            hungry[shard] = lack
    # At most an even part of the rest: a node grants pages only to its own shards, so the first one
    # to ask must leave some for the shards of others.
    most, more = max(1, left // max(1, shards)), {}
    for shard, pages in sorted(hungry.items(), key=lambda item: -needs[item[0]].left):
        if (part := min(pages, most, left)) > 0:
            more[shard] = granted.get(shard, 0) + part
            left -= part
    return back | more

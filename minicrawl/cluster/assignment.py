"""Assignment of shards to nodes, and how shards divide what they share.

The same facts give the same answer everywhere, so nodes and shards need not agree on it first.

assignment      node of each shard
address parts   a shard's part of the request rate of an IP address
page budget     the pages that each shard may fetch
levelling       transfers between the pots of virtual pages
cash threshold  the cash below which pages wait
facts           what follows from the numbers that shards tell each other

Laws of the assignment: a shard has at most one node, and none only if no node has room. Shards are
spread evenly: no node has two more than another that has room. As few shards move as an even
assignment allows.

room    the most shards that a node may hold; 0 while it is drained
weight  the rendezvous hash of a node and a shard. A free shard goes to the node with the largest
        weight, so the shards of a lost node go to many others
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.records import WHOLE, AddressPart, ShardFacts
from minicrawl.opic.estimate import of_all
from minicrawl.opic.money import UNIT

_BYTES = 8


def assignment(shards: int, rooms: Mapping[str, int], holders: Mapping[int, str]) -> dict[int, str]:
    """Return the node that should hold each shard.

    `rooms` has the room of each live node, `holders` the last holder of each shard, dead or alive.
    """
    held: dict[str, list[int]] = {node: [] for node in rooms}
    for shard, node in holders.items():
        if node in held and shard < shards:
            held[node].append(shard)
    loads = even_loads(shards, rooms, {node: len(some) for node, some in held.items()})
    wanted = {
        shard: node
        for node, some in held.items()
        for shard in sorted(some, key=lambda shard: -_weight(node, shard))[: loads[node]]
    }
    lacks = {node: max(0, load - len(held[node])) for node, load in loads.items()}
    for shard in range(shards):
        if shard in wanted or not (takers := [node for node, lack in lacks.items() if lack]):
            continue
        wanted[shard] = taker = max(takers, key=lambda node: _weight(node, shard))
        lacks[taker] -= 1
    return wanted


def even_loads(shards: int, rooms: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """Return how many shards each node should hold.

    A remainder that cannot be shared evenly stays with the nodes that hold more now.
    """
    level, loads = 0, dict.fromkeys(rooms, 0)
    left = min(shards, sum(rooms.values()))
    while left:
        level += 1
        able = [node for node, room in rooms.items() if room >= level]
        # Nodes are filled level by level. The last level may not reach all nodes: those with most
        # shards come first, so the remainder moves as few shards as possible.
        able.sort(key=lambda node: (-held[node], _weight(node, level), node))
        for node in able[:left]:
            loads[node] = level
        left -= min(left, len(able))
    return loads


def _weight(node: str, shard: int) -> int:
    """Return the rendezvous hash of node and shard."""
    digest = blake2b(f"{shard} {node}".encode(), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big")


# ================================================================ address parts
#
# Division of an address's request rate among shards.
#
# An address that serves hosts of several shards has one record, which all of them read and change.
#
# Laws: the parts of an address never exceed the whole. A shard changes only its own part, and never
# uses more than the record says: it takes a part only if that is free, and gives one up in the
# record after it has stopped using it. If every shard looks when told to, the parts end up even.
#
# part        share of the rate in 1 / `WHOLE`: a shard with half waits twice as long
# generation  how often the shard has changed hands; an earlier holder can change nothing

AddressParts = Mapping[int, AddressPart]
"""Parts of one address, by shard."""


def with_own_part(
    parts: AddressParts, shard: int, generation: int, *, is_used: bool
) -> dict[int, AddressPart]:
    """Return the record with this shard's new part.

    The shard takes an even part if that is free, and else keeps the part that it has. A shard that
    does not use the address is removed.
    """
    others = {other: part for other, part in parts.items() if other != shard}
    if not is_used:
        return others
    return {**others, shard: AddressPart(_new_part(parts, shard), generation)}


def _new_part(parts: AddressParts, shard: int) -> int:
    sharing = {*parts, shard}
    even = WHOLE // len(sharing)
    free = WHOLE - sum(part.part for other, part in parts.items() if other != shard)
    has = parts[shard].part if shard in parts else 0
    # The even part may still be in use by others: until they have given it up, the shard keeps
    # what it has.
    return even if even <= free else has


def shards_to_notify(parts: AddressParts, shard: int) -> list[int]:
    """Return the other shards that would change their parts."""
    return sorted(
        other
        for other, has in parts.items()
        if other != shard and _new_part(parts, other) != has.part
    )


# ================================================================ page budget
#
# Division of the page budget among shards. No I/O.
#
# Law: the pages that all shards may fetch never exceed the budget, whichever node divides it and
# however late it hears: one log entry of the engine has the grants of all shards, and is replaced
# only by a node that knows it. A grant is never less than what its shard has fetched and has under
# way.
#
# granted   pages that a shard may fetch in total
# spent     pages fetched, and pages under way
# ahead     time for which pages are granted in advance, so that a shard need not wait for its next
#           grant, even while servers elect a leader for the log of grants. Towards the end the time
#           shrinks with the pages left: else the shards that ask first would get all of them,
#           whether or not they have the richest pages.

AHEAD_S, SHORTEST_S = 12.0, 0.5
SOON_S = 3.0
"""Time for which a shard keeps pages if others want some and none is left."""
LEAST_AHEAD = 8
"""Pages to grant ahead at least, if as many wait."""
AHEAD_PARTS = 4
"""At most 1 / AHEAD_PARTS of the remaining pages is granted ahead, over all shards."""


class ShardNeed(NamedTuple):
    """Pages that a shard has spent, pages that wait there, and its pages per second."""

    spent: int
    waiting: int
    pace: float


def ahead_s(left: float, pace: float) -> float:
    """Return the seconds of reading that a grant covers, for the pages left and the total rate."""
    if pace <= 0 or left >= AHEAD_S * AHEAD_PARTS * pace:
        return AHEAD_S
    return max(SHORTEST_S, left / (AHEAD_PARTS * pace))


def new_grants(
    budget: int,
    granted: Mapping[int, int],
    needs: Mapping[int, ShardNeed],
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
    back = _given_back(granted, needs, are_wanted=is_wanted and left <= 0)
    hungry = {
        shard: wanted
        for shard, need in needs.items()
        if shard not in back
        and need.waiting
        and (wanted := _wanted(need, soon_s) - granted.get(shard, 0)) > 0
    }
    # At most an even part of the rest: a node grants pages only to its own shards, so the first one
    # to ask must leave some for the shards of others.
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
    """Return whether a shard will soon have spent its grant."""
    return bool(need.waiting) and granted - need.spent <= need.pace * SHORTEST_S


def _wanted(need: ShardNeed, soon_s: float) -> int:
    """Return the total grant that a shard should have."""
    return need.spent + min(max(LEAST_AHEAD, int(need.pace * soon_s)), need.waiting)


# ================================================================ levelling
#
# Transfers between the pots of virtual pages, so that unread pages of all shards earn alike.
#
# On one machine all unread pages share one pot. Here each shard has a pot of its own. A pot grows
# where pages are read, but unread pages multiply where links are found. Levelling moves cash until
# each pot is in proportion to the unread pages of its shard.
#
# Law: a shard sends only what its own pot holds. So cash is exact even if the shards' knowledge of
# each other is old.
#
# surplus   what a pot holds above its share
# lack      what a pot holds below its share


def levelling_transfers(
    shard: int, told: Mapping[int, ShardFacts], least: int = 1
) -> dict[int, int]:
    """Return the atoms that this shard's pot sends to each other pot, in proportion to their lacks.

    Sums below `least` are left out, since they are not worth a batch.
    """
    pots = {other: max(0, facts.pot) for other, facts in told.items()}
    purse, unread = sum(pots.values()), sum(facts.waiting for facts in told.values())
    if not unread:
        return {}
    shares = {other: purse * facts.waiting // unread for other, facts in told.items()}
    surplus = pots[shard] - shares[shard]
    lacks = {other: lack for other in told if (lack := shares[other] - pots[other]) > 0}
    total = sum(lacks.values())
    if surplus <= 0 or not total:
        return {}
    parts = {other: min(surplus, total) * lack // total for other, lack in lacks.items()}
    return {other: part for other, part in parts.items() if part >= least}


# ================================================================ cash threshold
#
# A common cash threshold: pages below it wait while richer pages wait in other shards.
#
# Laws: the threshold is never above the richest waiting page, so some shard always reads. Without a
# threshold pages are read as on one machine. A stale threshold changes the order, but no cash.
#
# sketch   histogram of the cash of waiting pages, in bins of an eighth of an octave

_STEPS = 8
"""Bins per octave."""

NO_THRESHOLD = 0
"""Threshold that admits every page."""


def sketch(keys: NDArray[np.int64], most: int) -> Counter[int]:
    """Count the keys in each bin, down to the bin of the `most`-th richest page."""
    bins, counts = np.unique(_bins(keys), return_counts=True)
    richer = np.cumsum(counts[::-1])[::-1] - counts
    told = richer < most
    return Counter(dict(zip(bins[told].tolist(), counts[told].tolist(), strict=True)))


def cash_threshold(sketches: Iterable[Mapping[int, int]], pages: int) -> int:
    """Return the highest threshold, as a key, with at least `pages` pages above it.

    If fewer pages wait, that is `NO_THRESHOLD`.
    """
    waiting = Counter[int]()
    for one in sketches:
        waiting.update(one)
    above = 0
    for place in sorted(waiting, reverse=True):
        above += waiting[place]
        if above >= pages:
            return _least_key(place)
    return NO_THRESHOLD


def _bins(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bin of each key. Bin 0 begins at 1/256 unit, and has all smaller keys as well."""
    least = np.maximum(keys, 1)
    eighths = np.log2(least / UNIT * (1 << _STEPS)) * _STEPS
    found: NDArray[np.int64] = np.maximum(eighths, 0).astype(np.int64)
    begins = np.array([_least_key(place) for place in range(int(found.max(initial=0)) + 1)])
    found -= begins[found] > least  # logarithms are rounded
    return found


def _least_key(place: int) -> int:
    """Return the least key of a bin. Bin 0 has none, so as a threshold it admits every page."""
    return int(UNIT * 2 ** (place / _STEPS - _STEPS)) if place else NO_THRESHOLD


# ================================================================ facts
#
# Conclusions from the facts that shards tell each other.
#
# Law: facts may be old: they decide the order of pages, which pots pay which, and when a crawl
# ends, but no cash.
#
# The crawl has ended when the last facts of every shard say that it is idle, and on each channel as
# many batches were posted as sent. Then no batch was under way, and nothing can happen any more,
# even if the facts are of different moments (Mattern's vector counters).
#
# headroom  number of pages above the threshold, in multiples of the pages that all shards can
#           read before the next threshold
# choice    A shard has a choice if more hosts may be asked than it asks at a time. Such a shard
#           reads the richest pages first anyway, so it gets less headroom, above all in a young
#           crawl, whose threshold changes quickly. Without a choice each host is asked as
#           soon as its delay allows.

TELL_S = 1.0
"""Interval at which shards tell facts; in a young crawl they tell them more often."""
HEADROOM = 2
FEWEST = 16
"""Least number of pages per second that a shard is assumed to read."""


def pages_to_admit(told: Iterable[ShardFacts], within_s: float) -> int:
    """Return the number of pages to admit in the next `within_s` seconds."""
    least = min(HEADROOM, 1 + within_s / TELL_S)
    return ceil(
        sum(
            ceil(max(one.pace, FEWEST) * within_s) * (least if one.has_choice else HEADROOM)
            for one in told
        )
    )


def has_ended(told: Mapping[int, ShardFacts], shards: int) -> bool:
    """Return whether all shards are idle and no batch is under way."""
    if len(told) < shards or not all(facts.is_idle for facts in told.values()):
        return False
    sent = {(by, to): count for by, facts in told.items() for to, count in facts.sent.items()}
    posted = {(by, to): count for to, facts in told.items() for by, count in facts.received.items()}
    return sent == posted


def fetched_together(told: Mapping[int, ShardFacts]) -> int:
    return sum(facts.fetched for facts in told.values())


def gathered_together(told: Mapping[int, ShardFacts], shards: int) -> float:
    """Return the gathered share of all importance, as one machine would estimate it.

    The share is 0 until each shard has told its part.
    """
    facts = told.values()
    read, readings = sum(one.gathered for one in facts), sum(one.fetched for one in facts)
    if not read or len(told) < shards or any(one.fetched and not one.gathered for one in facts):
        return 0.0
    # Cash under way is for pages that their owners do not count yet.
    unread = sum(one.ungathered for one in facts) + sum(one.abroad for one in facts) / UNIT
    discovery = sum(one.discovery * one.fetched for one in facts) / max(readings, 1)
    share = read / max(read + unread, read)
    return of_all(share, 1 - share, discovery)

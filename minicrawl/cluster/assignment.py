"""Which node should hold which shard.

Laws: a shard has at most one node, and none only if no node has room. Nodes with room hold evenly:
none has two more than another that could take one. No shard moves without need: as many stay where
they are as an even assignment can leave there. Whoever asks with the same facts gets the same
answer, so nodes need not agree.

room    the most shards that a node may hold; 0 for one that is drained
liking  a number for a node and a shard, which is the same on every machine: of the nodes that may
        take a shard, the one that likes it best does. So shards of a node that is gone go to many.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.money import UNIT

_BYTES = 8


def assignment(shards: int, rooms: Mapping[str, int], holders: Mapping[int, str]) -> dict[int, str]:
    """Shard -> the node that should hold it.

    `rooms` are the nodes that are there. `holders` are those of now; some may be gone.
    """
    held: dict[str, list[int]] = {node: [] for node in rooms}
    for shard, node in holders.items():
        if node in held and shard < shards:
            held[node].append(shard)
    loads = even_loads(shards, rooms, {node: len(some) for node, some in held.items()})
    wanted = {
        shard: node
        for node, some in held.items()
        for shard in _favourites(node, some)[: loads[node]]
    }
    lacks = {node: max(0, load - len(held[node])) for node, load in loads.items()}
    for shard in range(shards):
        if shard in wanted or not (takers := [node for node, lack in lacks.items() if lack]):
            continue
        wanted[shard] = taker = max(takers, key=lambda node: _liking(node, shard))
        lacks[taker] -= 1
    return wanted


def even_loads(shards: int, rooms: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """How many shards each node should hold. What cannot be shared evenly stays with those that
    hold more now.
    """
    level, loads = 0, dict.fromkeys(rooms, 0)
    left = min(shards, sum(rooms.values()))
    while left:
        level += 1
        able = [node for node, room in rooms.items() if room >= level]
        able.sort(key=lambda node: (-held[node], _liking(node, level), node))
        for node in able[:left]:
            loads[node] = level
        left -= min(left, len(able))
    return loads


def _favourites(node: str, shards: Collection[int]) -> list[int]:
    """Those that the node likes best come first."""
    return sorted(shards, key=lambda shard: -_liking(node, shard))


def _liking(node: str, shard: int) -> int:
    """Rendezvous hashing: the number of the pair."""
    digest = blake2b(f"{shard} {node}".encode(), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big")


# ================================================================ address parts
#
# Which shard has which part of the pace of an address.
#
# Laws: the parts of an address are never more than the whole. A shard changes its own part only,
# and uses no more than what the record says; so it takes a part that is free, and gives one up only
# after it has stopped using it. Shards that look whenever they are told to look end with even
# parts.
#
# part         of `WHOLE`: who has a half waits twice as long between two requests to the address
# generation   how often the shard has changed hands: a holder from before changes nothing any more

WHOLE = 1 << 20
MOST_RECORD_BYTES = 1 << 18


class AddressPart(NamedTuple):
    """What a shard has of an address; 0 if it waits for others to give some up."""

    part: int
    generation: int


AddressParts = Mapping[int, AddressPart]
"""By shard."""


class AddressRecordError(ValueError):
    """A record that no shard has written."""


def with_own(
    parts: AddressParts, shard: int, generation: int, *, is_used: bool
) -> dict[int, AddressPart]:
    """The record as this shard leaves it: with an even part of its own if so much is free, or else
    with what it has; without it, if it does not use the address.
    """
    others = {other: part for other, part in parts.items() if other != shard}
    if not is_used:
        return others
    return {**others, shard: AddressPart(_own(parts, shard), generation)}


def _own(parts: AddressParts, shard: int) -> int:
    sharing = {*parts, shard}
    even = WHOLE // len(sharing)
    free = WHOLE - sum(part.part for other, part in parts.items() if other != shard)
    has = parts[shard].part if shard in parts else 0
    return even if even <= free else has


def who_looks(parts: AddressParts, shard: int) -> list[int]:
    """The other shards that would change their parts."""
    return sorted(
        other for other, has in parts.items() if other != shard and _own(parts, other) != has.part
    )


def parts_as_bytes(parts: AddressParts) -> bytes:
    """The record as bytes."""
    return json.dumps({str(shard): list(part) for shard, part in sorted(parts.items())}).encode()


def parts_in(data: bytes, shards: int) -> dict[int, AddressPart]:
    """The record. Raises AddressRecordError if the bytes are none of so many shards."""
    if len(data) > MOST_RECORD_BYTES:
        raise AddressRecordError(f"{len(data):,} bytes are more than a record of an address has")
    try:
        found = {int(key): AddressPart(*value) for key, value in json.loads(data).items()}
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise AddressRecordError(f"these bytes are no record of an address: {error}") from error
    numbers = [number for one in found.values() for number in one]
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        raise AddressRecordError("parts of an address are whole numbers")
    if not all(0 <= shard < shards for shard in found):
        raise AddressRecordError(f"a shard is none of {shards}")
    if sum(one.part for one in found.values()) > WHOLE:
        raise AddressRecordError("the parts of an address are more than the whole")
    return found


# ================================================================ levelling
#
# What virtual pages send each other, so that unread pages of all shards have the same claim.
#
# Law: only what a pot holds is sent, and by its own shard alone; so money is exact whatever the
# shards know of each other, and what they know may be old.
#
# On one machine the unread pages share one pot, each with the same claim. In shards each has a pot.
# Where pages are read the pot grows; where they become known the unread pages do. Levelled pots
# hold in proportion to their unread pages.
#
# surplus   what a pot holds above its share
# lack      what it holds below


class PotTold(NamedTuple):
    """What a shard tells the others of its pot."""

    atoms: int
    unread: int


def to_level(shard: int, told: Mapping[int, PotTold], least: int = 1) -> dict[int, int]:
    """What this shard sends to each other one of its pot: its part of what those lack.

    Sums below `least` are not worth a batch.
    """
    pots = {other: max(0, pot.atoms) for other, pot in told.items()}
    purse, unread = sum(pots.values()), sum(pot.unread for pot in told.values())
    if not unread:
        return {}
    shares = {other: purse * pot.unread // unread for other, pot in told.items()}
    surplus = pots[shard] - shares[shard]
    lacks = {other: lack for other in told if (lack := shares[other] - pots[other]) > 0}
    total = sum(lacks.values())
    if surplus <= 0 or not total:
        return {}
    parts = {other: min(surplus, total) * lack // total for other, lack in lacks.items()}
    return {other: part for other, part in parts.items() if part >= least}


# ================================================================ water
#
# A level of cash for all shards: pages below it wait while richer ones wait elsewhere.
#
# Laws: a level is nowhere above the richest page that waits, so somebody always reads. Pages
# without a level are read as on one machine. A level may be old: it changes the order, and no cash.
#
# sketch   how many pages wait with how much cash, an eighth of an octave at a time

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
    eighths = np.log2(least / UNIT * (1 << _STEPS)) * _STEPS
    found: NDArray[np.int64] = np.maximum(eighths, 0).astype(np.int64)
    begins = np.array([_least_key(place) for place in range(int(found.max(initial=0)) + 1)])
    found -= begins[found] > least  # logarithms are rounded
    return found


def _least_key(place: int) -> int:
    """The least key of a bin; of the last one there is none."""
    return int(UNIT * 2 ** (place / _STEPS - _STEPS)) if place else NO_LEVEL

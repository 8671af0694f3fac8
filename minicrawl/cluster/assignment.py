"""Assignment of shards to nodes, and how shards divide what they share.

Laws: a shard has at most one node, and none only if no node has room. Nodes with room hold evenly:
no node has two shards more than another that has room. As few shards move as an even assignment
allows. The same facts give the same answer everywhere, so nodes need not agree on it.

room    the most shards that a node may hold; 0 while it is drained
liking  the rendezvous hash of a node and a shard. Of the nodes that may take a shard the one with
        the largest gets it, so the shards of a lost node go to many others
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
    """Return the node that should hold each shard.

    `rooms` has the live nodes. `holders` has the present ones, some of which may be gone.
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
    """Return how many shards each node should hold.

    A remainder that cannot be shared evenly stays with the nodes that hold more now.
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
    """Sort `shards` by the node's liking, best first."""
    return sorted(shards, key=lambda shard: -_liking(node, shard))


def _liking(node: str, shard: int) -> int:
    """Return the rendezvous hash of node and shard."""
    digest = blake2b(f"{shard} {node}".encode(), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big")


# ================================================================ address parts
#
# Which shard has which part of an address's request rate.
#
# An address that serves hosts of several shards has one record, which all of them read and change.
#
# Laws: the parts of an address never exceed the whole. A shard changes only its own part, and never
# uses more than the record says: it takes a part only if that is free, and gives one up in the
# record after it has stopped using it. If every shard looks when told to, the parts end up even.
#
# part        share of the rate, of `WHOLE`: a shard with half waits twice as long between requests
# generation  how often the shard has changed hands; an earlier holder changes nothing any more

WHOLE = 1 << 20
MOST_RECORD_BYTES = 1 << 18


class AddressPart(NamedTuple):
    """A shard's part of an address; 0 while it waits for others to give some up."""

    part: int
    generation: int


AddressParts = Mapping[int, AddressPart]
"""Parts by shard."""


class AddressRecordError(ValueError):
    """A record that no shard writes."""


def with_own(
    parts: AddressParts, shard: int, generation: int, *, is_used: bool
) -> dict[int, AddressPart]:
    """Return the record as this shard leaves it.

    The shard takes an even part if that is free, and else keeps the part that it has. A shard that
    does not use the address is removed.
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
    """Return the other shards that would change their parts."""
    return sorted(
        other for other, has in parts.items() if other != shard and _own(parts, other) != has.part
    )


def parts_as_bytes(parts: AddressParts) -> bytes:
    """Encode the record."""
    return json.dumps({str(shard): list(part) for shard, part in sorted(parts.items())}).encode()


def parts_in(data: bytes, shards: int) -> dict[int, AddressPart]:
    """Decode a record. Raises AddressRecordError if no shard writes these bytes."""
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
# Transfers between the pots of virtual pages, so that unread pages of all shards earn alike.
#
# On one machine all unread pages share one pot. Here each shard has a pot of its own: it grows
# where pages are read, and the unread pages grow where pages become known. Levelling moves cash
# until each pot is in proportion to the unread pages of its shard.
#
# Law: a shard sends only what its own pot holds. So cash is exact even if the shards' knowledge of
# each other is old.
#
# surplus   what a pot holds above its share
# lack      what a pot holds below its share


class PotTold(NamedTuple):
    """A shard's pot and number of unread pages, as told to the others."""

    atoms: int
    unread: int


def to_level(shard: int, told: Mapping[int, PotTold], least: int = 1) -> dict[int, int]:
    """Return what this shard's pot sends to each other pot: its part of what they lack.

    Sums below `least` are left out, since they are not worth a batch.
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


# ================================================================ cash threshold
#
# A cash level for all shards: pages below it wait while richer pages wait elsewhere.
#
# Laws: the level is nowhere above the richest waiting page, so some shard always reads. Without a
# level pages are read as on one machine. A stale level changes the order, and no cash.
#
# sketch   histogram of the cash of waiting pages, in bins of an eighth of an octave

_STEPS = 8
"""Bins per octave."""

NO_LEVEL = 0
"""Level that admits every page."""


def sketch(keys: NDArray[np.int64], most: int) -> Counter[int]:
    """Count the keys in each bin, down to the bin of the `most`-th richest page."""
    bins, counts = np.unique(_bins(keys), return_counts=True)
    richer = np.cumsum(counts[::-1])[::-1] - counts
    told = richer < most
    return Counter(dict(zip(bins[told].tolist(), counts[told].tolist(), strict=True)))


def water_level(sketches: Iterable[Mapping[int, int]], pages: int) -> int:
    """Return the highest level, as a key, with at least `pages` pages above it.

    If fewer pages wait, that is `NO_LEVEL`.
    """
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
    """Return the bin of each key. Bin 0 begins at 1/256 unit, and has all smaller keys as well."""
    least = np.maximum(keys, 1)
    eighths = np.log2(least / UNIT * (1 << _STEPS)) * _STEPS
    found: NDArray[np.int64] = np.maximum(eighths, 0).astype(np.int64)
    begins = np.array([_least_key(place) for place in range(int(found.max(initial=0)) + 1)])
    found -= begins[found] > least  # logarithms are rounded
    return found


def _least_key(place: int) -> int:
    """Return the least key of a bin. Bin 0 has none, so its level admits every page."""
    return int(UNIT * 2 ** (place / _STEPS - _STEPS)) if place else NO_LEVEL

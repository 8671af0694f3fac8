"""Assignment of shards to nodes, and a shard's part of the request rate of an IP address. No I/O.

The same facts give the same answer everywhere, so nodes and shards need not agree on it first.

Laws of the assignment: a shard has at most one node, and none only if no node has room. Shards are
spread evenly: no node has two more than another that has room. As few shards move as an even
assignment allows.

room    the most shards that a node may hold; 0 while it is drained
weight  the rendezvous hash of a node and a shard. A free shard goes to the node with the largest
        weight, so the shards of a lost node go to many others
"""

from collections.abc import Mapping
from hashlib import blake2b

from minicrawl.cluster.records import WHOLE, AddressPart

_BYTES = 8


def assignment(shards: int, rooms: Mapping[str, int], holders: Mapping[int, str]) -> dict[int, str]:
    """Return the node that should hold each shard.

    `rooms` has the room of each live node, `holders` the last holder of each shard, dead or alive.
    """
    held: dict[str, list[int]] = {node: [] for node in rooms}
    for shard, node in holders.items():
        if node in held and shard < shards:
            held[node].append(shard)
    level, loads = 0, dict.fromkeys(rooms, 0)
    left = min(shards, sum(rooms.values()))
    while left:
        level += 1
        able = [node for node, room in rooms.items() if room >= level]
        # Nodes are filled level by level. The last level may not reach all nodes: those with most
        # shards come first, so the remainder moves as few shards as possible.
        able.sort(key=lambda node: (-len(held[node]), _weight(node, level), node))
        for node in able[:left]:
            loads[node] = level
        left -= min(left, len(able))
    nodes = {
        shard: node
        for node, own in held.items()
        for shard in sorted(own, key=lambda shard: -_weight(node, shard))[: loads[node]]
    }
    lacks = {node: max(0, load - len(held[node])) for node, load in loads.items()}
    for shard in range(shards):
        if shard in nodes or not (takers := [node for node, lack in lacks.items() if lack]):
            continue
        nodes[shard] = taker = max(takers, key=lambda node: _weight(node, shard))
        lacks[taker] -= 1
    return nodes


def _weight(node: str, shard: int) -> int:
    digest = blake2b(f"{shard} {node}".encode(), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big")


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
    foreign = {other: part for other, part in parts.items() if other != shard}
    if not is_used:
        return foreign
    return {**foreign, shard: AddressPart(_new_part(parts, shard), generation)}


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

"""Which node should hold which shard.

Laws: a shard has at most one node, and none only if no node has room. Nodes with room hold evenly:
none has two more than another that could take one. No shard moves without need: as many stay where
they are as an even assignment can leave there. Whoever asks with the same facts gets the same
answer, so nodes need not agree.

room    the most shards that a node may hold; 0 for one that is drained
liking  a number for a node and a shard, which is the same on every machine: of the nodes that may
        take a shard, the one that likes it best does. So shards of a node that is gone go to many.
"""

from collections.abc import Collection, Mapping
from hashlib import blake2b

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

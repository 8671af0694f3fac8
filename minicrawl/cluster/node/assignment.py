"""Assignment of shards to nodes. No I/O.

The same facts give the same answer everywhere, so nodes need not agree on it first. Laws: a shard
has at most one node, and none only if no node has room. Shards are spread evenly: no node has two
more than another that has room. As few shards move as an even assignment allows.

room    the most shards that a node may hold; 0 while it is drained
weight  the rendezvous hash of a node and a shard. A free shard goes to the node with the largest
        weight, so the shards of a lost node go to many others
"""

from collections.abc import Mapping
from hashlib import blake2b

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

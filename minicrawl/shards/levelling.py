"""What virtual pages send each other, so that unread pages of all shards have the same claim.

Law: only what a pot holds is sent, and by its own shard alone; so money is exact whatever the
shards know of each other, and what they know may be old.

On one machine the unread pages share one pot, each with the same claim. In shards each has a pot.
Where pages are read the pot grows; where they become known the unread pages do. Levelled pots hold
in proportion to their unread pages.

surplus   what a pot holds above its share
lack      what it holds below
"""

from collections.abc import Mapping
from typing import NamedTuple


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

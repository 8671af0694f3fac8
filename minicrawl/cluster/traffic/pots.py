"""Transfers between the pots of virtual pages, so that unread pages earn alike. No I/O.

On one machine all unread pages share one pot. Here each shard has a pot of its own. A pot grows
where pages are read, but unread pages multiply where links are found. Levelling moves cash until
each pot is in proportion to the unread pages of its shard.

Law: a shard sends only what its own pot holds. So cash is exact even if the shards' knowledge of
each other is old.

surplus   what a pot holds above its share
lack      what a pot holds below its share
"""

from collections.abc import Mapping

from minicrawl.cluster.records import ShardFacts


def levelling_transfers(
    shard: int, facts_by_shard: Mapping[int, ShardFacts], least: int = 1
) -> dict[int, int]:
    """Return the atoms that this shard's pot sends to each other pot, in proportion to their lacks.

    Sums below `least` are left out, since they are not worth a batch.
    """
    pots = {other: max(0, facts.pot) for other, facts in facts_by_shard.items()}
    purse, unread = sum(pots.values()), sum(facts.waiting for facts in facts_by_shard.values())
    if not unread:
        return {}
    shares = {other: purse * facts.waiting // unread for other, facts in facts_by_shard.items()}
    surplus = pots[shard] - shares[shard]
    lacks = {other: lack for other in facts_by_shard if (lack := shares[other] - pots[other]) > 0}
    total = sum(lacks.values())
    if surplus <= 0 or not total:
        return {}
    parts = {other: min(surplus, total) * lack // total for other, lack in lacks.items()}
    return {other: part for other, part in parts.items() if part >= least}

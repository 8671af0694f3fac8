"""Conclusions from the facts that shards tell each other. No I/O.

Law: facts may be old: they decide the order of pages, which pots pay which, and when a crawl ends,
but no cash.

The crawl has ended when the last facts of every shard say that it is idle, and on each channel as
many batches were posted as sent. Then no batch was under way, and nothing can happen any more, even
if the facts are of different moments (Mattern's vector counters).
"""

from collections.abc import Mapping

from minicrawl.cluster.records import ShardFacts
from minicrawl.opic.importance.estimate import of_all
from minicrawl.opic.ledger.money import UNIT


def has_ended(shards_facts: Mapping[int, ShardFacts], shards: int) -> bool:
    """Return whether all shards are idle and no batch is under way."""
    if len(shards_facts) < shards or not all(facts.is_idle for facts in shards_facts.values()):
        return False
    sent = {
        (by, to): count for by, facts in shards_facts.items() for to, count in facts.sent.items()
    }
    posted = {
        (by, to): count
        for to, facts in shards_facts.items()
        for by, count in facts.received.items()
    }
    return sent == posted


def fetched_together(shards: Mapping[int, ShardFacts]) -> int:
    return sum(facts.fetched for facts in shards.values())


def gathered_together(facts_by_shard: Mapping[int, ShardFacts], shards: int) -> float:
    """Return the gathered share of all importance, as one machine would estimate it.

    The share is 0 until each shard has told its part.
    """
    facts = facts_by_shard.values()
    read, readings = sum(shard.gathered for shard in facts), sum(shard.fetched for shard in facts)
    if (
        not read
        or len(facts_by_shard) < shards
        or any(shard.fetched and not shard.gathered for shard in facts)
    ):
        return 0.0
    # Cash under way is for pages that their owners do not count yet.
    unread = sum(shard.ungathered for shard in facts) + sum(shard.abroad for shard in facts) / UNIT
    discovery = sum(shard.discovery * shard.fetched for shard in facts) / max(readings, 1)
    share = read / max(read + unread, read)
    return of_all(share, 1 - share, discovery)

"""The common start of all shards, as one shard sees it. No I/O.

A shard that begins before the others reads poor pages while rich ones wait elsewhere, so all begin
together. Laws: no shard waits longer than a time limit for absent ones. A shard that hears that
others have begun begins too: after a move no shard waits for the others, nor they for it.

Clocks are not compared: each shard tells the age of the crawl that it knows, and takes over a
larger one. So the age outlives any shard and any node, and --for ends all of them.
"""

from collections.abc import Mapping

from minicrawl.cluster.records import ShardFacts
from minicrawl.opic.ledger.channels import ShardPlace

START_TIMEOUT_S = 15.0
"""Longest wait for absent shards: a node needs seconds to start all of its shards."""


class StartBarrier:
    """Start barrier, as one shard sees it. Times are of a monotonic clock."""

    def __init__(self, place: ShardPlace, now: float, *, age_s: float = 0.0) -> None:
        """`age_s` is the age of the crawl if shards have begun before."""
        self._place, self._latest = place, now + START_TIMEOUT_S
        self._began_at = now - age_s if age_s else None

    @property
    def has_begun(self) -> bool:
        """True if pages may be requested."""
        return self._began_at is not None

    def hear(self, facts_by_shard: Mapping[int, ShardFacts], now: float) -> None:
        """Process the facts of all shards, this one included."""
        is_time = len(facts_by_shard) >= self._place.of or now >= self._latest
        if self._began_at is None and (
            is_time or any(facts.pace for facts in facts_by_shard.values())
        ):
            self._began_at = now
        oldest_s = max((facts.age_s for facts in facts_by_shard.values()), default=0.0)
        if self._began_at is not None:
            self._began_at = min(self._began_at, now - oldest_s)

    def age_s(self, now: float) -> float:
        """Return the age of the crawl; 0 before it begins."""
        return 0.0 if self._began_at is None else now - self._began_at

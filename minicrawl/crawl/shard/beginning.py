"""When the crawl of a shard begins to ask for pages, and how old it is since.

A shard that begins before the others reads poor pages while rich ones wait elsewhere. So they begin
together. Laws: nobody waits longer than a set time for shards that do not come. Who hears that
others have begun begins as well, so a shard that moves is not waited for, and does not wait.
"""

from __future__ import annotations

from collections.abc import Mapping

from minicrawl.shards.facts import ShardFacts
from minicrawl.shards.owners import ShardPlace
from minicrawl.shards.rhythm import rhythm_s

TOGETHER_S = 15.0
"""For shards to begin together: a node needs some seconds for all of its own."""


class TogetherBeginning:
    """One shard's view of it. Times are of a clock that never jumps."""

    def __init__(self, place: ShardPlace, now: float, longest_s: float = TOGETHER_S) -> None:
        self._place, self._latest = place, now + longest_s
        self._began_at: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether pages may be asked for."""
        return self._began_at is not None

    def hear(self, told: Mapping[int, ShardFacts], now: float) -> None:
        """What all shards tell, this one included."""
        if self._began_at is None and self._is_time(told, now):
            self._began_at = now

    def rhythm_s(self, longest_s: float, now: float) -> float:
        """What this shard waits before it tells something, or sends."""
        age_s = 0.0 if self._began_at is None else now - self._began_at
        return rhythm_s(age_s, self._place.of, longest_s)

    def _is_time(self, told: Mapping[int, ShardFacts], now: float) -> bool:
        is_there = len(told) >= self._place.of or now >= self._latest
        return is_there or any(one.pace for one in told.values())

"""What a node hears of the others: it follows the keys, the beats and what shards broadcast.

Laws: what no node writes is told, and changes nothing. The node knows up to which moment it has
heard all that was said, in each place where nodes say that they are there.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Iterator
from contextlib import suppress

from minicrawl.cluster.engine import (
    Broadcast,
    ClusterEngine,
    EngineError,
    EngineUnavailable,
    KeyEntry,
)
from minicrawl.cluster.node import records
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.held import Tell
from minicrawl.cluster.node.keys import follow, listen
from minicrawl.cluster.node.leases import BEATS, KEYS, ClusterView
from minicrawl.cluster.node.presence import NodePresence, Now
from minicrawl.cluster.node.records import BeatRecord, LeaseRecord, NodeRecord, RecordError

_FOLLOWED = (
    *(records.NODE_PREFIX, records.LEASE_PREFIX, records.DRAIN_PREFIX),
    *(records.CRAWL_PREFIX, records.WORKERS_PREFIX),
)
_LOOKS_EVERY_S = 5.0
"""At the facts that are kept: broadcasts bring newer ones, but some may be lost."""
_APART_S = 5.0
"""How often it is looked whether different servers lead the keys and the beats."""


class NodeHearing:
    """The ears of one node."""

    def __init__(
        self,
        engine: ClusterEngine,
        presence: NodePresence,
        state: CrawlState,
        view: ClusterView,
        tell: Tell,
        now: Now,
    ) -> None:
        self._engine, self._presence = engine, presence
        self._state, self._view = state, view
        self._tell, self._now = tell, now
        self.knows_more = asyncio.Event()
        """Set when all that was said up to a later moment is known."""
        view.known_to = dict.fromkeys((KEYS, BEATS), -math.inf)

    def jobs(self) -> Iterator[Coroutine[None, None, None]]:
        """What is done as long as the node runs."""
        for prefix in _FOLLOWED:
            yield follow(self._engine, prefix, self.hear)
        yield follow(self._engine.beats, records.NODE_PREFIX, self.hear_beat)
        yield listen(self._engine, records.TOLD_PREFIX, self._hear_facts)
        yield self._look_at_kept_facts()
        yield self._lead_apart()

    def _hear_facts(self, said: Broadcast) -> None:
        self._state.hear_facts(said.topic, said.content)

    async def _look_at_kept_facts(self) -> None:
        """Now and then, for ever: shards that have ended broadcast nothing."""
        while True:
            with suppress(EngineUnavailable):
                for entry in await self._engine.keys(self._state.told_prefix):
                    self._state.hear(entry)
            await asyncio.sleep(_LOOKS_EVERY_S)

    def hear(self, entry: KeyEntry) -> None:
        """A key as it is now. What no node writes is told, and changes nothing."""
        try:
            self._hear(entry)
        except RecordError as error:
            self._tell(str(error))

    def hear_beat(self, entry: KeyEntry) -> None:
        """A key among the beats as it is now."""
        if entry.value is None:
            return
        try:
            beat = BeatRecord.unpack(entry.key, entry.value)
        except RecordError as error:
            self._tell(str(error))
            return
        name = entry.key.removeprefix(records.NODE_PREFIX)
        self._view.hear_beat(name, beat, self._now())
        self._hear_own(BEATS, name, beat)

    def _hear_own(self, place: str, name: str, said: BeatRecord | NodeRecord) -> None:
        """Keys come in their order: before our own beat came all that was said before it."""
        presence = self._presence
        began = presence.began(said.session, said.beat) if name == presence.name else None
        if began is not None and self._view.know_all_to(place, began):
            self.knows_more.set()

    def _hear(self, entry: KeyEntry) -> None:
        view, (kind, _, name) = self._view, entry.key.partition(".")
        match f"{kind}.":
            case records.NODE_PREFIX:
                node = NodeRecord.unpack(entry.key, entry.value) if entry.value else None
                view.hear_node(name, node, self._now())
                if node is not None:
                    self._hear_own(KEYS, name, node)
            case records.LEASE_PREFIX if name.isdecimal():
                lease = entry.value and LeaseRecord.unpack(entry.key, entry.value)
                view.hear_lease(int(name), lease or None, entry.revision)
            case records.DRAIN_PREFIX if entry.value is None:
                view.drained.discard(name)
            case records.DRAIN_PREFIX:
                view.drained.add(name)
            case _:
                self._state.hear(entry)

    async def _lead_apart(self) -> None:
        """See that no server leads both places in which nodes say that they are there, for ever.

        The first of the live nodes does that for all.
        """
        while True:
            await asyncio.sleep(_APART_S)
            if self._presence.name == min(self._view.live(self._now()), default=""):
                with suppress(EngineError):  # the next look may do better
                    await self._engine.beats.lead_apart()

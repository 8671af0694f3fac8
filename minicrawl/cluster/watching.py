"""A cluster as it goes on, for whoever watches it until its crawl is over.

Law: who watches takes no part: it only reads keys, and listens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from minicrawl.cluster.engine import Broadcast, ClusterEngine, KeyEntry
from minicrawl.cluster.node import records
from minicrawl.cluster.node.keys import cancelled, follow, listen
from minicrawl.cluster.node.leases import LEASE_S
from minicrawl.cluster.node.presence import lease_clock
from minicrawl.cluster.overview import ClusterOverview, ClusterStatus

LOOKS_EVERY_S = 0.5
_FOLLOWED = (
    *(records.CRAWL_PREFIX, records.NODE_PREFIX, records.LEASE_PREFIX),
    *(records.DRAIN_PREFIX, records.WORKERS_PREFIX, records.TOLD_PREFIX),
)

Show = Callable[[ClusterStatus], None]


class ClusterWatch:
    """Follows the keys of a cluster."""

    def __init__(self, engine: ClusterEngine) -> None:
        self._engine = engine
        self._seen = ClusterOverview()
        self._run = 0  # that is waited for, if one is
        self._early: dict[str, KeyEntry] = {}
        """What shards have told, until it is known which run there is."""
        self._following: list[asyncio.Task[None]] = []
        self._heard: dict[str, tuple[tuple[str, int], float]] = {}

    def begin(self) -> None:
        """Follow all keys, until `end`."""
        self._following = [
            asyncio.create_task(follow(self._engine, one, self._hear)) for one in _FOLLOWED
        ]
        listening = listen(self._engine, records.TOLD_PREFIX, self._hear_facts)
        self._following.append(asyncio.create_task(listening))

    async def end(self) -> None:
        """Hear nothing more."""
        await cancelled(self._following)

    async def until_over(self, run: int, show: Show) -> ClusterStatus:
        """Show the cluster now and then until this run of its crawl is over; how it is then."""
        self._run = run
        self.begin()
        try:
            while not self._is_over():
                await asyncio.sleep(LOOKS_EVERY_S)
                if self._seen.terms is not None and self._seen.state is not None:
                    show(self.status())
            return self.status()
        finally:
            await self.end()

    def status(self) -> ClusterStatus:
        """The cluster as of now."""
        now = lease_clock()
        for name, beat in self._seen.beats().items():
            if name not in self._heard or self._heard[name][0] != beat:
                self._heard[name] = beat, now
        live = {name for name, (_, at) in self._heard.items() if now - at < LEASE_S}
        return self._seen.status(frozenset(live & self._seen.beats().keys()))

    def _is_over(self) -> bool:
        state = self._seen.state
        return state is not None and state.run >= self._run and state.is_over

    def _hear_facts(self, said: Broadcast) -> None:
        self._hear(KeyEntry(said.topic, said.content, 0))

    def _hear(self, entry: KeyEntry) -> None:
        if entry.key.startswith(records.TOLD_PREFIX):
            run, told_in = self._run or self._seen.run, entry.key.split(".")[1]
            if not run:
                self._early[entry.key] = entry
            if told_in != str(run):
                return
        self._seen.hear(entry)
        if self._early and self._seen.run:
            early, self._early = self._early, {}
            for told in early.values():
                self._hear(told)

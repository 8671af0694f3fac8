"""How a node says that it is there: its record, written again at each beat.

Laws: a name belongs to one process at a time; a second one is refused. `renewed_at` is never later
than what the others have heard: it is the moment before the beat was sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from minicrawl.cluster.engine import EngineUnavailable, KeyEntry, KeyTaken, KeyValues
from minicrawl.cluster.node.leases import BEAT_S, LEASE_S
from minicrawl.cluster.node.records import NODE_PREFIX, NodeRecord
from minicrawl.errors import UsageError

PATIENCE_S = 2.0
"""For the answer to a beat."""

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]


class NodePresence:
    """The record of one node."""

    def __init__(self, engine: KeyValues, name: str, record: NodeRecord, now: Now) -> None:
        self._engine, self._key, self._now = engine, f"{NODE_PREFIX}{name}", now
        self.name, self.record = name, record
        self._revision: int | None = None
        self.renewed_at = now()

    @property
    def me(self) -> tuple[str, str]:
        """The name and the session."""
        return self.name, self.record.session

    async def begin(self, sleep: Sleep = asyncio.sleep) -> None:
        """Announce the node. A name whose record still changes belongs to another process."""
        before = await self._engine.get(self._key)
        if before is not None and before.value is not None:
            await self._wait_until_silent(before, sleep)
        await self.beat(self.record)

    async def _wait_until_silent(self, before: KeyEntry, sleep: Sleep) -> None:
        ends_at = self._now() + LEASE_S
        while self._now() < ends_at:
            await sleep(BEAT_S)
            after = await self._engine.get(self._key)
            if after is None or after.value is None:
                return
            if after.revision != before.revision:
                raise UsageError(
                    f"a node named {self.name} is in this cluster already: give another --name"
                )
        self._revision = before.revision

    async def beat(self, record: NodeRecord) -> bool:
        """Say what the node is now; whether the engine has heard it."""
        began = self._now()
        self.record = replace(record, beat=self.record.beat + 1)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._write()
        except (EngineUnavailable, TimeoutError):
            return False
        self.renewed_at = began
        return True

    async def _write(self) -> None:
        content = self.record.pack()
        try:
            if self._revision is None:
                self._revision = await self._engine.create(self._key, content)
            else:
                self._revision = await self._engine.update(self._key, content, self._revision)
        except KeyTaken:
            self._revision = await self._own_revision()
            if self._revision is not None:
                self._revision = await self._engine.update(self._key, content, self._revision)
            else:
                self._revision = await self._engine.create(self._key, content)

    async def _own_revision(self) -> int | None:
        """What we wrote without hearing that it was done has changed the revision."""
        found = await self._engine.get(self._key)
        if found is None or found.value is None:
            return None
        if NodeRecord.unpack(self._key, found.value).session != self.record.session:
            raise UsageError(f"another node named {self.name} came: give another --name")
        return found.revision

    async def leave(self) -> None:
        """Say goodbye, if the engine can be reached."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._engine.delete(self._key)
        except (EngineUnavailable, TimeoutError):
            return  # the record falls silent

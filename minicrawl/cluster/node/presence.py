"""A node's signs of life: its record, written again at each beat.

Laws: a name belongs to one process at a time; a second one is refused. `renewed_at` is never
later than the moment at which the others heard the beat: it was read before the beat was sent.
"""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from minicrawl.cluster.engine import EngineFull, EngineUnavailable, KeyTaken, KeyValues
from minicrawl.cluster.node.leases import BEAT_S, BEATS_PER_S, LEASE_S
from minicrawl.cluster.records import NODE_PREFIX, NodeRecord
from minicrawl.errors import UsageError

PATIENCE_S = 3.0
"""Time limit for the answer to a beat. A late answer counts from when the beat was sent."""

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]


def lease_clock() -> float:
    """Return CLOCK_BOOTTIME in seconds, which runs while the machine sleeps.

    It is the same in a node and its children.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class NodePresence:
    """Presence of a node whose shards are in this folder."""

    def __init__(
        self,
        engine: KeyValues,
        name: str,
        record: NodeRecord,
        folder: Path,
        now: Now,
    ) -> None:
        self._engine, self._folder, self._now = engine, folder, now
        self.name, self.record = name, record
        self._key, self._revision = f"{NODE_PREFIX}{name}", 0
        self.renewed_at = now()
        """Time at which the last confirmed beat was sent."""
        self.refusal = ""
        """Error if the servers had no room for the last beat; otherwise empty."""

    @property
    def me(self) -> tuple[str, str]:
        return self.name, self.record.session

    async def begin(self, sleep: Sleep = asyncio.sleep) -> None:
        """Announce the node. Raises UsageError if another process uses the name.

        A record of this name must not change for `LEASE_S`. One change is tolerated: a server that
        has just begun to lead may first have answered with an older record.
        """
        before, ends_at, may_be_old = await self._engine.get(self._key), self._now() + LEASE_S, True
        while before is not None and self._now() < ends_at:
            await sleep(BEAT_S)
            after = await self._engine.get(self._key)
            if after is not None and after.revision != before.revision:
                if not may_be_old:
                    raise UsageError(
                        f"a node named {self.name} is in this cluster already: give another --name"
                    )
                ends_at, may_be_old = self._now() + LEASE_S, False
            before = after
        self._revision = 0 if before is None else before.revision
        await self.beat()

    async def beat(self) -> bool:
        """Send a sign of life. Return whether it is confirmed."""
        began = self._now()
        beat = int(began * BEATS_PER_S)
        self.record = replace(self.record, beat=beat, disk_free=self._disk_free())
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._write()
        except EngineFull as error:
            self.refusal = str(error)
            return False
        except (EngineUnavailable, KeyTaken, TimeoutError):
            return False  # KeyTaken: an earlier beat arrived in between
        self.renewed_at, self.refusal = began, ""
        return True

    def _disk_free(self) -> int:
        try:
            return shutil.disk_usage(self._folder).free
        except OSError:
            return 0  # nothing more can be written there

    async def _write(self) -> None:
        content = self.record.pack()
        try:
            self._revision = await self._engine.update(self._key, content, self._revision)
        except KeyTaken:  # perhaps by a write of ours that was not answered
            current = await self._engine.get(self._key)
            record = NodeRecord.of(current)
            # A revision that is not later than ours is stale, no matter who wrote it: a new leader
            # may lag behind.
            is_news = current is not None and current.revision > self._revision
            if is_news and record is not None and record.session != self.record.session:
                raise UsageError(
                    f"another node named {self.name} has joined: give another --name"
                ) from None
            self._revision = current.revision if current is not None and record is not None else 0
            self._revision = await self._engine.update(self._key, content, self._revision)

    async def leave(self) -> None:
        """Delete our record, if the engine can be reached."""
        with suppress(EngineUnavailable, TimeoutError):  # to the others, the node falls silent
            async with asyncio.timeout(PATIENCE_S):
                await self._engine.delete(self._key)

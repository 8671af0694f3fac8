"""How a node says that it is there: its record, written again at each beat, in two places.

Laws: a name belongs to one process at a time; a second one is refused. `renewed_at` is never later
than what the others have heard: it is the moment before the beat was sent. One place is enough: a
server that ends leaves those whose keys it led without answers for up to 9 seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace

from minicrawl.cluster.engine import (
    EngineFull,
    EngineUnavailable,
    KeyEntry,
    KeyTaken,
    KeyValues,
)
from minicrawl.cluster.node.leases import BEAT_S, BEATS, KEYS, LEASE_S
from minicrawl.cluster.node.records import NODE_PREFIX, BeatRecord, NodeRecord
from minicrawl.errors import UsageError

PATIENCE_S = 3.0
"""For the answer to a beat. A late one counts from when it was sent."""
_BEATS_KEPT = 64

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]


def lease_clock() -> float:
    """Seconds that go on while the process or the machine sleeps; the same for a node and its
    children.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class BeatAnswers:
    """What came of the beats of a node, in all places together."""

    def __init__(self, now: float) -> None:
        self.count = 0
        self.renewed_at = now
        self.refusal = ""
        """What servers without room have said to the last beat; else empty."""

    def heard(self, began: float) -> None:
        """A beat that was sent at this moment is known."""
        self.count += 1
        self.renewed_at = max(self.renewed_at, began)
        self.refusal = ""


class NodePresence:
    """The record of one node."""

    def __init__(
        self, engine: KeyValues, beats: KeyValues, name: str, record: NodeRecord, now: Now
    ) -> None:
        self._engine, self._beats, self._now = engine, beats, now
        self.name, self.record = name, record
        self._revision: int | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._began: dict[int, float] = {}
        self._answers = BeatAnswers(now())

    @property
    def me(self) -> tuple[str, str]:
        """The name and the session."""
        return self.name, self.record.session

    @property
    def renewed_at(self) -> float:
        """When the last beat that is known was sent."""
        return self._answers.renewed_at

    @property
    def refusal(self) -> str:
        """What servers without room have said to the last beat; else empty."""
        return self._answers.refusal

    @property
    def _key(self) -> str:
        return f"{NODE_PREFIX}{self.name}"

    def began(self, session: str, beat: int) -> float | None:
        """When this beat was sent, if it is one of our last ones."""
        return self._began.get(beat) if session == self.record.session else None

    async def begin(self, sleep: Sleep = asyncio.sleep) -> None:
        """Announce the node. A name whose record still changes belongs to another process."""
        before = await self._engine.get(self._key)
        if before is not None and before.value is not None:
            await self._wait_until_silent(before, sleep)
        await self.beat(self.record)

    async def _wait_until_silent(self, before: KeyEntry, sleep: Sleep) -> None:
        """It may change once: a server that has just begun to lead may have answered first."""
        last, ends_at, may_be_old = before.revision, self._now() + LEASE_S, True
        while self._now() < ends_at:
            await sleep(BEAT_S)
            after = await self._engine.get(self._key)
            if after is None or after.value is None:
                return
            if after.revision == last:
                continue
            if not may_be_old:
                raise UsageError(
                    f"a node named {self.name} is in this cluster already: give another --name"
                )
            last, ends_at, may_be_old = after.revision, self._now() + LEASE_S, False
        self._revision = last

    async def beat(self, record: NodeRecord) -> bool:
        """Say what the node is now; whether it was heard in some place since the last beat.

        Where the last beat has no answer yet, no other one is sent.
        """
        began, before = self._now(), self._answers.count
        for task in self._under_way.values():
            if task.done():
                task.result()
        self.record = replace(record, beat=self.record.beat + 1)
        self._began[self.record.beat] = began
        self._began.pop(self.record.beat - _BEATS_KEPT, None)
        self._send(KEYS, self._write(), began)
        self._send(BEATS, self._write_beat(), began)
        waiting = set(self._under_way.values())
        while waiting and self._answers.count == before:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        return self._answers.count > before

    def _send(self, place: str, write: Coroutine[None, None, None], began: float) -> None:
        sent = self._under_way.get(place)
        if sent is None or sent.done():
            self._under_way[place] = asyncio.create_task(self._renew(write, began))
        else:
            write.close()

    async def _renew(self, write: Coroutine[None, None, None], began: float) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await write
        except EngineFull as error:
            self._answers.refusal = str(error)
            return
        except (EngineUnavailable, KeyTaken, TimeoutError):
            return  # nobody has heard it, as far as is known; or an earlier beat came in between
        self._answers.heard(began)

    async def _write_beat(self) -> None:
        beat = BeatRecord(session=self.record.session, beat=self.record.beat)
        await self._beats.put(self._key, beat.pack())

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
        """What we wrote without hearing that it was done has changed the revision.

        A revision that is not later than ours was written before, whoever did: a new leader may
        not have got there yet.
        """
        found = await self._engine.get(self._key)
        if found is None or found.value is None:
            return None
        is_news = self._revision is None or found.revision > self._revision
        session = NodeRecord.unpack(self._key, found.value).session
        if is_news and session != self.record.session:
            raise UsageError(f"another node named {self.name} came: give another --name")
        return found.revision

    async def leave(self) -> None:
        """Say goodbye, if the engine can be reached."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._engine.delete(self._key)
                await self._beats.delete(self._key)
        except (EngineUnavailable, TimeoutError):
            return  # the record falls silent

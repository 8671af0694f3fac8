"""An engine in memory with all the faults that a replicated log may have.

A call may fail before or after it has done its work, and may be slow. Broadcasts may be lost, and
batches come twice. The engine never forgets what it confirmed, and never appends to a log whose
end is not the one that the writer expects.

Any number of engines share one `FakeServers`, also in loops of different threads.
"""

import asyncio
import random
import threading
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import suppress
from enum import Enum, auto

from minicrawl.cluster.engine import (
    MOST_VALUE_BYTES,
    EngineFull,
    EngineUnavailable,
    Fenced,
    KeyTaken,
    LogEntry,
    LogSpan,
)
from minicrawl.cluster.records import KeyEntry
from minicrawl.cluster.server_versions import RECOMMENDED, ServerFacts, as_text
from minicrawl.cluster.traffic.exchange import BATCH_PREFIX

_MOST_TURNS = 5
"""Limit of the turns of the loop that a call of an unruly engine takes."""


class Fault(Enum):
    """Moment or reason at which a call fails."""

    BEFORE = auto()
    AFTER = auto()
    FULL = auto()
    """The servers have no room, so nothing is done."""


class Log:
    def __init__(self) -> None:
        self.first, self.contents = 1, list[bytes]()

    @property
    def last(self) -> int:
        return self.first + len(self.contents) - 1


class Waiters:
    """Futures of tasks that wait for the next change, in loops of any thread."""

    def __init__(self) -> None:
        self._futures = list[asyncio.Future[None]]()

    def join(self) -> "asyncio.Future[None]":
        future = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        return future

    def wake(self) -> None:
        futures, self._futures = self._futures, []
        for future in futures:
            with suppress(RuntimeError):  # its loop is closed
                future.get_loop().call_soon_threadsafe(_finish, future)


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class FakeServers:
    """State of the servers. With a `seed` they are unruly, without one quick and exact."""

    def __init__(self, seed: int | None = None, log_bytes: int | None = None) -> None:
        self.logs: defaultdict[int, Log] = defaultdict(Log)
        self.pages: defaultdict[int, Log] = defaultdict(Log)
        self.snapshots: defaultdict[int, Log] = defaultdict(Log)
        self.forgot: defaultdict[int, int] = defaultdict(int)
        """Number of last entries of a shard's log that the leading server does not know."""
        self.lose_batches = False
        """Whether batches may be lost, as all other broadcasts may."""
        self.lost_batches = 0
        self.values = dict[str, KeyEntry]()
        self.said = list[KeyEntry]()
        self.revision = 0
        self.log_bytes = log_bytes
        self.faults = list[Fault | None]()
        """Faults of the next calls, in order."""
        self.waiters = Waiters()
        self.lock = threading.RLock()
        self._random = None if seed is None else random.Random(seed)

    def next_revision(self) -> int:
        self.revision += 1
        return self.revision

    def turns(self) -> int:
        return self._random.randrange(_MOST_TURNS) if self._random else 0

    def chance(self) -> bool:
        return self._random is not None and self._random.random() < 0.3

    def next_fault(self) -> Fault | None:
        return self.faults.pop(0) if self.faults else None


class _Call:
    """A call of the engine, as a context: it waits, and fails before or after the block."""

    def __init__(self, servers: FakeServers) -> None:
        self._servers = servers
        self._fault: Fault | None = None

    async def __aenter__(self) -> None:
        for _ in range(self._servers.turns()):
            await asyncio.sleep(0)
        self._servers.lock.acquire()
        self._fault = self._servers.next_fault()
        if self._fault is Fault.BEFORE:
            self._servers.lock.release()
            raise EngineUnavailable("the engine does not answer")
        if self._fault is Fault.FULL:
            self._servers.lock.release()
            raise EngineFull("the servers have no room")

    async def __aexit__(self, *_error: object) -> None:
        self._servers.lock.release()
        self._servers.waiters.wake()
        if self._fault is Fault.AFTER:
            raise EngineUnavailable("the engine does not answer")


class FakeEngine:
    """The whole engine. Only the logs of `pages` and `snapshots` are used."""

    def __init__(
        self, servers: FakeServers | None = None, logs: defaultdict[int, Log] | None = None
    ) -> None:
        self.servers = servers or FakeServers()
        self._logs = self.servers.logs if logs is None else logs
        self.name, self.closed = "crawl", False

    @property
    def pages(self) -> "FakeEngine":
        return FakeEngine(self.servers, self.servers.pages)

    @property
    def snapshots(self) -> "FakeEngine":
        return FakeEngine(self.servers, self.servers.snapshots)

    async def server_facts(self) -> list[ServerFacts]:
        return [ServerFacts("fake", as_text(RECOMMENDED), syncs=True)]

    async def close(self) -> None:
        self.closed = True
        self.servers.waiters.wake()

    def _call(self) -> _Call:
        return _Call(self.servers)

    async def log_span(self, shard: int) -> LogSpan:
        async with self._call():
            log = self._logs[shard]
            return LogSpan(log.first, log.last - self.servers.forgot[shard])

    async def append(self, shard: int, after: int, content: bytes) -> int:
        async with self._call():
            log = self._logs[shard]
            if after > log.last - self.servers.forgot.pop(shard, 0):
                raise EngineUnavailable(f"the log of shard {shard} lost entries")
            if log.last != after:
                is_ours = log.first <= after + 1 <= log.last
                if is_ours and log.contents[after + 1 - log.first] == content:
                    return after + 1
                raise Fenced(f"shard {shard} was taken over by another node")
            is_limited = self._logs is not self.servers.snapshots
            most = self.servers.log_bytes if is_limited else None
            if most is not None and sum(map(len, log.contents)) + len(content) > most:
                raise EngineFull(f"the log of shard {shard} is full")
            log.contents.append(content)
            return log.last

    async def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        async with self._call():
            log = self._logs[shard]
            first = max(after + 1, log.first)
            found = [
                LogEntry(at, log.contents[at - log.first]) for at in range(first, log.last + 1)
            ]
        for entry in found:
            yield entry

    async def remove_entries(self, shard: int, up_to: int) -> None:
        async with self._call():
            log = self._logs[shard]
            if (gone := min(up_to, log.last) + 1 - log.first) > 0:
                del log.contents[:gone]
                log.first += gone

    async def change_leader(self, shard: int) -> None:
        async with self._call():
            self.servers.forgot.pop(shard, 0)

    async def get(self, key: str) -> KeyEntry | None:
        async with self._call():
            return self._present(key)

    async def update(self, key: str, value: bytes, revision: int) -> int:
        async with self._call():
            there = self._present(key)
            if (there.revision if there else 0) == revision:
                return self._set(key, value)
            if there is None or there.value != value or there.revision < revision:
                raise KeyTaken(f"{key} was changed")
            return there.revision

    async def put(self, key: str, value: bytes) -> int:
        async with self._call():
            return self._set(key, value)

    async def delete(self, key: str) -> None:
        async with self._call():
            if self._present(key) is not None:
                self._set(key, None)

    async def keys(self, prefix: str = "") -> list[KeyEntry]:
        async with self._call():
            present = [self._present(key) for key in sorted(self.servers.values)]
        return [one for one in present if one is not None and one.key.startswith(prefix)]

    async def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry, None]:
        seen = 0
        while not self.closed:
            changed = self.servers.waiters.join()
            with self.servers.lock:
                found = sorted(self.servers.values.values(), key=lambda one: one.revision)
            for one in found:
                if one.revision > seen and one.key.startswith(prefix):
                    seen = one.revision
                    yield one
            await changed

    def _present(self, key: str) -> KeyEntry | None:
        there = self.servers.values.get(key)
        return None if there is None or there.value is None else there

    def _set(self, key: str, value: bytes | None) -> int:
        revision = self.servers.next_revision()
        self.servers.values[key] = KeyEntry(key, value, revision)
        return revision

    async def broadcast(self, topic: str, content: bytes) -> None:
        if len(content) > MOST_VALUE_BYTES:
            raise ValueError(f"{len(content):,} bytes are more than a broadcast may have")
        servers, is_batch = self.servers, topic.startswith(BATCH_PREFIX)
        if servers.chance() and (servers.lose_batches or not is_batch):
            servers.lost_batches += is_batch
            return
        copies = 1 + (is_batch and servers.chance())
        servers.said += [KeyEntry(topic, content, 0)] * copies
        servers.waiters.wake()

    async def broadcasts(self, prefix: str) -> AsyncGenerator[KeyEntry, None]:
        heard = len(self.servers.said)
        while not self.closed:
            changed = self.servers.waiters.join()
            said = self.servers.said[heard:]
            heard += len(said)
            for one in said:
                if one.key.startswith(prefix):
                    yield one
            await changed

"""Puts the parts of a node together, and refuses conditions under which it cannot run.

Laws: two nodes never share a folder. A node holds no shard of a crawl of another version.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.node.held import ClusterView, HeldShards, Start, Tell
from minicrawl.cluster.node.node import CrawlState, Node, NodeParts, NodePresence, lease_clock
from minicrawl.cluster.node.shards import ShardJob, ShardProcess, WarmChildren
from minicrawl.cluster.terms import NodeRecord, TermsRecord, settings_that_count, terms_when_begun
from minicrawl.errors import UsageError
from minicrawl.version import __version__

LEAST_DISK = 50_000_000
"""Free bytes of disk: a new shard takes some megabytes, and so does SQLite while it writes."""
_LOCK = "node.lock"
_SOON_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlace:
    """Name of a node, and the folder of its shards."""

    name: str
    folder: Path
    most_shards: int = 1 << 16
    workers: int = 0  # per shard, until a user sets another number


def usual_name() -> str:
    """Return the machine's name, reduced to the characters that keys allow."""
    name = platform.node().partition(".")[0]
    return "".join(sign if sign.isalnum() else "-" for sign in name)[:32] or "node"


async def run_node(
    access: ClusterAccess,
    place: NodePlace,
    own_settings: Mapping[str, object],
    tell: Tell,
    stopped: asyncio.Event,
) -> None:
    """Run a node until it is stopped. If there is no crawl yet, wait for one."""
    with _locked(place.folder):
        check_disk(place.folder)
        async with opened(access) as engine:
            terms = await _terms_or_stop(engine, stopped, tell)
            if terms is not None:
                state = CrawlState(engine, terms, place.workers)
                crawls = ShardCrawls(access, place, own_settings, state, tell)
                node = node_of(engine, state, place, crawls.start, tell)
                leaving = asyncio.create_task(_leave_when(stopped, node))
                try:
                    await node.run()
                finally:
                    leaving.cancel()
                    await crawls.close()


def node_of(
    engine: ClusterEngine, state: CrawlState, place: NodePlace, start: Start, tell: Tell
) -> Node:
    """Return a node made of connected parts."""
    record = NodeRecord(
        session=token_hex(8),
        beat=0,
        version=__version__,
        machine=platform.node(),
        pid=os.getpid(),
        room=place.most_shards,
        workers=place.workers,
        disk_free=shutil.disk_usage(place.folder).free,
    )
    presence = NodePresence(engine, engine.beats, place.name, record, lease_clock)
    view = ClusterView(state.shards)
    held = HeldShards(engine, view, presence.me, start, tell)
    return Node(engine, NodeParts(presence, state, view, held), tell, lease_clock)


class ShardCrawls:
    """Starts the crawls of a node's shards, on the terms of the whole crawl."""

    def __init__(
        self,
        access: ClusterAccess,
        place: NodePlace,
        own_settings: Mapping[str, object],
        state: CrawlState,
        tell: Tell,
    ) -> None:
        self._access, self._place, self._state = access, place, state
        self._own_settings, self._tell = dict(own_settings), tell
        self._told = ""
        self._children = WarmChildren()

    def start(self, shard: int, generation: int) -> ShardProcess:
        """Start the crawl of a shard, in a process of its own."""
        state, terms = self._state.state, self._state.terms
        workers = self._state.workers_of(self._place.name)
        settings, ignored = settings_that_count(terms, self._own_settings)
        if ignored not in ("", self._told):
            self._tell(ignored)
            self._told = ignored
        job = ShardJob(
            shard=shard,
            shards=terms.shards,
            run=state.run,
            access=self._access,
            generation=generation,
            folder=self._place.folder,
            settings={**settings, "workers": workers},
            own_settings=self._own_settings,
            seeds=terms.seeds,
        )
        return ShardProcess(job, self._children.take())

    async def close(self) -> None:
        """End the spare process."""
        await self._children.close()


async def _terms_or_stop(
    engine: ClusterEngine, stopped: asyncio.Event, tell: Tell
) -> TermsRecord | None:
    """Wait for a crawl and return its terms, or None if the node is stopped first."""
    begun = asyncio.ensure_future(terms_when_begun(engine))
    ended = asyncio.ensure_future(stopped.wait())
    try:
        done, _ = await asyncio.wait((begun,), timeout=_SOON_S)
        if not done:
            tell("no crawl in this cluster yet: waiting for minicrawl crawl SEEDS --cluster URL")
            await asyncio.wait((begun, ended), return_when=asyncio.FIRST_COMPLETED)
        return begun.result() if begun.done() else None
    finally:
        begun.cancel()
        ended.cancel()


async def _leave_when(stopped: asyncio.Event, node: Node) -> None:
    await stopped.wait()
    node.leave()


def check_disk(folder: Path) -> None:
    """Refuse a folder on a disk without room for a shard."""
    free = shutil.disk_usage(folder).free
    if free < LEAST_DISK:
        raise UsageError(
            f"{folder} has {free / 1e6:,.0f} MB of room, and a new shard takes "
            f"{LEAST_DISK / 1e6:,.0f}: give a --folder on another disk"
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other nodes out of the folder.

    The lock ends with the process, in whatever way that ends.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"--folder {folder}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another node keeps its shards in {folder}: give a --folder"
            ) from None
        yield
    finally:
        os.close(lock)

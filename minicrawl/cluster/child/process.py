"""The child process in which a node crawls a shard.

Laws: it ends at once when its node does. Nothing is asked for before the node has said what the
shard may do. How the crawl ended is the last thing that it says.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from minicrawl.app import Crawl
from minicrawl.cluster.access import connected_anew, import_engine, opened
from minicrawl.cluster.child.address_records import EngineAddressRecords
from minicrawl.cluster.child.exchange import EngineExchange, told_entry
from minicrawl.cluster.engine import ClusterEngine, Fenced
from minicrawl.cluster.node.keys import cancelled
from minicrawl.cluster.node.shard_process import ShardCommand, ShardEnd, ShardJob, ShardOrders
from minicrawl.cluster.pages.restoring import take_over_pages
from minicrawl.cluster.replica.restoring import take_over
from minicrawl.cluster.replica.shipping import ReplicaLimits, ShardReplica
from minicrawl.cluster.terms import seeds_of
from minicrawl.config import Loaded, Storing, load
from minicrawl.config.table import BY_NAME
from minicrawl.control.client import ask
from minicrawl.control.requests import ControlRequest, Reply, Verb
from minicrawl.crawl.events import Event, Warned
from minicrawl.crawl.process_memory import keep_large_arrays_apart
from minicrawl.crawl.shard import together  # noqa: F401  # else imported when the crawl begins
from minicrawl.crawl.shard.exchange import ShardSetup
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.messages import connection_at_stdin
from minicrawl.errors import MinicrawlError, NoRoom, StoreError
from minicrawl.shards.owners import ShardPlace
from minicrawl.store.reader import archive_folder

if TYPE_CHECKING:
    import socket

STORE = "crawl.db"
_AGAIN_S = 0.1
_NODE_IS_GONE = 1
_LEAST_FREE = 1 << 20
"""Of a disk, in bytes. With less SQLite cannot write a batch."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Stdin is the socket of the channel."""
    with connection_at_stdin() as connection:
        keep_large_arrays_apart()
        asyncio.run(_serve(connection))


async def _serve(connection: socket.socket) -> None:
    child = ShardChild()
    import_engine()
    await child.channel.connect(connection)
    await child.channel.ended.wait()
    os._exit(_NODE_IS_GONE)  # whoever has the shard next does again what was not committed


class ShardChild:
    """The crawl of one shard, and what its node tells it."""

    def __init__(self) -> None:
        self.channel = PickleChannel(self._hear)
        self._crawl: Crawl | None = None
        self._exchange: EngineExchange | None = None
        self._is_stopped = False
        self._until = 0.0
        self._orders: ShardOrders | None = None
        self._has_news = asyncio.Event()
        self._warnings = asyncio.Queue[str]()
        self._yielding = 0
        """Whether pages are being given back: until it is known how many, nothing is asked for."""
        self._tasks: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------ what the node says

    def _hear(self, message: tuple[int, int | None, Any]) -> None:
        number, command, argument = message
        match command:
            case ShardCommand.RUN | ShardCommand.YIELD | ShardCommand.WARNING:
                self._begin(self._reply(number, command, argument))
            case ShardCommand.UNTIL:
                self._until = argument
                if self._exchange is not None:
                    self._exchange.until = argument
            case ShardCommand.STEER:
                self._orders = argument
                self._has_news.set()
            case ShardCommand.STOP:
                self._is_stopped = True
                if self._crawl is not None:
                    self._crawl.stop()

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, number: int, command: int, argument: Any) -> None:
        answers: dict[int, Callable[[], Awaitable[object]]] = {
            ShardCommand.RUN: partial(self._run, argument),
            ShardCommand.YIELD: self._yield_pages,
            ShardCommand.WARNING: self._warnings.get,
        }
        self.channel.send((number, await answers[command](), process_time()))

    # ------------------------------------------------------------ the crawl

    async def _run(self, job: ShardJob) -> ShardEnd:
        try:
            async with opened(job.access) as engine:
                return await self._crawled(engine, job)
        except Exception as error:
            return _end_of(error)

    async def _crawled(self, engine: ClusterEngine, job: ShardJob) -> ShardEnd:
        place = ShardPlace(job.shard, job.shards)
        store = _fresh_folder(job) / STORE
        self._exchange = exchange = EngineExchange(engine, place, job.run)
        exchange.until = self._until
        loaded = _settings(job, store)
        storing, tell = loaded.settings.storing, self._warnings.put_nowait
        least = await told_entry(engine, job.shard, job.run)
        async with _replicated(engine, job, storing, least, tell) as replica:
            records = EngineAddressRecords(engine, place, job.generation)
            setup = ShardSetup(place, exchange, replica, addresses=records)
            seeds = await seeds_of(engine, job.seeds)
            self._crawl = crawl = Crawl(seeds, loaded, shard=setup)
            crawl.subscribe(self._warn, (Warned,))
            if self._is_stopped:
                crawl.stop()
            listening = asyncio.create_task(exchange.listen())
            steering = asyncio.create_task(self._steer(crawl, exchange))
            try:
                return ShardEnd(reason=str(await crawl.run_async()))
            finally:
                await cancelled((listening, steering))

    def _warn(self, event: Event) -> None:
        """Tell the node. On a full disk the crawl does not wait: other nodes may have room, and
        have all that was committed.
        """
        crawl = self._crawl
        if crawl is not None and _is_full(crawl.settings.storing.store.parent):
            crawl.stop()
        elif isinstance(event, Warned):
            self._warnings.put_nowait(event.text)

    # ------------------------------------------------------------ what the shard may do

    async def _steer(self, crawl: Crawl, exchange: EngineExchange) -> None:
        """Do as the node says, for ever. Nothing is asked for before it has said something."""
        before = ShardOrders()
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            orders = self._orders
            if orders is None:
                continue
            exchange.is_halted |= orders.paused
            wanted: dict[str, object] = {
                name: value
                for name, value, former in (
                    ("pages", orders.pages, before.pages),
                    ("workers", orders.workers, before.workers),
                )
                if value != former and value is not None and (value or name != "pages")
            }
            if wanted:
                await self._set(crawl, wanted)
            before = orders
            if orders is self._orders and not self._yielding:  # else pages given back count first
                exchange.is_halted = orders.paused

    async def _yield_pages(self) -> int | None:
        """Fetch nothing but what is under way; the pages that were fetched then."""
        crawl, exchange = self._crawl, self._exchange
        if crawl is None or exchange is None or self._orders is None:
            return None
        self._yielding += 1
        exchange.is_halted = True
        try:
            shown = await self._ask(ControlRequest(verb=Verb.SHOW))
            progress = crawl.progress()
            if shown is None or progress is None:
                return None
            spent, paused = progress.fetched + int(shown["in_flight"]), self._orders.paused
            self._orders = replace(self._orders, pages=spent, paused=paused or not spent)
            return spent
        finally:
            self._yielding -= 1
            self._has_news.set()

    async def _set(self, crawl: Crawl, values: dict[str, object]) -> None:
        """Change settings of the crawl, as soon as it can be asked."""
        while await self._ask(ControlRequest(verb=Verb.SET, values=values)) is None:
            await asyncio.sleep(_AGAIN_S)

    async def _ask(self, request: ControlRequest) -> Reply | None:
        """The reply of the crawl; None if it has not begun, has ended, or is too busy to reply."""
        assert self._crawl is not None
        try:
            return await asyncio.to_thread(ask, self._crawl.settings.storing.store, request)
        except StoreError:
            return None


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < _LEAST_FREE


def _fresh_folder(job: ShardJob) -> Path:
    """Files of an earlier lease are not trusted: others have written to the log since."""
    folder = job.folder / f"shard-{job.shard:02}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@asynccontextmanager
async def _replicated(
    engine: ClusterEngine,
    job: ShardJob,
    storing: Storing,
    least: int,
    tell: Callable[[str], None],
) -> AsyncIterator[ShardReplica]:
    """Take the shard over, with its store and, if pages are kept, its archive.

    Each commit is in the engine before it counts.
    """
    shard, store, pages = job.shard, storing.store, None
    taken = await take_over(engine, shard, store, least=least, tell=tell)
    if storing.keeps_answers:
        pages = await take_over_pages(engine, shard, archive_folder(store), tell)
    connect = partial(connected_anew, job.access)
    replica = await asyncio.to_thread(
        ShardReplica, shard, store, taken, connect, ReplicaLimits(), pages
    )
    try:
        yield replica
    finally:
        await asyncio.to_thread(replica.close)


def _settings(job: ShardJob, store: Path) -> Loaded:
    """Those of the crawl, with those of the node where the crawl leaves them open."""
    named = {**job.own_settings, **job.settings}
    by_argument = {BY_NAME[name].argument: value for name, value in named.items()}
    fixed = {"store": str(store), "converge": False, "cluster": None}
    return load({**by_argument, **fixed}, {}, None)


def _end_of(error: Exception) -> ShardEnd:
    """What the node is told. Of several errors that of the engine counts."""
    single = _leaves(error)
    for one in single:
        if isinstance(one, Fenced):
            return ShardEnd(reason="fenced", error=str(one), is_fenced=True)
    for one in single:
        is_full = isinstance(one, OSError) and one.errno in _FULL
        if isinstance(one, MinicrawlError) or is_full:
            has_no_room = is_full or isinstance(one, NoRoom)
            return ShardEnd(reason="error", error=str(one), has_no_room=has_no_room)
    traceback.print_exception(error)
    return ShardEnd(reason="error", error=f"{type(single[0]).__name__}: {single[0]}")


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]
    return [error]

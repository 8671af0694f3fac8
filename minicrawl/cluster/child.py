"""The child process in which a node crawls one shard; `ShardProcess` is the node's side of it.

It takes the shard over, runs an ordinary crawl, and obeys the node. Laws: it ends at once when its
node does. It requests nothing before the node has said what the shard may do. Its last message is
how the crawl ended.
"""

import asyncio
import errno
import os
import shutil
import traceback
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from minicrawl.app import Crawl
from minicrawl.archive.objects.moved_file import name_store
from minicrawl.cluster.access import cancelled, connect_engine, import_engine, opened
from minicrawl.cluster.engine import ClusterEngine, Fenced
from minicrawl.cluster.node.shard_process import (
    STORE_NAME,
    ShardCommand,
    ShardEnd,
    ShardJob,
    ShardOrders,
)
from minicrawl.cluster.replica.kept_pages import take_over_pages
from minicrawl.cluster.replica.restoring import take_over
from minicrawl.cluster.replica.shipping import ShardReplica
from minicrawl.cluster.shared_settings import loaded_by_name
from minicrawl.cluster.terms import last_told, seeds_of
from minicrawl.cluster.traffic.exchange import BatchExchange
from minicrawl.cluster.traffic.local_shard import ClusterShard
from minicrawl.config import Loaded
from minicrawl.config.values.kinds import warc_place
from minicrawl.crawl.events import Event, Warned
from minicrawl.crawl.record.store_with_archive import earlier_place
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.messages import connection_at_stdin
from minicrawl.errors import MinicrawlError, NoRoom, Unconfirmed, Unnamed, Unreachable
from minicrawl.memory.allocator import mmap_large_arrays
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.store.reader import EARLIER, archive_folder, file_beside

if TYPE_CHECKING:
    import socket


_LOOKS_EVERY_S = 0.1
_NODE_IS_GONE = 1
_LEAST_FREE = 1 << 20
"""Free disk space in bytes, below which SQLite cannot write a batch."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_NEEDS_ROOM = "free some space, or give a --folder on another disk"
_OF_OTHERS = (Unconfirmed, Unreachable)
"""Lack of room, or worse, of servers and object stores."""


def main() -> None:
    """Run the child; its stdin is the socket of the channel to the node."""
    with connection_at_stdin() as connection:
        mmap_large_arrays()
        asyncio.run(_serve(connection))


async def _serve(connection: "socket.socket") -> None:
    child = ShardChild()
    import_engine()
    await child.channel.connect(connection)
    await child.channel.ended.wait()
    os._exit(_NODE_IS_GONE)  # the next holder repeats what was not committed


class ShardChild:
    def __init__(self) -> None:
        self.channel = PickleChannel(self._hear)
        self._crawl: Crawl | None = None
        self._exchange: BatchExchange | None = None
        self._is_stopped = False
        self._until = 0.0
        self._orders: ShardOrders | None = None
        self._obeyed = ShardOrders()
        self._warnings = asyncio.Queue[str]()
        self._tasks: set[asyncio.Task[None]] = set()

    def _hear(self, message: tuple[int, int | None, Any]) -> None:
        number, command, argument = message
        match command:
            case ShardCommand.RUN:
                self._reply(number, self._run(argument))
            case ShardCommand.YIELD:
                self._reply(number, self._yield_pages())
            case ShardCommand.WARNING:
                self._reply(number, self._warnings.get())
            case ShardCommand.UNTIL:
                self._until = argument
                if self._exchange is not None:
                    self._exchange.until = argument
            case ShardCommand.STEER:
                self._orders = argument
                self._obey()
            case ShardCommand.STOP:
                self._is_stopped = True
                if self._crawl is not None:
                    self._crawl.stop()

    def _reply(self, number: int, answer: Coroutine[Any, Any, object]) -> None:
        async def reply() -> None:
            self.channel.send((number, await answer, process_time()))

        self._tasks.add(task := asyncio.create_task(reply()))
        task.add_done_callback(self._tasks.discard)

    async def _run(self, job: ShardJob) -> ShardEnd:
        try:
            async with opened(job.access) as engine:
                return await self._crawled(engine, job)
        except Exception as error:
            # Of several errors Fenced is reported first, then errors that we know.
            errors = _leaves(error)
            for cause in errors:
                if isinstance(cause, Fenced):
                    return ShardEnd(reason=str(cause), is_fenced=True)
            for cause in errors:
                is_full = isinstance(cause, OSError) and cause.errno in _DISK_FULL
                is_full |= isinstance(cause, NoRoom) and not isinstance(cause, _OF_OTHERS)
                if is_full:
                    why = f"no room on this node's disk: {cause}; {_NEEDS_ROOM}"
                    return ShardEnd(reason=why, is_for_others=True)
                if isinstance(cause, MinicrawlError):
                    return ShardEnd(reason=str(cause), is_for_others=isinstance(cause, Unnamed))
            traceback.print_exception(error)
            return ShardEnd(reason=f"{type(errors[0]).__name__}: {errors[0]}")

    async def _crawled(self, engine: ClusterEngine, job: ShardJob) -> ShardEnd:
        place, shard, pages = ShardPlace(job.shard, job.shards), job.shard, None
        # Files of an earlier lease may be stale: other nodes may have written to the log since.
        folder = job.folder / f"shard-{shard:02}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._exchange = exchange = BatchExchange(engine, place, job.run)
        exchange.until = self._until
        loaded = settings_of_shard(job, folder / STORE_NAME)
        storing = loaded.settings.storing
        earlier = file_beside(job.folder / STORE_NAME, EARLIER)
        if earlier_place(storing) is not None and earlier.exists():
            shutil.copyfile(earlier, file_beside(storing.store, EARLIER))  # links are refused
        if storing.objects is not None:  # for snapshots; the crawl names it for its pages
            with suppress(OSError):  # without a mark it is named in this process alone
                name_store(folder, storing.objects)
        facts = await last_told(engine, shard)
        restored = await take_over(engine, shard, storing.store, least=facts.entry)
        if storing.keeps_answers:
            archive = archive_folder(storing.store)
            pages = await take_over_pages(engine, shard, archive)
        connect = partial(connect_engine, job.access)
        # From now on a commit counts only when it is in the engine.
        make = partial(ShardReplica, pages=pages, objects=storing.objects)
        replica = await asyncio.to_thread(make, shard, storing.store, restored, connect)
        tasks = [asyncio.create_task(exchange.listen())]
        try:
            setup = ClusterShard(
                place,
                exchange,
                engine,
                job.generation,
                replica,
                age_s=facts.age_s if facts.run == job.run else 0.0,
                tells_importance=loaded.settings.budget.until is not None,
            )
            seeds = await seeds_of(engine, job.seeds)
            self._crawl = crawl = Crawl(seeds, loaded, shard=setup)
            crawl.subscribe(self._warn, (Warned,))
            if self._is_stopped:
                crawl.stop()
            tasks.append(asyncio.create_task(self._obey_from_the_start(crawl)))
            return ShardEnd(reason=str(await crawl.run_async()))
        finally:
            await cancelled(tasks)
            await asyncio.to_thread(replica.close)

    def _warn(self, event: Event) -> None:
        """Pass the warning to the node, or stop the crawl if the disk is full.

        A crawl on one machine waits for room. Here another node may have room, and can continue the
        shard, since the engine has all commits.
        """
        if (crawl := self._crawl) is not None:
            folder = crawl.settings.storing.store.parent
            if shutil.disk_usage(folder).free < _LEAST_FREE:
                crawl.stop()
                return
        if isinstance(event, Warned):
            self._warnings.put_nowait(event.text)

    async def _obey_from_the_start(self, crawl: Crawl) -> None:
        while crawl.steering is None:
            await asyncio.sleep(_LOOKS_EVERY_S)
        self._obey()

    def _obey(self) -> None:
        """Carry out the node's orders. No request begins before the first ones."""
        crawl, exchange, orders = self._crawl, self._exchange, self._orders
        if crawl is None or crawl.steering is None or exchange is None or orders is None:
            return
        before, self._obeyed = self._obeyed, orders
        # A budget of 0 pages cannot be set; orders with it pause the shard instead.
        if orders.pages and orders.pages != before.pages:
            crawl.steering.change({"pages": orders.pages})
        exchange.is_halted = orders.paused

    async def _yield_pages(self) -> int | None:
        """Return the pages fetched, those under way included: the limit from now on."""
        crawl, orders = self._crawl, self._orders
        progress = crawl.progress() if crawl is not None else None
        if crawl is None or crawl.steering is None or orders is None or progress is None:
            return None
        spent = progress.fetched + int(crawl.steering.reply()["in_flight"])
        self._orders = replace(orders, pages=spent, paused=orders.paused or not spent)
        self._obey()
        return spent


def settings_of_shard(job: ShardJob, store: Path) -> Loaded:
    """Load the settings of the crawl, completed by those of the node."""
    named = {**job.own_settings, **job.settings}
    named |= {"store": str(store), "converge": False, "cluster": None}
    if isinstance(warc := named.get("warc"), str):  # to make file names unique in the cluster
        place = warc_place(warc)
        named["warc"] = str(place._replace(name=f"{place.name or 'crawl'}-{job.shard:02}"))
    return loaded_by_name(named)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]

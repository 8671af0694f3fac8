"""One shard of a node, crawled in a child process.

Laws: a child ends when its node does, even if that is killed, and begins no request after its
deadline unless the node extends it; so a node that is paused or cut off need not send anything.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

from minicrawl.cluster.access import ClusterAccess
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess

STORE_NAME = "crawl.db"
"""Name of the store of each shard, in a folder of its own."""
_CODE = "from minicrawl.cluster.child import main; main()"
_END_S = 1.0
"""Time limit for a child to end after its node has closed the channel."""


class ShardCommand(IntEnum):
    """Kind of a message to a child; comments describe the argument and the reply."""

    RUN = 1  # a ShardJob, once; replies with a ShardEnd when the crawl has ended
    UNTIL = 2  # moment up to which requests may begin, by CLOCK_BOOTTIME
    STEER = 3  # a ShardOrders
    STOP = 4  # None: end after the requests under way
    YIELD = 5  # None; replies with the pages fetched and under way, the limit from now on
    WARNING = 6  # None; replies with the next warning of the crawl, one line


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardJob:
    shard: int
    shards: int
    run: int  # of the whole crawl
    access: ClusterAccess
    generation: int
    folder: Path
    settings: dict[str, object]  # by name, as JSON values
    own_settings: dict[str, object]  # of the node, by name
    seeds: str  # name of the keys with the seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOrders:
    paused: bool = False
    pages: int | None = None  # limit of fetched pages in total


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardEnd:
    """Result of the crawl of a shard, and why it ended, in one line."""

    reason: str
    is_fenced: bool = False
    is_for_others: bool = False
    """True if this node cannot crawl the shard, and others perhaps can."""


class ShardProcess:
    """The crawl of a shard in a child process. It begins at construction."""

    def __init__(self, job: ShardJob, warn: Callable[[str], None]) -> None:
        """`warn` gets each warning of the crawl, one line."""
        self.job, self._process = job, ChildProcess(ChildJob(code=_CODE, end_s=_END_S))
        self._orders: ShardOrders | None = None
        self._end = asyncio.create_task(self._run())
        self._hearing = asyncio.create_task(self._hear_warnings(warn))

    @property
    def end(self) -> ShardEnd | None:
        """Result of the crawl, or None while it runs."""
        return self._end.result() if self._end.done() and not self._end.cancelled() else None

    async def until(self, moment: float) -> None:
        """Allow requests to begin up to this moment."""
        await self._tell(ShardCommand.UNTIL, moment)

    async def steer(self, orders: ShardOrders) -> None:
        """Give new orders, unless they equal the current ones."""
        if orders != self._orders:
            self._orders = orders
            await self._tell(ShardCommand.STEER, orders)

    async def yield_pages(self) -> int | None:
        """Begin no more requests. Return the pages fetched, those under way included."""
        spent = None
        with suppress(ChildLost):
            spent = await self._process.call(ShardCommand.YIELD, None)
        if not isinstance(spent, int) or self._orders is None:
            return None
        self._orders = replace(self._orders, pages=spent)
        return spent

    async def stop(self) -> ShardEnd:
        """End after the requests under way, with all results committed to the log."""
        await self._tell(ShardCommand.STOP, None)
        return await asyncio.shield(self._end)

    async def kill(self) -> None:
        """End at once. The next holder of the shard repeats what was not committed."""
        await self._process.close()
        await asyncio.wait((self._end,))

    async def _tell(self, command: ShardCommand, argument: object) -> None:
        with suppress(ChildLost):  # `end` reports it
            await self._process.feed(command, argument)

    async def _run(self) -> ShardEnd:
        try:
            end = await self._process.call(ShardCommand.RUN, self.job)
        except ChildLost:
            end = ShardEnd(reason="its process ended")
        assert isinstance(end, ShardEnd)
        self._hearing.cancel()
        await self._process.close()
        return end

    async def _hear_warnings(self, warn: Callable[[str], None]) -> None:
        with suppress(ChildLost):
            while True:
                warn(str(await self._process.call(ShardCommand.WARNING, None)))

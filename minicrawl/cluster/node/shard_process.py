"""The crawl of one shard, in a child process, as its node sees it.

Laws: the child ends when its node does, however that ends. It begins no request after its deadline,
unless its node moves that; so a node that is paused or cut off need not be heard of.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

from minicrawl.cluster.access import ClusterAccess
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess

_CODE = "from minicrawl.cluster.child.process import main; main()"
_REFILL_S = 10.0
"""After a start, when those that start now have what they need of the cores, and have begun."""
_END_S = 1.0
"""For a child whose node has closed the channel."""


class ShardCommand(IntEnum):
    """What a child is told: its argument."""

    RUN = 1  # a ShardJob, once; the reply is a ShardEnd, when the crawl has ended
    UNTIL = 2  # the moment up to which requests may begin, by CLOCK_BOOTTIME
    STEER = 3  # a ShardOrders
    STOP = 4  # None: end after the requests under way
    YIELD = 5  # None; the reply is how many pages it has fetched and asks for, its limit from now
    WARNING = 6  # None; the reply is what the crawl warns of next, a line


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardJob:
    """What a child needs to crawl its shard."""

    shard: int
    shards: int
    run: int  # of the whole crawl
    access: ClusterAccess
    node: str
    generation: int
    folder: Path
    settings: dict[str, object]  # by name, as JSON has them
    own_settings: dict[str, object]  # those of the node, by name
    seeds: str  # the name of the object with them


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOrders:
    """What a running crawl should do from now on."""

    paused: bool = False
    pages: int | None = None  # that it may fetch in all
    workers: int | None = None  # fetching processes


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardEnd:
    """How the crawl of a shard ended. `error` is a line, or empty."""

    reason: str
    error: str = ""
    is_fenced: bool = False
    has_no_room: bool = False


class WarmChildren:
    """Child processes, one of which has imported all and waits for a shard: so shards that move, or
    whose node was lost, wait for the others alone.
    """

    def __init__(self) -> None:
        self._spare: ChildProcess | None = None
        self._refill: asyncio.TimerHandle | None = None

    def take(self) -> ChildProcess:
        """A child that runs nothing yet."""
        spare, self._spare = self._spare, None
        if self._refill is None:
            self._refill = asyncio.get_running_loop().call_later(_REFILL_S, self._begin)
        return _child() if spare is None or spare.is_over else spare

    async def close(self) -> None:
        """End the one that waits."""
        if self._refill is not None:
            self._refill.cancel()
        if self._spare is not None:
            await self._spare.close()

    def _begin(self) -> None:
        self._refill, self._spare = None, _child()


def _child() -> ChildProcess:
    return ChildProcess(ChildJob(code=_CODE, end_s=_END_S))


class ShardProcess:
    """The crawl of a shard in a child process. It begins when this is made."""

    def __init__(self, job: ShardJob, process: ChildProcess) -> None:
        self.job, self._process = job, process
        self._orders: ShardOrders | None = None
        self._end = asyncio.create_task(self._run())
        self._warnings: list[str] = []
        self._hearing = asyncio.create_task(self._hear_warnings())

    def warnings(self) -> list[str]:
        """What it has warned of since this was asked for the last time."""
        new, self._warnings = self._warnings, []
        return new

    @property
    def pid(self) -> int | None:
        """Of the child, while it runs."""
        return self._process.pid

    @property
    def end(self) -> ShardEnd | None:
        """How it ended, if it has."""
        return self._end.result() if self._end.done() and not self._end.cancelled() else None

    async def until(self, moment: float) -> None:
        """It may begin requests up to this moment."""
        await self._tell(ShardCommand.UNTIL, moment)

    async def steer(self, orders: ShardOrders) -> None:
        """Change what it does, if that is news."""
        if orders != self._orders:
            self._orders = orders
            await self._tell(ShardCommand.STEER, orders)

    async def yield_pages(self) -> int | None:
        """Fetch nothing but what is under way; the pages that it has then fetched in all."""
        try:
            spent = await self._process.call(ShardCommand.YIELD, None)
        except ChildLost:
            return None
        if isinstance(spent, int) and self._orders is not None:
            self._orders = replace(self._orders, pages=spent)
            return spent
        return None

    async def stop(self) -> ShardEnd:
        """End after the requests under way, with all that was done in the log."""
        await self._tell(ShardCommand.STOP, None)
        return await asyncio.shield(self._end)

    async def kill(self) -> None:
        """End at once. What was not committed is done again by whoever has the shard next."""
        await self._process.close()
        await asyncio.wait((self._end,))

    async def _tell(self, command: ShardCommand, argument: object) -> None:
        try:
            await self._process.feed(command, argument)
        except ChildLost:
            return  # `end` says so

    async def _run(self) -> ShardEnd:
        try:
            found = await self._process.call(ShardCommand.RUN, self.job)
        except ChildLost:
            found = ShardEnd(reason="lost", error="its process ended")
        assert isinstance(found, ShardEnd)
        self._hearing.cancel()
        await self._process.close()
        return found

    async def _hear_warnings(self) -> None:
        with suppress(ChildLost):
            while True:
                warning = await self._process.call(ShardCommand.WARNING, None)
                self._warnings.append(str(warning))

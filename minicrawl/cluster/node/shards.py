"""The crawl of one shard, in a child process, as its node sees it.

Laws: the child ends when its node does, however that ends. It begins no request after its deadline,
unless its node moves that; so a node that is paused or cut off need not be heard of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.engine import ClusterEngine, EngineFull, EngineUnavailable, Fenced, KeyEntry
from minicrawl.cluster.terms import GRANTS_KEY, GrantsRecord
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess

_CODE = "from minicrawl.cluster.child import main; main()"
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


# ================================================================ grants
#
# How the pages of a budget are shared out among shards. No I/O.
#
# Law: what all shards may fetch is never more than the budget, whoever shares it out, and whatever
# was told late: the sums are one value of the engine, which changes only for who knows its
# revision. A shard never has less than it has fetched and asks for now.
#
# granted   the pages that a shard may fetch in all
# spent     those that it has fetched, and those under way
# ahead     A shard gets what it will read in this time, so that it need not wait for the next
#         grant,
#           even while servers choose who leads the log of grants. Towards the end that is a part of
#           the time that is left: else shards that asked first would have all pages, and the last
#           ones would be none of the richest.

AHEAD_S, SHORTEST_S = 12.0, 0.5
SOON_S = 3.0
"""If others want pages and none is left, a shard keeps what it will read in this time."""
LEAST = 8
PARTS = 4
"""Of what is left, that are ahead of all shards together at most."""


class ShardNeed(NamedTuple):
    """What a shard has spent, what waits there, and how many pages it reads in a second."""

    spent: int
    waiting: int
    pace: float


def ahead_s(left: float, pace: float) -> float:
    """How long shards have enough, which together read so many pages in a second."""
    if pace <= 0 or left >= AHEAD_S * PARTS * pace:
        return AHEAD_S
    return max(SHORTEST_S, left / (PARTS * pace))


def granted_anew(
    budget: int,
    granted: Mapping[int, int],
    needs: Mapping[int, ShardNeed],
    shards: int,
    *,
    pace: float = 0.0,
    is_wanted: bool = False,
) -> dict[int, int]:
    """What the shards with these needs may fetch from now on, where that changes.

    Shards without need give back what they have not spent; if pages are wanted elsewhere and none
    is left, so do those that have more than they read soon. `shards` of the whole crawl have pages
    that wait, and `pace` is theirs: the last pages are shared out in small parts, so that others
    come in for them as well.
    """
    left = budget - sum(granted.values())
    soon_s = ahead_s(left, pace)
    back = _given_back(granted, needs, are_wanted=is_wanted and left <= 0)
    hungry = {
        shard: wanted
        for shard, need in needs.items()
        if shard not in back
        and need.waiting
        and (wanted := _wanted(need, soon_s) - granted.get(shard, 0)) > 0
    }
    most, more = max(1, left // max(1, shards)), {}
    for shard, wanted in sorted(hungry.items(), key=lambda one: -needs[one[0]].waiting):
        if (part := min(wanted, most, left)) > 0:
            more[shard] = granted.get(shard, 0) + part
            left -= part
    return back | more


def _given_back(
    granted: Mapping[int, int], needs: Mapping[int, ShardNeed], *, are_wanted: bool
) -> dict[int, int]:
    return {
        shard: need.spent
        for shard, need in needs.items()
        if (unspent := granted.get(shard, 0) - need.spent) > 0
        and (not need.waiting or (are_wanted and unspent > need.pace * SOON_S))
    }


def is_short(granted: int, need: ShardNeed) -> bool:
    """Whether a shard will soon have read all that it may."""
    return bool(need.waiting) and granted - need.spent <= need.pace * SHORTEST_S


def _wanted(need: ShardNeed, soon_s: float) -> int:
    """That a shard should have in all."""
    return need.spent + min(max(LEAST, int(need.pace * soon_s)), need.waiting)


# ================================================================ budget
#
# The budget of a crawl: how many of its pages each shard may fetch.
#
# Laws: what all shards may fetch is never more than the budget, whatever answers of the engine are
# lost. Grants are entries of a log of their own, and the last one counts: it follows only from who
# knows the one before. While it is not known what became of a change, a shard may fetch the lesser
# of both numbers, and the same change is tried again until the log has gone on: then it was done,
# or never will be.
#
# A key says what the last entry is, so that nodes need not ask. It may be old, and is not what
# counts: a log shows whether a change came to be whose answer was lost, whatever came after it.
#
# claim   whoever takes a shard first writes its lease's generation here. So what an earlier holder
#         of
#         the shard still wants to change is refused.

Yield = Callable[[int], Awaitable[int | None]]
"""A shard -> the pages that it has fetched and asks for now: it fetches no more until it is granted
more. None if its crawl does not answer."""

KEPT_ENTRIES = 64
"""Of the log; only the last one counts."""


class SharedBudget:
    """What shards were granted, as far as this node knows."""

    def __init__(self, engine: ClusterEngine, shards: int) -> None:
        self._engine, self._log = engine, shards  # the logs before it are those of shards
        self._known = GrantsRecord(entry=0, granted={}, generations={})
        self._doubted: GrantsRecord | None = None

    def hear(self, entry: KeyEntry) -> None:
        """The key as it is now, or was."""
        if entry.value is not None:
            self._learn(GrantsRecord.unpack(entry.key, entry.value))

    def _learn(self, record: GrantsRecord) -> None:
        if record.entry > self._known.entry:
            self._known, self._doubted = record, None

    def granted(self, shard: int, generation: int) -> int:
        """The pages that a shard may fetch in all, for sure, under this lease."""
        key = str(shard)
        if self._known.generations.get(key) != generation:
            return 0
        pages = self._known.granted.get(key, 0)
        return pages if self._doubted is None else min(pages, self._doubted.granted.get(key, 0))

    def is_short(self, leases: Mapping[int, int], needs: Mapping[int, ShardNeed]) -> bool:
        """Whether one of these shards will soon have read all that it may."""
        return any(
            is_short(self.granted(shard, generation), needs[shard])
            for shard, generation in leases.items()
            if shard in needs
        )

    async def share_out(
        self,
        budget: int,
        leases: Mapping[int, int],
        needs: Mapping[int, ShardNeed],
        give_back: Yield,
        *,
        is_wanted: bool,
    ) -> None:
        """Claim these shards, which have leases of such generations; grant them what they need of
        the budget, and take back what they do not. `needs` are those of all shards.
        """
        if self._doubted is not None and not await self._is_settled(self._doubted):
            return
        known = self._known
        granted = {int(shard): pages for shard, pages in known.granted.items()}
        anew = granted_anew(
            budget,
            granted,
            {shard: needs[shard] for shard in leases if shard in needs},
            sum(bool(need.waiting) for need in needs.values()),
            pace=sum(need.pace for need in needs.values()),
            is_wanted=is_wanted,
        )
        after = granted | await _taken_back(anew, granted, give_back)
        if sum(after.values()) > max(budget, sum(granted.values())):
            after = granted
        record = replace(
            known,
            granted={str(shard): after[shard] for shard in sorted(after)},
            generations=self._claimed(leases),
        )
        if known is self._known and record != known:  # else somebody was quicker
            await self._change(replace(record, entry=known.entry + 1))

    def _claimed(self, leases: Mapping[int, int]) -> dict[str, int]:
        """A later lease, of which we have not heard yet, stays."""
        before = self._known.generations
        claims = {str(shard): generation for shard, generation in leases.items()}
        return {**before, **{key: max(one, before.get(key, 0)) for key, one in claims.items()}}

    async def _is_settled(self, doubted: GrantsRecord) -> bool:
        """Find out what became of a change, or do it now; whether that is known."""
        try:
            await self._look()
        except EngineUnavailable:
            return False
        if self._doubted is not None:  # else it was heard of now, or meanwhile
            await self._change(doubted)
        return self._doubted is None

    async def _look(self) -> None:
        """Read the last entry of the log."""
        _, last = await self._engine.log_span(self._log)
        if last > self._known.entry:
            async for entry in self._engine.entries(self._log, self._known.entry):
                record = GrantsRecord.unpack(GRANTS_KEY, entry.content)
                self._learn(replace(record, entry=entry.number))

    async def _change(self, record: GrantsRecord) -> None:
        self._doubted, before = record, self._known.entry
        try:
            entry = await self._engine.append(self._log, before, record.pack(), is_shared=True)
        except (Fenced, EngineUnavailable, EngineFull):
            return  # somebody else was quicker, or nobody knows: looked at before the next try
        self._learn(record := replace(record, entry=entry))
        try:
            await self._engine.put(GRANTS_KEY, record.pack())
            if entry % KEPT_ENTRIES == 0:
                await self._engine.remove_entries(self._log, before)
        except EngineUnavailable:
            return  # others find the entry when they want to change it


async def _taken_back(
    anew: Mapping[int, int], granted: Mapping[int, int], give_back: Yield
) -> dict[int, int]:
    """What shards get, where those that are to have less have given back what they can."""
    after = dict(anew)
    for shard, pages in anew.items():
        if pages < granted.get(shard, 0):
            spent = await give_back(shard)
            after[shard] = granted[shard] if spent is None else spent
    return after

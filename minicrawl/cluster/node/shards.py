"""The crawl of one shard in a child process, as its node sees it, and the division of the budget.

Laws: the child ends when its node does, in whatever way. It begins no request after its deadline,
unless the node moves that; so a node that is paused or cut off need not send anything.
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
"""Delay before a spare child starts: until then the crawls that begin need the cores."""
_END_S = 1.0
"""Time limit for a child to end after its node has closed the channel."""


class ShardCommand(IntEnum):
    """Message to a child; comments describe the argument and the reply."""

    RUN = 1  # a ShardJob, once; replies with a ShardEnd when the crawl has ended
    UNTIL = 2  # moment up to which requests may begin, by CLOCK_BOOTTIME
    STEER = 3  # a ShardOrders
    STOP = 4  # None: end after the requests under way
    YIELD = 5  # None; replies with the pages fetched and under way, which are the limit from now on
    WARNING = 6  # None; replies with the next warning of the crawl, one line


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardJob:
    """Everything that a child needs to crawl its shard."""

    shard: int
    shards: int
    run: int  # of the whole crawl
    access: ClusterAccess
    generation: int
    folder: Path
    settings: dict[str, object]  # by name, as JSON values
    own_settings: dict[str, object]  # of the node, by name
    seeds: str  # name of the object with the seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOrders:
    """Orders for a running crawl."""

    paused: bool = False
    pages: int | None = None  # limit of fetched pages in total
    workers: int | None = None  # fetching processes


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardEnd:
    """Result of the crawl of a shard. `error` is one line, or empty."""

    reason: str
    error: str = ""
    is_fenced: bool = False
    has_no_room: bool = False


class WarmChildren:
    """Child processes, one of which waits with all modules imported.

    So a shard that moves, or whose node was lost, starts without waiting for the imports.
    """

    def __init__(self) -> None:
        self._spare: ChildProcess | None = None
        self._refill: asyncio.TimerHandle | None = None

    def take(self) -> ChildProcess:
        """Return a child that runs nothing yet."""
        spare, self._spare = self._spare, None
        if self._refill is None:
            self._refill = asyncio.get_running_loop().call_later(_REFILL_S, self._begin)
        return _child() if spare is None or spare.is_over else spare

    async def close(self) -> None:
        """End the spare child."""
        if self._refill is not None:
            self._refill.cancel()
        if self._spare is not None:
            await self._spare.close()

    def _begin(self) -> None:
        self._refill, self._spare = None, _child()


def _child() -> ChildProcess:
    return ChildProcess(ChildJob(code=_CODE, end_s=_END_S))


class ShardProcess:
    """The crawl of a shard in a child process. It begins at construction."""

    def __init__(self, job: ShardJob, process: ChildProcess) -> None:
        self.job, self._process = job, process
        self._orders: ShardOrders | None = None
        self._end = asyncio.create_task(self._run())
        self._warnings: list[str] = []
        self._hearing = asyncio.create_task(self._hear_warnings())

    def warnings(self) -> list[str]:
        """Return the warnings since the last call."""
        new, self._warnings = self._warnings, []
        return new

    @property
    def pid(self) -> int | None:
        """PID of the child, or None."""
        return self._process.pid

    @property
    def end(self) -> ShardEnd | None:
        """Result of the crawl, or None while it runs."""
        return self._end.result() if self._end.done() and not self._end.cancelled() else None

    async def until(self, moment: float) -> None:
        """Allow requests to begin up to this moment."""
        await self._tell(ShardCommand.UNTIL, moment)

    async def steer(self, orders: ShardOrders) -> None:
        """Give new orders, unless they are the present ones."""
        if orders != self._orders:
            self._orders = orders
            await self._tell(ShardCommand.STEER, orders)

    async def yield_pages(self) -> int | None:
        """Begin no more requests. Return the pages fetched, those under way included."""
        try:
            spent = await self._process.call(ShardCommand.YIELD, None)
        except ChildLost:
            return None
        if isinstance(spent, int) and self._orders is not None:
            self._orders = replace(self._orders, pages=spent)
            return spent
        return None

    async def stop(self) -> ShardEnd:
        """End after the requests under way, with everything done in the log."""
        await self._tell(ShardCommand.STOP, None)
        return await asyncio.shield(self._end)

    async def kill(self) -> None:
        """End at once. The next holder of the shard repeats what was not committed."""
        await self._process.close()
        await asyncio.wait((self._end,))

    async def _tell(self, command: ShardCommand, argument: object) -> None:
        try:
            await self._process.feed(command, argument)
        except ChildLost:
            return  # `end` reports it

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
# Division of the page budget among shards. No I/O.
#
# Law: the pages that all shards may fetch never exceed the budget, whichever node divides it and
# however late it hears: the grants are one value of the engine, which changes only by
# compare-and-set. A grant is never less than what its shard has fetched and has under way.
#
# granted   pages that a shard may fetch in total
# spent     pages fetched, and pages under way
# ahead     A shard is granted what it will read within this time, so that it need not wait for the
#           next grant, even while servers elect a leader for the log of grants. Towards the end the
#           time shrinks with the pages left: else the shards that ask first would get all of them,
#           whether or not they have the richest pages.

AHEAD_S, SHORTEST_S = 12.0, 0.5
SOON_S = 3.0
"""Time for which a shard keeps pages if others want some and none is left."""
LEAST = 8
PARTS = 4
"""At most 1 / PARTS of the remaining pages is granted ahead, over all shards."""


class ShardNeed(NamedTuple):
    """Pages that a shard has spent, pages that wait there, and its pages per second."""

    spent: int
    waiting: int
    pace: float


def ahead_s(left: float, pace: float) -> float:
    """Return for how long shards get pages, given the pages left and their total rate."""
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
    """Return the new grants of these shards, where they change.

    A shard without need returns what it has not spent. If pages are wanted elsewhere and none is
    left, so does a shard with more than it will read soon. `shards` is the number of shards in the
    whole crawl that have waiting pages, and `pace` their rate. The last pages are divided into
    small parts, so that shards of other nodes get some as well.
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
    """Return whether a shard will soon have spent its grant."""
    return bool(need.waiting) and granted - need.spent <= need.pace * SHORTEST_S


def _wanted(need: ShardNeed, soon_s: float) -> int:
    """Return the total grant that a shard should have."""
    return need.spent + min(max(LEAST, int(need.pace * soon_s)), need.waiting)


# ================================================================ budget
#
# The page budget of a crawl: how many pages each shard may fetch.
#
# Laws: the pages that all shards may fetch never exceed the budget, even if answers of the engine
# are lost. Grants are entries of a log of their own, of which the last counts. A new entry is
# accepted only from a node that knows the one before. While the fate of an entry is unknown, a
# shard may fetch the smaller of both numbers, and the same entry is tried again until the log has
# grown: then it was accepted, or never will be.
#
# A key repeats the last entry, so that nodes need not poll the log. The key may be stale, and does
# not count: only the log shows whether an entry was accepted whose answer was lost, whatever came
# after it.
#
# claim   a node that takes a shard first writes its lease's generation here; then changes by an
#         earlier holder of the shard are refused

Yield = Callable[[int], Awaitable[int | None]]
"""Stop a shard's requests until it is granted more, and return the pages that it has spent.

The result is None if the crawl does not answer.
"""

KEPT_ENTRIES = 64
"""Entries to keep in the log; only the last one counts."""


class SharedBudget:
    """Grants of all shards, as far as this node knows."""

    def __init__(self, engine: ClusterEngine, shards: int) -> None:
        self._engine, self._log = engine, shards  # logs with smaller numbers belong to shards
        self._known = GrantsRecord(entry=0, granted={}, generations={})
        self._doubted: GrantsRecord | None = None

    def hear(self, entry: KeyEntry) -> None:
        """Take in the present or an older value of the key."""
        if entry.value is not None:
            self._learn(GrantsRecord.unpack(entry.key, entry.value))

    def _learn(self, record: GrantsRecord) -> None:
        if record.entry > self._known.entry:
            self._known, self._doubted = record, None

    def granted(self, shard: int, generation: int) -> int:
        """Return the total of pages that the shard may certainly fetch under this lease."""
        key = str(shard)
        if self._known.generations.get(key) != generation:
            return 0
        pages = self._known.granted.get(key, 0)
        return pages if self._doubted is None else min(pages, self._doubted.granted.get(key, 0))

    def is_short(self, leases: Mapping[int, int], needs: Mapping[int, ShardNeed]) -> bool:
        """Return whether one of these shards will soon have spent its grant."""
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
        """Claim shards, and grant or take back pages according to their needs.

        `leases` has the generation of each shard's lease, `needs` the needs of all shards.
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
        if known is self._known and record != known:  # else another node was quicker
            await self._change(replace(record, entry=known.entry + 1))

    def _claimed(self, leases: Mapping[int, int]) -> dict[str, int]:
        """Return all claims with ours added. A later lease, unknown to us, keeps its claim."""
        before = self._known.generations
        claims = {str(shard): generation for shard, generation in leases.items()}
        return {**before, **{key: max(one, before.get(key, 0)) for key, one in claims.items()}}

    async def _is_settled(self, doubted: GrantsRecord) -> bool:
        """Find out whether the doubted entry was accepted, or append it now.

        Returns whether its fate is known.
        """
        try:
            await self._look()
        except EngineUnavailable:
            return False
        if self._doubted is not None:  # else its fate is known by now
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
            return  # another node was quicker, or nobody knows: the next call finds out
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
    """Return the new grants, after asking shards that get less to return pages."""
    after = dict(anew)
    for shard, pages in anew.items():
        if pages < granted.get(shard, 0):
            spent = await give_back(shard)
            after[shard] = granted[shard] if spent is None else spent
    return after

"""A node: it says that it is there, takes the shards that it should hold, and gives up the others.

Laws: what a node does is decided anew each second from what it has heard. It says that it is there
whatever else it waits for. A node that could not be heard stops its shards by itself, and goes on
with those that are still its own. It says what happened to it in one line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable
from minicrawl.cluster.node import records
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.hearing import NodeHearing
from minicrawl.cluster.node.held import HeldShards, Tell
from minicrawl.cluster.node.keys import cancelled
from minicrawl.cluster.node.leases import BEAT_S, HOLD_S, ClusterView, plan
from minicrawl.cluster.node.presence import PATIENCE_S, NodePresence, Now
from minicrawl.cluster.node.shard_process import ShardEnd
from minicrawl.errors import UsageError
from minicrawl.shards.rhythm import rhythm_s
from minicrawl.wording import counted

END_S = 30.0
"""For the shards of a node that leaves to end cleanly."""
_LONGEST_S = 1.5 * BEAT_S
"""Between two decisions."""


class NodeParts(NamedTuple):
    """What a node is made of."""

    presence: NodePresence
    state: CrawlState
    view: ClusterView
    held: HeldShards


class Node:
    """One node of a cluster."""

    def __init__(self, engine: ClusterEngine, parts: NodeParts, tell: Tell, now: Now) -> None:
        self._engine, self.parts = engine, parts
        self._tell, self._now = tell, now
        self._last_beat = now()
        self._until = now()  # requests may begin
        self._rebalances = 0
        self._is_cut_off = False
        self._is_leaving = False
        self.hearing = NodeHearing(engine, parts.presence, parts.state, parts.view, tell, now)

    def leave(self) -> None:
        """Give up all shards, and end."""
        self._is_leaving = True

    async def run(self) -> None:
        """Until it is told to leave and holds nothing."""
        await self.parts.presence.begin()
        following = [asyncio.create_task(job) for job in self.hearing.jobs()]
        try:
            await self._work()
        finally:
            await cancelled(following)

    async def _work(self) -> None:
        leaves_at = None
        self._last_beat = self._now()  # to begin may have taken a while
        beating = asyncio.create_task(self._beat_on())
        try:
            await asyncio.sleep(BEAT_S)  # what others say comes meanwhile
            while not (self._is_leaving and not len(self.parts.held)):
                await self.decide()
                if self._is_leaving and leaves_at is None:
                    leaves_at = self._now() + END_S
                if leaves_at is not None and self._now() > leaves_at:
                    break
                await self._wait(beating)
        finally:
            await self.parts.held.drop(self.parts.held.numbers)
            await cancelled((beating,))
            await self.parts.presence.leave()

    async def _wait(self, beating: asyncio.Task[None]) -> None:
        """Until what was said up to our last beat is known, which may have left somebody silent.
        Shards that will soon have read all that they may get more.
        """
        ends_at, state = self._now() + _LONGEST_S, self.parts.state
        pause_s = rhythm_s(0, state.shards, BEAT_S)
        self.hearing.knows_more.clear()
        knowing = asyncio.create_task(self.hearing.knows_more.wait())
        until = {beating, knowing}
        while (left_s := ends_at - self._now()) > 0:
            pause = min(pause_s, left_s)
            done, _ = await asyncio.wait(until, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if done:
                break
            if state.is_short(self._running()) and not self._is_cut_off:
                await self._steer()
        knowing.cancel()
        if beating.done():
            beating.result()

    async def _beat_on(self) -> None:
        """Say that we are here, for ever."""
        while True:
            await self.beat()
            await asyncio.sleep(BEAT_S)

    # ------------------------------------------------------------ what is done again and again

    async def beat(self) -> None:
        """Say that we are here; whoever has heard it leaves us our shards for a while."""
        presence = self.parts.presence
        away_s, self._last_beat = self._now() - self._last_beat, self._now()
        if not await presence.beat(presence.record):
            self._do_without_engine()
            if not presence.refusal:  # two servers lead the two places, and neither answers
                await self._engine.beats.leave_server()
            return
        self.parts.view.hear_node(presence.name, presence.record, self._now())
        if self._is_cut_off or away_s > HOLD_S:
            await self._come_back(away_s)
        if not self._is_cut_off:
            self._until = presence.renewed_at + HOLD_S
            for crawl in self.parts.held.running.values():
                await crawl.until(self._until)

    async def decide(self) -> None:
        """Do what follows from what was heard."""
        if self._is_cut_off:
            return
        await self._settle_shards()
        await self._steer()
        await self.parts.state.end_if_over()

    def _do_without_engine(self) -> None:
        """Our leases last for a while. Then others may have the shards, so their crawls begin no
        request any more: nobody has moved their deadline.
        """
        presence = self.parts.presence
        if self._now() - presence.renewed_at < HOLD_S or self._is_cut_off:
            return
        self._is_cut_off = True
        why = presence.refusal or f"the cluster has not answered for {HOLD_S:g} s"
        ends = "there is room" if presence.refusal else "it does"
        shards = counted(len(self.parts.held), "shard")
        self._tell(f"{why}: {shards} of this node stand still until {ends}")

    async def _come_back(self, away_s: float) -> None:
        """Whatever was not heard is looked at before anything goes on."""
        view, held = self.parts.view, self.parts.held
        try:
            async with asyncio.timeout(PATIENCE_S):
                for entry in await self._engine.keys(records.LEASE_PREFIX):
                    self.hearing.hear(entry)
        except (EngineUnavailable, TimeoutError):
            self._is_cut_off = True
            return
        view.excuse(self._now())
        lost = [one for one in held.numbers if not view.is_mine(one, *self.parts.presence.me)]
        await held.drop(lost)
        why = "the cluster answers again" if self._is_cut_off else f"stood still for {away_s:.0f} s"
        fenced = f"; fenced off from {_listed(lost)}, which other nodes have now" if lost else ""
        self._tell(f"{why}{fenced}")
        self._is_cut_off = False

    async def _settle_shards(self) -> None:
        parts, now = self.parts, self._now()
        held, view = parts.held, parts.view
        at_once = parts.state.rebalances != self._rebalances
        self._rebalances = parts.state.rebalances
        todo = plan(view, parts.presence.me, held.numbers - held.taking, now, at_once=at_once)
        if todo.lost:
            self._tell(f"fenced off from {_listed(todo.lost)}, which other nodes have now")
            await held.drop(todo.lost)
        if self._is_leaving or parts.state.state.is_over:
            for shard in held.numbers:
                held.give_up(shard)
            return
        for shard in todo.give_up:
            held.give_up(shard)
        for shard in todo.take:
            held.take(shard)
        for text, shards in held.warnings().items():
            self._tell(f"{_listed(shards)}: {text}")
        for shard, end in held.look_after(now):
            await self._explain(shard, end)

    async def _explain(self, shard: int, end: ShardEnd) -> None:
        if end.is_fenced:
            self._tell(f"fenced off from shard {shard}: another node writes its log")
            await self.parts.held.drop([shard])
        elif end.has_no_room:
            self._hold_no_more_than_now(shard, end)
        else:
            self._tell(f"shard {shard} ended: {end.error or end.reason}")

    def _hold_no_more_than_now(self, shard: int, end: ShardEnd) -> None:
        """The disk has no room for another shard: other nodes may have some."""
        presence, room = self.parts.presence, len(self.parts.held.running)
        if not room:
            raise UsageError(
                f"no room for shard {shard} on this node's disk: {end.error}; "
                "make some, or give a --folder on another disk"
            )
        presence.record = replace(presence.record, room=room)
        self._tell(
            f"no room for shard {shard} on this node's disk: it holds {counted(room, 'shard')} at "
            "most, until it is started again"
        )
        self.parts.held.give_up(shard)

    async def _steer(self) -> None:
        held, state, presence = self.parts.held, self.parts.state, self.parts.presence
        running = self._running()
        await state.share_out(running, held.yield_pages)
        for shard, crawl in held.running.items():
            await crawl.steer(state.orders(shard, running.get(shard, 0), presence.name))
            await crawl.until(self._until)

    def _running(self) -> dict[int, int]:
        """The shards of this node that are crawled, with the generations of their leases."""
        leases = self.parts.view.generations(*self.parts.presence.me)
        return {one: leases[one] for one in self.parts.held.running if one in leases}


def _listed(shards: Collection[int]) -> str:
    numbers = ", ".join(map(str, sorted(shards)))
    return f"{'shard' if len(shards) == 1 else 'shards'} {numbers}"

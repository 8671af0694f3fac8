"""A node: it says that it is there, takes the shards that it should hold, and gives up the others.

Laws: what a node does is decided anew at each beat from what it has heard. A node that could not be
heard stops its shards by itself, and goes on with those that are still its own. It says what
happened to it in one line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterator
from dataclasses import replace
from typing import NamedTuple

from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable, KeyEntry
from minicrawl.cluster.node import records
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.held import HeldShards, Tell
from minicrawl.cluster.node.keys import cancelled, follow
from minicrawl.cluster.node.leases import BEAT_S, HOLD_S, ClusterView, plan
from minicrawl.cluster.node.presence import NodePresence, Now
from minicrawl.cluster.node.records import LeaseRecord, NodeRecord, RecordError
from minicrawl.cluster.node.shard_process import ShardEnd
from minicrawl.errors import UsageError
from minicrawl.shards.rhythm import rhythm_s
from minicrawl.wording import counted

_FOLLOWED = (
    *(records.NODE_PREFIX, records.LEASE_PREFIX, records.DRAIN_PREFIX),
    *(records.CRAWL_PREFIX, records.WORKERS_PREFIX, records.TOLD_PREFIX),
)
END_S = 30.0
"""For the shards of a node that leaves to end cleanly."""


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
        self._last_round = now()
        self._rebalances = 0
        self._is_cut_off = False
        self._is_leaving = False

    def leave(self) -> None:
        """Give up all shards, and end."""
        self._is_leaving = True

    async def run(self) -> None:
        """Until it is told to leave and holds nothing."""
        await self.parts.presence.begin()
        following = [asyncio.create_task(work) for work in self._following()]
        try:
            await self._work()
        finally:
            await cancelled(following)

    async def _work(self) -> None:
        leaves_at = None
        try:
            await asyncio.sleep(BEAT_S)  # what others say comes meanwhile
            while not (self._is_leaving and not len(self.parts.held)):
                await self.round()
                if self._is_leaving and leaves_at is None:
                    leaves_at = self._now() + END_S
                if leaves_at is not None and self._now() > leaves_at:
                    break
                await self._rest()
        finally:
            await self.parts.held.drop(self.parts.held.numbers)
            await self.parts.presence.leave()

    async def _rest(self) -> None:
        """Until the next beat; shards that will soon have read all that they may get more."""
        ends_at, state = self._now() + BEAT_S, self.parts.state
        pause_s = rhythm_s(0, state.shards, BEAT_S)
        while (left_s := ends_at - self._now()) > 0:
            await asyncio.sleep(min(pause_s, left_s))
            if state.is_short(self._running()) and not self._is_cut_off:
                await self._steer()

    # ------------------------------------------------------------ what is heard

    def _following(self) -> Iterator[Coroutine[None, None, None]]:
        for prefix in _FOLLOWED:
            yield follow(self._engine, prefix, self.hear)

    def hear(self, entry: KeyEntry) -> None:
        """A key as it is now. What no node writes is told, and changes nothing."""
        try:
            self._hear(entry)
        except RecordError as error:
            self._tell(str(error))

    def _hear(self, entry: KeyEntry) -> None:
        view, (kind, _, name) = self.parts.view, entry.key.partition(".")
        match f"{kind}.":
            case records.NODE_PREFIX:
                node = entry.value and NodeRecord.unpack(entry.key, entry.value)
                view.hear_node(name, node or None, self._now())
            case records.LEASE_PREFIX if name.isdecimal():
                lease = entry.value and LeaseRecord.unpack(entry.key, entry.value)
                view.hear_lease(int(name), lease or None, entry.revision)
            case records.DRAIN_PREFIX if entry.value is None:
                view.drained.discard(name)
            case records.DRAIN_PREFIX:
                view.drained.add(name)
            case _:
                self.parts.state.hear(entry)

    # ------------------------------------------------------------ what is done at each beat

    async def round(self) -> None:
        """Say that we are here, then do what follows from what was heard."""
        away_s, self._last_round = self._now() - self._last_round, self._now()
        if not await self.parts.presence.beat(self.parts.presence.record):
            await self._do_without_engine()
            return
        presence = self.parts.presence
        self.parts.view.hear_node(presence.name, presence.record, self._now())
        if self._is_cut_off or away_s > HOLD_S:
            await self._come_back(away_s)
        await self._settle_shards()
        await self._steer()
        await self.parts.state.end_if_over()

    async def _do_without_engine(self) -> None:
        """Our leases last for a while. Then others may have the shards, so their crawls begin no
        request any more: nobody has moved their deadline.
        """
        held = self.parts.held
        if self._now() - self.parts.presence.renewed_at < HOLD_S or self._is_cut_off:
            return
        self._is_cut_off = True
        self._tell(
            f"the cluster has not answered for {HOLD_S:g} s: "
            f"{counted(len(held), 'shard')} of this node stand still until it does"
        )

    async def _come_back(self, away_s: float) -> None:
        """Whatever was not heard is looked at before anything goes on."""
        view, held = self.parts.view, self.parts.held
        try:
            for entry in await self._engine.keys(records.LEASE_PREFIX):
                self.hear(entry)
        except EngineUnavailable:
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
            raise UsageError(f"no room for shard {shard} on this node's disk: {end.error}")
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
            await crawl.until(presence.renewed_at + HOLD_S)

    def _running(self) -> dict[int, int]:
        """The shards of this node that are crawled, with the generations of their leases."""
        leases = self.parts.view.generations(*self.parts.presence.me)
        return {one: leases[one] for one in self.parts.held.running if one in leases}


def _listed(shards: Collection[int]) -> str:
    numbers = ", ".join(map(str, sorted(shards)))
    return f"{'shard' if len(shards) == 1 else 'shards'} {numbers}"

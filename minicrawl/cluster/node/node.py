"""A node: announces itself, takes the shards that it should hold, and gives up the others.

Laws: each second a node decides again from what it has heard. It sends signs of life even while it
waits for something else. A node that cannot be heard stops its shards without being told, and later
continues those that are still its own. A node holds no shard of a crawl of another version. A value
that no node writes is reported and ignored. The node knows the moment up to which it has heard
everything: its own beat of that moment came back.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import replace

from minicrawl.cluster import records
from minicrawl.cluster.access import cancelled
from minicrawl.cluster.channels.outbox import exchange_interval_s
from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.following import follow, listen
from minicrawl.cluster.node.leases import BEAT_S, BEATS_PER_S, HOLD_S, ClusterView, plan
from minicrawl.cluster.node.presence import PATIENCE_S, NodePresence, Now, lease_clock
from minicrawl.cluster.node.supervisor import ShardSupervisor, Start, Tell
from minicrawl.cluster.records import TOLD_PREFIX, KeyEntry, NodeRecord, RecordError
from minicrawl.errors import UsageError
from minicrawl.wording import counted

END_S = 30.0
"""Time limit for the shards of a leaving node to end cleanly."""
_LOOKS_EVERY_S = 5.0
"""Interval at which stored facts are read: broadcasts bring newer ones, but may be lost."""


class Node:
    def __init__(
        self,
        engine: ClusterEngine,
        presence: NodePresence,
        state: CrawlState,
        start: Start,
        emit: Tell,
        leaving: asyncio.Event,
        now: Now = lease_clock,
    ) -> None:
        """Once `leaving` is set, the node gives up all shards and ends."""
        self._engine, self.presence, self.state = engine, presence, state
        self._tell, self._now = emit, now
        self.view = ClusterView(state.shards)
        self.held = ShardSupervisor(engine, self.view, presence.me, start)
        self._last_beat = now()
        self._until = now()  # deadline for requests to begin
        self._is_cut_off = False
        self._leaving = leaving
        self._tasks: list[asyncio.Task[None]] = []
        self.view.known_to = -math.inf

    async def run(self) -> None:
        """Run until the node is to leave and all shards are given up."""
        await self.presence.begin()
        jobs = (
            *(follow(self._engine, prefix, self.hear) for prefix in records.FOLLOWED),
            listen(self._engine, TOLD_PREFIX, self.state.hear),
            _every(_LOOKS_EVERY_S, self._read_stored_facts),
        )
        self._tasks = [asyncio.create_task(job) for job in jobs]
        leaves_at = None
        self._last_beat = self._now()  # announcing the node may have taken a while
        self._tasks.append(asyncio.create_task(_every(BEAT_S, self.beat)))
        try:
            await asyncio.sleep(BEAT_S)  # time to hear the others
            while len(self.held) or not (self._leaving.is_set() or self.state.state.continued_as):
                await self.decide()
                if self._leaving.is_set() and leaves_at is None:
                    leaves_at = self._now() + END_S
                if leaves_at is not None and self._now() > leaves_at:
                    break
                await self._wait()
        finally:
            await self.held.drop(self.held.numbers)
            await cancelled(self._tasks)
            await self.presence.leave()

    async def _wait(self) -> None:
        """Wait for the next decision. Shards that will soon have spent their grants get more."""
        ends_at = self._now() + BEAT_S
        pause_s = exchange_interval_s(0, self.state.shards, BEAT_S)
        while self._now() < ends_at:
            done, _ = await asyncio.wait(
                self._tasks, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:  # a node that hears nothing more must not continue
                task.result()
            if self.state.is_short(self._running()) and not self._is_cut_off:
                await self._steer()

    async def _read_stored_facts(self) -> None:
        """Read the stored facts: ended shards broadcast nothing."""
        with suppress(EngineUnavailable):
            for entry in await self._engine.keys(TOLD_PREFIX):
                self.state.hear(entry)

    def hear(self, entry: KeyEntry) -> None:
        """Process the current value of a key. Report and ignore a value that no node writes.

        Keys arrive in order: everything said before our own beat has been heard when it arrives.
        """
        try:
            heard = self.view.hear(entry, self._now())
        except RecordError as error:
            self._tell(str(error))
            return
        if isinstance(heard, NodeRecord):
            if heard.session == self.presence.record.session:
                self.view.known_to = max(self.view.known_to, heard.beat / BEATS_PER_S)
        elif not heard:
            self.state.hear(entry)

    async def beat(self) -> None:
        """Send a sign of life. If it is confirmed, extend the deadline of our crawls."""
        presence = self.presence
        away_s, self._last_beat = self._now() - self._last_beat, self._now()
        if not await presence.beat():
            if self._now() - presence.renewed_at >= HOLD_S and not self._is_cut_off:
                # Other nodes may soon take our shards. The crawls need no message: they begin no
                # request after their deadline, which nobody has extended.
                self._is_cut_off = True
                why = presence.refusal or f"the cluster has not answered for {HOLD_S:g} s"
                ends = "there is room" if presence.refusal else "it does"
                shards = counted(len(self.held), "shard")
                self._tell(f"{why}: {shards} of this node paused until {ends}")
            return
        self.view.hear_node(presence.name, presence.record, self._now())
        if self._is_cut_off or away_s > HOLD_S:
            await self._resume(away_s)
        if not self._is_cut_off:
            self._until = presence.renewed_at + HOLD_S
            for crawl in self.held.running.values():
                await crawl.until(self._until)

    async def decide(self) -> None:
        if self._is_cut_off:
            return
        await self._settle_shards()
        await self._steer()
        await self.state.end_if_over()

    async def _resume(self, away_s: float) -> None:
        """Read the leases again before any crawl continues, and drop lost shards."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                for entry in await self._engine.keys(records.LEASE_PREFIX):
                    self.hear(entry)
        except (EngineUnavailable, TimeoutError):
            self._is_cut_off = True
            return
        # All nodes count as heard just now, since for a while none could be heard.
        now, nodes = self._now(), self.view.nodes.items()
        self.view.nodes = {name: node._replace(heard_at=now) for name, node in nodes}
        lost = [
            shard for shard in self.held.numbers if not self.view.is_mine(shard, *self.presence.me)
        ]
        await self.held.drop(lost)
        why = "the cluster answers again" if self._is_cut_off else f"paused for {away_s:.0f} s"
        fenced = f"; lost the lease on {_listed(lost)} to other nodes" if lost else ""
        self._tell(f"{why}{fenced}")
        self._is_cut_off = False

    async def _settle_shards(self) -> None:
        held, state, now = self.held, self.state, self._now()
        todo = plan(self.view, self.presence.me, held.numbers - held.taking, now)
        if todo.lost:
            self._tell(f"lost the lease on {_listed(todo.lost)} to other nodes")
            await held.drop(todo.lost)
        if self._leaving.is_set() or state.state.is_over:
            for shard in held.numbers:
                held.give_up(shard)
            return
        for shard in todo.give_up:
            held.give_up(shard)
        for shard in todo.take:
            held.take(shard)
        for shard, end in held.look_after(now):
            room, why = len(held.running), f"shard {shard} ended: {end.reason}"
            if end.is_fenced:
                self._tell(f"lost the lease on shard {shard}: another node writes its log")
                await held.drop([shard])
            elif not end.is_for_others:
                self._tell(why)
            elif not room:
                raise UsageError(why)
            else:
                self.presence.record = replace(self.presence.record, room=room)
                most = counted(room, "shard")
                self._tell(f"{why}; the node holds at most {most} until it is restarted")
                held.give_up(shard)

    async def _steer(self) -> None:
        running = self._running()
        crawls = self.held.running
        await self.state.share_out(running, lambda shard: crawls[shard].yield_pages())
        for shard, crawl in self.held.running.items():
            await crawl.steer(self.state.orders(shard, running.get(shard, 0)))
            await crawl.until(self._until)

    def _running(self) -> dict[int, int]:
        """Return the crawled shards of this node, with the generations of their leases."""
        leases = self.view.generations(*self.presence.me)
        return {shard: leases[shard] for shard in self.held.running if shard in leases}


async def _every(interval_s: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work again and again, for ever."""
    while True:
        await work()
        await asyncio.sleep(interval_s)


def _listed(shards: Collection[int]) -> str:
    numbers = ", ".join(map(str, sorted(shards)))
    return f"{'shard' if len(shards) == 1 else 'shards'} {numbers}"

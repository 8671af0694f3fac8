"""A node: it says that it is there, takes the shards that it should hold, and gives up the others.

Laws: what a node does is decided anew each second from what it has heard. It says that it is there
whatever else it waits for. A node that could not be heard stops its shards by itself, and goes on
with those that are still its own. It says what happened to it in one line.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from minicrawl.cluster import terms as records
from minicrawl.cluster.channels import BatchError, rhythm_s
from minicrawl.cluster.engine import (
    Broadcast,
    ClusterEngine,
    EngineError,
    EngineFull,
    EngineUnavailable,
    KeyEntry,
    KeyTaken,
    KeyValues,
)
from minicrawl.cluster.node.held import (
    BEAT_S,
    BEATS,
    HOLD_S,
    KEYS,
    LEASE_S,
    ClusterView,
    HeldShards,
    Tell,
    cancelled,
    follow,
    listen,
    plan,
)
from minicrawl.cluster.node.shards import ShardEnd, ShardNeed, ShardOrders, SharedBudget, Yield
from minicrawl.cluster.shard import ShardFacts, facts_in, fetched_together, has_ended
from minicrawl.cluster.terms import (
    GRANTS_KEY,
    NODE_PREFIX,
    REBALANCE_KEY,
    STATE_KEY,
    TERMS_KEY,
    TOLD_PREFIX,
    WORKERS_PREFIX,
    BeatRecord,
    Doing,
    LeaseRecord,
    NodeRecord,
    RecordError,
    StateRecord,
    TermsRecord,
    WishRecord,
)
from minicrawl.errors import UsageError
from minicrawl.wording import counted

# ================================================================ crawl state
#
# What a node knows of the crawl of the whole cluster: what it does, what its shards tell, and how
# its budget is shared out.
#
# Laws: the crawl ends when its budget is fetched or nothing is left anywhere, whichever node sees
# it first. A shard gives pages of the budget back only after it can fetch them no more.


class CrawlState:
    """What is known of the crawl."""

    def __init__(self, engine: ClusterEngine, terms: TermsRecord, workers: int = 0) -> None:
        """`workers` are those that each shard of this node has, until somebody wishes otherwise."""
        self._engine, self.shards, self._usual_workers = engine, terms.shards, workers
        self.hear_terms(terms)
        self.state = StateRecord(doing=Doing.RUNNING, run=0, reason="")
        self.told: dict[int, ShardFacts] = {}
        self.rebalances = 0
        self._state_revision = 0
        self._grants = SharedBudget(engine, terms.shards)
        self._workers: dict[str, int] = {}

    # ------------------------------------------------------------ what is heard

    def hear(self, entry: KeyEntry) -> None:
        """A key of the crawl as it is now."""
        key, content = entry.key, entry.value
        if key.startswith(WORKERS_PREFIX):
            self._hear_workers(key.removeprefix(WORKERS_PREFIX), entry)
        elif content is None:
            return
        elif key == STATE_KEY:
            self._hear_state(StateRecord.unpack(key, content), entry.revision)
        elif key == TERMS_KEY:
            self.hear_terms(TermsRecord.unpack(key, content))
        elif key == GRANTS_KEY:
            self._grants.hear(entry)
        elif key == REBALANCE_KEY:
            self.rebalances = WishRecord.unpack(key, content).value
        elif key.startswith(TOLD_PREFIX):
            self.hear_facts(key, content)

    @property
    def told_prefix(self) -> str:
        """Of the keys of what shards tell in this run."""
        return f"{TOLD_PREFIX}{self.state.run}."

    def hear_terms(self, terms: TermsRecord) -> None:
        """The budget may change while the crawl goes on."""
        self.terms = terms
        pages = terms.settings.get("pages")
        self.budget = pages if isinstance(pages, int) else None

    def _hear_state(self, state: StateRecord, revision: int) -> None:
        if revision <= self._state_revision:
            return
        if state.run != self.state.run:
            self.told.clear()
        self.state, self._state_revision = state, revision

    def _hear_workers(self, node: str, entry: KeyEntry) -> None:
        if entry.value is None:
            self._workers.pop(node, None)
        else:
            self._workers[node] = WishRecord.unpack(entry.key, entry.value).value

    def hear_facts(self, key: str, content: bytes) -> None:
        """What a shard tells of itself."""
        run, _, _ = key.removeprefix(TOLD_PREFIX).partition(".")
        try:
            facts = facts_in(content)
        except BatchError:
            return  # older facts do no harm
        if run == str(self.state.run) and 0 <= facts.shard < self.shards:
            self.told[facts.shard] = facts

    # ------------------------------------------------------------ what follows

    def orders(self, shard: int, generation: int, node: str) -> ShardOrders:
        """What the crawl of a shard, which this node has in this generation, should do."""
        pages = None if self.budget is None else self._grants.granted(shard, generation)
        is_paused = self.state.doing == Doing.PAUSED or pages == 0
        return ShardOrders(paused=is_paused, pages=pages, workers=self.workers_of(node))

    def workers_of(self, node: str) -> int:
        """The fetching processes that each shard of this node, which has this name, should have."""
        return self._workers.get(node, self._usual_workers)

    @property
    def end(self) -> str:
        """Why the crawl is over; empty if it goes on."""
        if self.budget is not None and fetched_together(self.told) >= self.budget:
            return "budget spent"
        return "nothing left to fetch" if has_ended(self.told, self.shards) else ""

    async def end_if_over(self) -> None:
        """Say to all that the crawl is over, if it is and nobody has said so."""
        if (reason := self.end) and not self.state.is_over:
            await self.change(Doing.ENDED, reason)

    async def change(self, doing: Doing, reason: str = "") -> None:
        """Say to all what the crawl does from now on."""
        state = StateRecord(doing=doing, run=self.state.run, reason=reason)
        try:
            revision = await self._engine.update(STATE_KEY, state.pack(), self._state_revision)
        except (KeyTaken, EngineUnavailable):
            return  # somebody has said something else: that comes, and counts
        self._hear_state(state, revision)

    # ------------------------------------------------------------ the budget

    async def share_out(self, leases: Mapping[int, int], give_back: Yield) -> None:
        """Grant pages to these shards, with the generations of their leases, and take back what
        they do not need.
        """
        if self.budget is None:
            return
        is_wanted = any(facts.wants_pages for facts in self.told.values())
        needs = self._needs()
        await self._grants.share_out(self.budget, leases, needs, give_back, is_wanted=is_wanted)

    def is_short(self, leases: Mapping[int, int]) -> bool:
        """Whether one of these shards will soon have read all that it may."""
        return self.budget is not None and self._grants.is_short(leases, self._needs())

    def _needs(self) -> dict[int, ShardNeed]:
        return {shard: _need(facts) for shard, facts in self.told.items()}


def _need(facts: ShardFacts) -> ShardNeed:
    waiting = facts.waiting or int(facts.wants_pages)
    return ShardNeed(facts.fetched + facts.under_way, 0 if facts.is_idle else waiting, facts.pace)


def totals(told: Mapping[int, ShardFacts]) -> dict[str, float]:
    """Sums over all shards, for people."""
    return {
        "fetched": fetched_together(told),
        "waiting": sum(facts.waiting for facts in told.values()),
        "under_way": sum(facts.under_way for facts in told.values()),
        "pace": sum(facts.pace for facts in told.values()),
    }


# ================================================================ presence
#
# How a node says that it is there: its record, written again at each beat, in two places.
#
# Laws: a name belongs to one process at a time; a second one is refused. `renewed_at` is never
# later than what the others have heard: it is the moment before the beat was sent. One place is
# enough: a server that ends leaves those whose keys it led without answers for up to 9 seconds.

PATIENCE_S = 3.0
"""For the answer to a beat. A late one counts from when it was sent."""
_BEATS_KEPT = 64

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]


def lease_clock() -> float:
    """Seconds that go on while the process or the machine sleeps; the same for a node and its
    children.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class BeatAnswers:
    """What came of the beats of a node, in all places together."""

    def __init__(self, now: float) -> None:
        self.count = 0
        self.renewed_at = now
        self.refusal = ""
        """What servers without room have said to the last beat; else empty."""

    def heard(self, began: float) -> None:
        """A beat that was sent at this moment is known."""
        self.count += 1
        self.renewed_at = max(self.renewed_at, began)
        self.refusal = ""


class NodePresence:
    """The record of one node."""

    def __init__(
        self, engine: KeyValues, beats: KeyValues, name: str, record: NodeRecord, now: Now
    ) -> None:
        self._engine, self._beats, self._now = engine, beats, now
        self.name, self.record = name, record
        self._revision: int | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._began: dict[int, float] = {}
        self._answers = BeatAnswers(now())

    @property
    def me(self) -> tuple[str, str]:
        """The name and the session."""
        return self.name, self.record.session

    @property
    def renewed_at(self) -> float:
        """When the last beat that is known was sent."""
        return self._answers.renewed_at

    @property
    def refusal(self) -> str:
        """What servers without room have said to the last beat; else empty."""
        return self._answers.refusal

    @property
    def _key(self) -> str:
        return f"{NODE_PREFIX}{self.name}"

    def began(self, session: str, beat: int) -> float | None:
        """When this beat was sent, if it is one of our last ones."""
        return self._began.get(beat) if session == self.record.session else None

    async def begin(self, sleep: Sleep = asyncio.sleep) -> None:
        """Announce the node. A name whose record still changes belongs to another process."""
        before = await self._engine.get(self._key)
        if before is not None and before.value is not None:
            await self._wait_until_silent(before, sleep)
        await self.beat(self.record)

    async def _wait_until_silent(self, before: KeyEntry, sleep: Sleep) -> None:
        """It may change once: a server that has just begun to lead may have answered first."""
        last, ends_at, may_be_old = before.revision, self._now() + LEASE_S, True
        while self._now() < ends_at:
            await sleep(BEAT_S)
            after = await self._engine.get(self._key)
            if after is None or after.value is None:
                return
            if after.revision == last:
                continue
            if not may_be_old:
                raise UsageError(
                    f"a node named {self.name} is in this cluster already: give another --name"
                )
            last, ends_at, may_be_old = after.revision, self._now() + LEASE_S, False
        self._revision = last

    async def beat(self, record: NodeRecord) -> bool:
        """Say what the node is now; whether it was heard in some place since the last beat.

        Where the last beat has no answer yet, no other one is sent.
        """
        began, before = self._now(), self._answers.count
        for task in self._under_way.values():
            if task.done():
                task.result()
        self.record = replace(record, beat=self.record.beat + 1)
        self._began[self.record.beat] = began
        self._began.pop(self.record.beat - _BEATS_KEPT, None)
        self._send(KEYS, self._write(), began)
        self._send(BEATS, self._write_beat(), began)
        waiting = set(self._under_way.values())
        while waiting and self._answers.count == before:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        return self._answers.count > before

    def _send(self, place: str, write: Coroutine[None, None, None], began: float) -> None:
        sent = self._under_way.get(place)
        if sent is None or sent.done():
            self._under_way[place] = asyncio.create_task(self._renew(write, began))
        else:
            write.close()

    async def _renew(self, write: Coroutine[None, None, None], began: float) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await write
        except EngineFull as error:
            self._answers.refusal = str(error)
            return
        except (EngineUnavailable, KeyTaken, TimeoutError):
            return  # nobody has heard it, as far as is known; or an earlier beat came in between
        self._answers.heard(began)

    async def _write_beat(self) -> None:
        beat = BeatRecord(session=self.record.session, beat=self.record.beat)
        await self._beats.put(self._key, beat.pack())

    async def _write(self) -> None:
        content = self.record.pack()
        try:
            if self._revision is None:
                self._revision = await self._engine.create(self._key, content)
            else:
                self._revision = await self._engine.update(self._key, content, self._revision)
        except KeyTaken:
            self._revision = await self._own_revision()
            if self._revision is not None:
                self._revision = await self._engine.update(self._key, content, self._revision)
            else:
                self._revision = await self._engine.create(self._key, content)

    async def _own_revision(self) -> int | None:
        """What we wrote without hearing that it was done has changed the revision.

        A revision that is not later than ours was written before, whoever did: a new leader may
        not have got there yet.
        """
        found = await self._engine.get(self._key)
        if found is None or found.value is None:
            return None
        is_news = self._revision is None or found.revision > self._revision
        session = NodeRecord.unpack(self._key, found.value).session
        if is_news and session != self.record.session:
            raise UsageError(f"another node named {self.name} came: give another --name")
        return found.revision

    async def leave(self) -> None:
        """Say goodbye, if the engine can be reached."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._engine.delete(self._key)
                await self._beats.delete(self._key)
        except (EngineUnavailable, TimeoutError):
            return  # the record falls silent


# ================================================================ hearing
#
# What a node hears of the others: it follows the keys, the beats and what shards broadcast.
#
# Laws: what no node writes is told, and changes nothing. The node knows up to which moment it has
# heard all that was said, in each place where nodes say that they are there.

_FOLLOWED = (
    *(records.NODE_PREFIX, records.LEASE_PREFIX, records.DRAIN_PREFIX),
    *(records.CRAWL_PREFIX, records.WORKERS_PREFIX),
)
_LOOKS_EVERY_S = 5.0
"""At the facts that are kept: broadcasts bring newer ones, but some may be lost."""
_APART_S = 5.0
"""How often it is looked whether different servers lead the keys and the beats."""


class NodeHearing:
    """The ears of one node."""

    def __init__(
        self,
        engine: ClusterEngine,
        presence: NodePresence,
        state: CrawlState,
        view: ClusterView,
        tell: Tell,
        now: Now,
    ) -> None:
        self._engine, self._presence = engine, presence
        self._state, self._view = state, view
        self._tell, self._now = tell, now
        self.knows_more = asyncio.Event()
        """Set when all that was said up to a later moment is known."""
        view.known_to = dict.fromkeys((KEYS, BEATS), -math.inf)

    def jobs(self) -> Iterator[Coroutine[None, None, None]]:
        """What is done as long as the node runs."""
        for prefix in _FOLLOWED:
            yield follow(self._engine, prefix, self.hear)
        yield follow(self._engine.beats, records.NODE_PREFIX, self.hear_beat)
        yield listen(self._engine, records.TOLD_PREFIX, self._hear_facts)
        yield self._look_at_kept_facts()
        yield self._lead_apart()

    def _hear_facts(self, said: Broadcast) -> None:
        self._state.hear_facts(said.topic, said.content)

    async def _look_at_kept_facts(self) -> None:
        """Now and then, for ever: shards that have ended broadcast nothing."""
        while True:
            with suppress(EngineUnavailable):
                for entry in await self._engine.keys(self._state.told_prefix):
                    self._state.hear(entry)
            await asyncio.sleep(_LOOKS_EVERY_S)

    def hear(self, entry: KeyEntry) -> None:
        """A key as it is now. What no node writes is told, and changes nothing."""
        try:
            self._hear(entry)
        except RecordError as error:
            self._tell(str(error))

    def hear_beat(self, entry: KeyEntry) -> None:
        """A key among the beats as it is now."""
        if entry.value is None:
            return
        try:
            beat = BeatRecord.unpack(entry.key, entry.value)
        except RecordError as error:
            self._tell(str(error))
            return
        name = entry.key.removeprefix(records.NODE_PREFIX)
        self._view.hear_beat(name, beat, self._now())
        self._hear_own(BEATS, name, beat)

    def _hear_own(self, place: str, name: str, said: BeatRecord | NodeRecord) -> None:
        """Keys come in their order: before our own beat came all that was said before it."""
        presence = self._presence
        began = presence.began(said.session, said.beat) if name == presence.name else None
        if began is not None and self._view.know_all_to(place, began):
            self.knows_more.set()

    def _hear(self, entry: KeyEntry) -> None:
        view, (kind, _, name) = self._view, entry.key.partition(".")
        match f"{kind}.":
            case records.NODE_PREFIX:
                node = NodeRecord.unpack(entry.key, entry.value) if entry.value else None
                view.hear_node(name, node, self._now())
                if node is not None:
                    self._hear_own(KEYS, name, node)
            case records.LEASE_PREFIX if name.isdecimal():
                lease = entry.value and LeaseRecord.unpack(entry.key, entry.value)
                view.hear_lease(int(name), lease or None, entry.revision)
            case records.DRAIN_PREFIX if entry.value is None:
                view.drained.discard(name)
            case records.DRAIN_PREFIX:
                view.drained.add(name)
            case _:
                self._state.hear(entry)

    async def _lead_apart(self) -> None:
        """See that no server leads both places in which nodes say that they are there, for ever.

        The first of the live nodes does that for all.
        """
        while True:
            await asyncio.sleep(_APART_S)
            if self._presence.name == min(self._view.live(self._now()), default=""):
                with suppress(EngineError):  # the next look may do better
                    await self._engine.beats.lead_apart()


# ================================================================ node

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

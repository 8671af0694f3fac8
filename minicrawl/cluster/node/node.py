"""A node: announces itself, takes the shards that it should hold, and gives up the others.

Laws: each second a node decides again from what it has heard. It sends signs of life even while it
waits for something else. A node that cannot be heard stops its shards without being told, and later
continues those that are still its own. Two nodes never share a folder. A node holds no shard of a
crawl of another version. A value that no node writes is reported and ignored. For each place (see
`leases`) the node knows the moment up to which it has heard everything.
"""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import platform
import shutil
from collections.abc import Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from minicrawl import __version__
from minicrawl.cluster import records
from minicrawl.cluster.assignment import (
    ShardNeed,
    fetched_together,
    gathered_together,
    has_ended,
)
from minicrawl.cluster.channels import exchange_interval_s
from minicrawl.cluster.engine import (
    ClusterAccess,
    ClusterEngine,
    EngineError,
    EngineUnavailable,
    KeyTaken,
    cancelled,
    opened,
)
from minicrawl.cluster.node.leases import (
    BEAT_S,
    BEATS,
    HOLD_S,
    KEYS,
    PATIENCE_S,
    ClusterView,
    NodePresence,
    Now,
    SharedBudget,
    YieldPages,
    follow,
    lease_clock,
    listen,
    plan,
)
from minicrawl.cluster.node.supervisor import (
    ShardEnd,
    ShardJob,
    ShardOrders,
    ShardProcess,
    ShardSupervisor,
    Start,
    Tell,
    WarmChildren,
)
from minicrawl.cluster.overview import CrawlView
from minicrawl.cluster.records import (
    GRANTS_KEY,
    STATE_KEY,
    TOLD_PREFIX,
    BeatRecord,
    CrawlActivity,
    KeyEntry,
    NodeRecord,
    RecordError,
)
from minicrawl.cluster.terms import (
    TermsRecord,
    check_terms,
    effective_settings,
    wait_for_terms,
)
from minicrawl.crawl.events import Reason
from minicrawl.crawl.progress import most_pages
from minicrawl.errors import UsageError
from minicrawl.wording import counted

# ================================================================ crawl state
#
# A node's knowledge of the whole crawl: its state, the facts of shards, and the grants of pages.
#
# Laws: the crawl ends when its budget is fetched or no shard has anything left, whichever node
# notices first. A shard returns granted pages only after it can no longer fetch them.


NOTHING_LEFT = "nothing left to fetch"


class CrawlState(CrawlView):
    """A node's knowledge of the crawl, and what it concludes for all shards."""

    def __init__(self, engine: ClusterEngine, terms: TermsRecord, workers: int = 0) -> None:
        """`workers` is the number for each shard of a node, unless a user sets another."""
        super().__init__(terms)
        self._engine, self.shards, self._usual_workers = engine, terms.shards, workers
        self._grants = SharedBudget(engine, terms.shards)
        self._gathered = 0.0, 0.0  # gathered shares of importance at the last two looks

    def hear(self, entry: KeyEntry) -> None:
        """Process the current value of a key of the crawl. Raises RecordError."""
        if entry.key == GRANTS_KEY:
            self._grants.hear(entry)
        else:
            super().hear(entry)

    @property
    def budget(self) -> int | None:
        """Limit of pages fetched by all shards in all runs."""
        return most_pages(self.limits, self.state.fetched)

    # ------------------------------------------------------------ results

    def orders(self, shard: int, generation: int, node: str) -> ShardOrders:
        """Return orders for the crawl of a shard that `node` holds under this lease."""
        pages = None if self.budget is None else self._grants.granted(shard, generation)
        is_paused = self.state.doing == CrawlActivity.PAUSED or pages == 0
        return ShardOrders(paused=is_paused, pages=pages, workers=self.workers_of(node))

    def workers_of(self, node: str) -> int:
        """Return the number of fetching processes for each shard of the node."""
        return self.workers.get(node, self._usual_workers)

    @property
    def end(self) -> str:
        """Reason why the crawl is over; empty while it runs."""
        told, limits = self.told, self.limits
        spent = (
            (fetched_together(told), self.budget),
            (max((facts.age_s for facts in told.values()), default=0.0), limits.seconds),
            (sum(facts.wire_bytes for facts in told.values()), limits.body_bytes),
        )
        if any(limit is not None and number >= limit for number, limit in spent):
            return "budget spent"
        # One look may fall between the moments when cash leaves a shard and when the page that it
        # is for becomes known in another.
        if isinstance(limits.importance, float) and min(self._gathered) >= limits.importance:
            return str(Reason.GATHERED)
        return NOTHING_LEFT if has_ended(told, self.shards) else ""

    async def end_if_over(self) -> None:
        """Announce that the crawl is over, if it is and nobody has announced it."""
        self._gathered = self._gathered[1], gathered_together(self.told, self.shards)
        if (reason := self.end) and not self.state.is_over:
            await self.change(CrawlActivity.ENDED, reason)

    async def change(self, doing: CrawlActivity, reason: str = "") -> None:
        fetched = fetched_together(self.told)
        state = replace(self.state, doing=doing, reason=reason, ended_with=fetched)
        try:
            revision = await self._engine.update(STATE_KEY, state.pack(), self._revision)
        except (KeyTaken, EngineUnavailable):
            return  # another node has announced a state, which will arrive here and counts
        self.hear_state(state, revision)

    # ------------------------------------------------------------ the budget

    async def share_out(self, leases: Mapping[int, int], give_back: YieldPages) -> None:
        """Grant pages to these shards, and take back pages that they do not need.

        `leases` has the generation of each shard's lease.
        """
        if self.budget is None:
            return
        is_wanted = any(facts.wants_pages for facts in self.told.values())
        needs = self._needs()
        await self._grants.share_out(self.budget, leases, needs, give_back, is_wanted=is_wanted)

    def is_short(self, leases: Mapping[int, int]) -> bool:
        """Return whether one of these shards will soon have spent its grant."""
        return self.budget is not None and self._grants.is_short(leases, self._needs())

    def _needs(self) -> dict[int, ShardNeed]:
        return {
            shard: ShardNeed(
                facts.fetched + facts.under_way,
                0 if facts.is_idle else facts.waiting or int(facts.wants_pages),
                facts.pace,
            )
            for shard, facts in self.told.items()
        }


# ================================================================ node

END_S = 30.0
"""Time limit for the shards of a leaving node to end cleanly."""
_LONGEST_S = 1.5 * BEAT_S
"""Longest time between two decisions."""


_LOOKS_EVERY_S = 5.0
"""Interval at which stored facts are read: broadcasts bring newer ones, but may be lost."""
_SEPARATE_EVERY_S = 5.0
"""Interval at which a node checks that different servers lead the keys and the beats."""


class Node:
    """A node of a cluster."""

    def __init__(
        self,
        engine: ClusterEngine,
        presence: NodePresence,
        state: CrawlState,
        start: Start,
        tell: Tell,
        leaving: asyncio.Event,
        now: Now = lease_clock,
    ) -> None:
        """Once `leaving` is set, the node gives up all shards and ends."""
        self._engine, self.presence, self.state = engine, presence, state
        self._tell, self._now = tell, now
        self.view = ClusterView(state.shards)
        self.held = ShardSupervisor(engine, self.view, presence.me, start, tell)
        self._last_beat = now()
        self._until = now()  # deadline for requests to begin
        self._is_cut_off = False
        self._leaving = leaving
        self._following: list[asyncio.Task[None]] = []
        self._knows_more = asyncio.Event()  # everything said up to a later moment is known
        self.view.known_to = dict.fromkeys((KEYS, BEATS), -math.inf)

    async def run(self) -> None:
        """Run until the node is to leave and all shards are given up."""
        await self.presence.begin()
        self._following = [asyncio.create_task(job) for job in self._jobs()]
        try:
            await self._work()
        finally:
            await cancelled(self._following)

    async def _work(self) -> None:
        leaves_at = None
        self._last_beat = self._now()  # announcing the node may have taken a while
        beating = asyncio.create_task(self._beat_for_ever())
        try:
            await asyncio.sleep(BEAT_S)  # time to hear the others
            while not (self._leaving.is_set() and not len(self.held)):
                await self.decide()
                if self._leaving.is_set() and leaves_at is None:
                    leaves_at = self._now() + END_S
                if leaves_at is not None and self._now() > leaves_at:
                    break
                await self._wait(beating)
        finally:
            await self.held.drop(self.held.numbers)
            await cancelled((beating,))
            await self.presence.leave()

    async def _wait(self, beating: asyncio.Task[None]) -> None:
        """Wait until everything said before our last beat is known, and decisions may differ.

        Meanwhile shards that will soon have spent their grants get more.
        """
        ends_at = self._now() + _LONGEST_S
        pause_s = exchange_interval_s(0, self.state.shards, BEAT_S)
        self._knows_more.clear()
        knowing = asyncio.create_task(self._knows_more.wait())
        until = {beating, knowing, *self._following}
        while (left_s := ends_at - self._now()) > 0:
            pause = min(pause_s, left_s)
            done, _ = await asyncio.wait(until, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if done:
                break
            if self.state.is_short(self._running()) and not self._is_cut_off:
                await self._steer()
        knowing.cancel()
        for task in (beating, *self._following):
            if task.done():  # a node that hears nothing more must not continue
                task.result()
                raise EngineError("this node receives no messages of the cluster: restart it")

    async def _beat_for_ever(self) -> None:
        while True:
            await self.beat()
            await asyncio.sleep(BEAT_S)

    # ------------------------------------------------------------ hearing

    def _jobs(self) -> Iterator[Coroutine[None, None, None]]:
        """Yield the jobs that hear the others, as long as the node runs."""
        for prefix in records.FOLLOWED:
            yield follow(self._engine, prefix, self.hear)
        yield follow(self._engine.beats, records.NODE_PREFIX, self.hear_beat)
        yield listen(self._engine, records.TOLD_PREFIX, self.state.hear)
        yield self._read_stored_facts()
        yield self._separate_leaders()

    async def _read_stored_facts(self) -> None:
        """Read the stored facts from time to time, for ever: ended shards broadcast nothing."""
        while True:
            with suppress(EngineUnavailable):
                for entry in await self._engine.keys(f"{TOLD_PREFIX}{self.state.state.run}."):
                    self.state.hear(entry)
            await asyncio.sleep(_LOOKS_EVERY_S)

    def hear(self, entry: KeyEntry) -> None:
        """Process the current value of a key. Report and ignore a value that no node writes."""
        with self._reporting():
            heard = self.view.hear(entry, self._now())
            if isinstance(heard, NodeRecord):
                self._hear_own(KEYS, entry, heard)
            elif not heard:
                self.state.hear(entry)

    def hear_beat(self, entry: KeyEntry) -> None:
        """Process the current value of a beat."""
        with self._reporting():
            if (beat := BeatRecord.of(entry)) is not None:
                self.view.hear_beat(_name_in(entry), beat, self._now())
                self._hear_own(BEATS, entry, beat)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except RecordError as error:
            self._tell(str(error))

    def _hear_own(self, place: str, entry: KeyEntry, said: BeatRecord | NodeRecord) -> None:
        """Note our own beat when it arrives.

        Keys arrive in order: everything said before our beat has been heard.
        """
        began = self.presence.began(said) if _name_in(entry) == self.presence.name else None
        if began is not None and self.view.know_all_to(place, began):
            self._knows_more.set()

    async def _separate_leaders(self) -> None:
        """Keep one server from leading both places, for ever.

        Only the first live node by name does this, for the whole cluster.
        """
        while True:
            await asyncio.sleep(_SEPARATE_EVERY_S)
            if self.presence.name == min(self.view.live(self._now()), default=""):
                with suppress(EngineError):  # the next round may succeed
                    await self._engine.beats.separate_leaders()

    # ------------------------------------------------------------ periodic work

    async def beat(self) -> None:
        """Send a sign of life. If it is confirmed, extend the deadline of our crawls."""
        presence = self.presence
        away_s, self._last_beat = self._now() - self._last_beat, self._now()
        if not await presence.beat(presence.record):
            self._note_cut_off()
            if not presence.refusal:  # two servers lead the two places, and neither answers
                await self._engine.beats.switch_server()
            return
        self.view.hear_node(presence.name, presence.record, self._now())
        if self._is_cut_off or away_s > HOLD_S:
            await self._resume(away_s)
        if not self._is_cut_off:
            self._until = presence.renewed_at + HOLD_S
            for crawl in self.held.running.values():
                await crawl.until(self._until)

    async def decide(self) -> None:
        """Act on what the node has heard."""
        if self._is_cut_off:
            return
        await self._settle_shards()
        await self._steer()
        await self.state.end_if_over()

    def _note_cut_off(self) -> None:
        """Note that we are cut off, if no beat has been confirmed for `HOLD_S`.

        Other nodes may soon take our shards. The crawls need no message: they begin no request
        after their deadline, which nobody has extended.
        """
        presence = self.presence
        if self._now() - presence.renewed_at < HOLD_S or self._is_cut_off:
            return
        self._is_cut_off = True
        why = presence.refusal or f"the cluster has not answered for {HOLD_S:g} s"
        ends = "there is room" if presence.refusal else "it does"
        shards = counted(len(self.held), "shard")
        self._tell(f"{why}: {shards} of this node paused until {ends}")

    async def _resume(self, away_s: float) -> None:
        """Read the leases again before any crawl continues, and drop lost shards."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                for entry in await self._engine.keys(records.LEASE_PREFIX):
                    self.hear(entry)
        except (EngineUnavailable, TimeoutError):
            self._is_cut_off = True
            return
        self.view.renew_all(self._now())
        lost = [one for one in self.held.numbers if not self.view.is_mine(one, *self.presence.me)]
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
                held.give_up(shard, is_complete=state.state.reason == NOTHING_LEFT)
            return
        for shard in todo.give_up:
            held.give_up(shard)
        for shard in todo.take:
            held.take(shard)
        for text, shards in held.warnings().items():
            self._tell(f"{_listed(shards)}: {text}")
        for shard, end in held.look_after(now):
            await self._handle_end(shard, end)

    async def _handle_end(self, shard: int, end: ShardEnd) -> None:
        if end.is_fenced:
            self._tell(f"lost the lease on shard {shard}: another node writes its log")
            await self.held.drop([shard])
        elif end.has_no_room:
            self._lower_room(shard, end)
        else:
            self._tell(f"shard {shard} ended: {end.error or end.reason}")

    def _lower_room(self, shard: int, end: ShardEnd) -> None:
        """Lower the room of this node: its disk is full, but other nodes may have space."""
        presence, room = self.presence, len(self.held.running)
        if not room:
            raise UsageError(
                f"no room for shard {shard} on this node's disk: {end.error}; "
                "free some space, or give a --folder on another disk"
            )
        presence.record = replace(presence.record, room=room)
        self._tell(
            f"no room for shard {shard} on this node's disk: the node holds at most "
            f"{counted(room, 'shard')} until it is restarted"
        )
        self.held.give_up(shard)

    async def _steer(self) -> None:
        running = self._running()
        await self.state.share_out(running, self.held.yield_pages)
        for shard, crawl in self.held.running.items():
            orders = self.state.orders(shard, running.get(shard, 0), self.presence.name)
            await crawl.steer(orders)
            await crawl.until(self._until)

    def _running(self) -> dict[int, int]:
        """Return the crawled shards of this node, with the generations of their leases."""
        leases = self.view.generations(*self.presence.me)
        return {one: leases[one] for one in self.held.running if one in leases}


def _name_in(entry: KeyEntry) -> str:
    return entry.key.removeprefix(records.NODE_PREFIX)


def _listed(shards: Collection[int]) -> str:
    numbers = ", ".join(map(str, sorted(shards)))
    return f"{'shard' if len(shards) == 1 else 'shards'} {numbers}"


# ================================================================ running

LEAST_DISK = 50_000_000
"""Least free disk space in bytes: a new shard takes some megabytes, and SQLite some to write."""
_LOCK = "node.lock"
_NOTE_AFTER_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """Name of a node, and the folder of its shards."""

    name: str
    folder: Path
    most_shards: int = 1 << 16
    workers: int = 0  # per shard, until a user sets another number


def default_node_name(ending: str = "") -> str:
    """Return the machine's name and an ending, reduced to the characters that keys allow."""
    name = platform.node().partition(".")[0]
    allowed = "".join(sign if sign.isalnum() else "-" for sign in name)
    return (allowed[: 32 - len(ending)] or "node") + ending


async def run_node(
    access: ClusterAccess,
    place: NodeConfig,
    own_settings: Mapping[str, object],
    tell: Tell,
    stopped: asyncio.Event,
) -> None:
    """Run a node until it is stopped. If there is no crawl yet, wait for one."""
    with _locked(place.folder):
        check_disk(place.folder)
        async with opened(access) as engine:
            terms = await _terms_or_stop(engine, stopped, tell)
            if terms is not None:
                check_terms(terms, own_settings)
                state = CrawlState(engine, terms, place.workers)
                crawls = ShardCrawls(access, place, own_settings, state, tell)
                presence = NodePresence(
                    engine, engine.beats, place.name, _record_of(place), lease_clock
                )
                try:
                    await Node(engine, presence, state, crawls.start, tell, stopped).run()
                finally:
                    await crawls.close()


def _record_of(place: NodeConfig) -> NodeRecord:
    return NodeRecord(
        session=token_hex(8),
        beat=0,
        version=__version__,
        machine=platform.node(),
        room=place.most_shards,
        workers=place.workers,
        disk_free=shutil.disk_usage(place.folder).free,
    )


class ShardCrawls:
    """Starter of the crawls of a node's shards, on the terms of the whole crawl."""

    def __init__(
        self,
        access: ClusterAccess,
        place: NodeConfig,
        own_settings: Mapping[str, object],
        state: CrawlState,
        tell: Tell,
    ) -> None:
        self._access, self._place, self._state = access, place, state
        self._own_settings, self._tell = dict(own_settings), tell
        self._told = ""
        self._children = WarmChildren()

    def start(self, shard: int, generation: int) -> ShardProcess:
        """Start the crawl of a shard, in a process of its own."""
        state, terms = self._state.state, self._state.terms
        assert terms is not None, "a node has the terms before it takes a shard"
        workers = self._state.workers_of(self._place.name)
        settings, ignored = effective_settings(terms, self._own_settings)
        if ignored not in ("", self._told):
            self._tell(ignored)
            self._told = ignored
        job = ShardJob(
            shard=shard,
            shards=terms.shards,
            run=state.run,
            access=self._access,
            generation=generation,
            folder=self._place.folder,
            settings={**settings, "workers": workers},
            own_settings=self._own_settings,
            seeds=terms.seeds,
        )
        return ShardProcess(job, self._children.take())

    async def close(self) -> None:
        await self._children.close()


async def _terms_or_stop(
    engine: ClusterEngine, stopped: asyncio.Event, tell: Tell
) -> TermsRecord | None:
    """Wait for a crawl and return its terms, or None if the node is stopped first."""
    begun = asyncio.ensure_future(wait_for_terms(engine))
    ended = asyncio.ensure_future(stopped.wait())
    try:
        done, _ = await asyncio.wait((begun,), timeout=_NOTE_AFTER_S)
        if not done:
            tell("no crawl in this cluster yet: waiting for minicrawl crawl SEEDS --cluster URL")
            await asyncio.wait((begun, ended), return_when=asyncio.FIRST_COMPLETED)
        return begun.result() if begun.done() else None
    finally:
        begun.cancel()
        ended.cancel()


def check_disk(folder: Path) -> None:
    """Refuse a folder on a disk without room for a shard."""
    free = shutil.disk_usage(folder).free
    if free < LEAST_DISK:
        raise UsageError(
            f"{folder} has {free / 1e6:,.0f} MB of free space, and a new shard needs "
            f"{LEAST_DISK / 1e6:,.0f} MB: give a --folder on another disk"
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other nodes out of the folder. The lock ends with the process, even if it is killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"--folder {folder}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another node keeps its shards in {folder}: give a --folder"
            ) from None
        yield
    finally:
        os.close(lock)

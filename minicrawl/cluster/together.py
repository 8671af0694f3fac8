"""A shard's crawl beside those of the others: what they tell each other, and what follows from it.

Laws: facts may be old, and no cash depends on them. A crawl of a shard ends when the whole crawl is
over, and not when its own pages or its own budget are: more of both may come.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.assignment import NO_LEVEL, sketch, to_level, water_level
from minicrawl.cluster.channels import rhythm_s
from minicrawl.cluster.shard import ShardFacts
from minicrawl.cluster.traffic import (
    TELL_S,
    LocalShard,
    ShardAddresses,
    ShardTraffic,
    key_queue,
)
from minicrawl.crawl.events import Reason
from minicrawl.frontier.channels import ShardPlace
from minicrawl.frontier.pages import Frontier
from minicrawl.model import PageId, State
from minicrawl.opic.money import UNIT

if TYPE_CHECKING:
    from minicrawl.crawl.loop import Crawler


# ================================================================ beginning
#
# When the crawl of a shard begins to ask for pages, and how old it is since.
#
# A shard that begins before the others reads poor pages while rich ones wait elsewhere. So they
# begin together. Laws: nobody waits longer than a set time for shards that do not come. Who hears
# that others have begun begins as well, so a shard that moves is not waited for, and does not wait.

TOGETHER_S = 15.0
"""For shards to begin together: a node needs some seconds for all of its own."""


class TogetherBeginning:
    """One shard's view of it. Times are of a clock that never jumps."""

    def __init__(self, place: ShardPlace, now: float, longest_s: float = TOGETHER_S) -> None:
        self._place, self._latest = place, now + longest_s
        self._began_at: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether pages may be asked for."""
        return self._began_at is not None

    def hear(self, told: Mapping[int, ShardFacts], now: float) -> None:
        """What all shards tell, this one included."""
        if self._began_at is None and self._is_time(told, now):
            self._began_at = now

    def rhythm_s(self, longest_s: float, now: float) -> float:
        """What this shard waits before it tells something, or sends."""
        age_s = 0.0 if self._began_at is None else now - self._began_at
        return rhythm_s(age_s, self._place.of, longest_s)

    def _is_time(self, told: Mapping[int, ShardFacts], now: float) -> bool:
        is_there = len(told) >= self._place.of or now >= self._latest
        return is_there or any(one.pace for one in told.values())


# ================================================================ ordering
#
# One order for all shards: pages below a level of cash wait while richer ones wait elsewhere.
#
# Laws: a host counts with as many pages as can be asked for until the level is found anew; so pages
# that wait for their host's delay hold up nobody elsewhere. Without a level pages are read as on
# one machine. Only an order by cash has levels.
#
# headroom   so many times the pages that all shards can read until the next level are above this
#         one
# choice     A shard has one if more hosts may be asked than it asks at a time. Such a shard reads
#         the
#            richest pages first on one machine as well, so it has less headroom, above all in a
#            young
#            crawl, whose levels follow each other quickly. Without a choice each host is asked as
#            soon as it may be.

HEADROOM = 2
FEWEST = 16
"""Pages that a shard counts as able to read in a second, if it has read fewer."""
_LOOKED_AT = 8
"""So many times the pages that are told are looked at: many of them are of the same hosts."""

PagesSoon = Callable[[int, float], int]
"""A host and a time -> the pages of it that can be asked for in that time."""


class PageLevel:
    """The level as of the last facts, and what this shard tells for the next one."""

    def __init__(
        self, frontier: Frontier, leased: Callable[[], Collection[int]], pages_soon: PagesSoon
    ) -> None:
        """`leased` pages are under way, or are read later than all others."""
        self._frontier, self._leased, self._pages_soon = frontier, leased, pages_soon
        self._pages = FEWEST
        self.key = NO_LEVEL
        self.holds_back = False
        """Whether a page was held back since the last level."""
        self.has_choice = False
        """Whether more hosts could be asked, as of the last sketch, than are asked at a time."""

    def admits(self, page: PageId) -> bool:
        """Whether the page may be read now."""
        self.holds_back = self._frontier.ledger.key[page] < self.key
        return not self.holds_back

    def hear(self, told: Iterable[ShardFacts], within_s: float) -> None:
        """Find the level anew, for so long."""
        facts = list(told)
        least = min(HEADROOM, 1 + within_s / TELL_S)
        self._pages = ceil(
            sum(
                ceil(max(one.pace, FEWEST) * within_s) * (least if one.has_choice else HEADROOM)
                for one in facts
            )
        )
        self.key = water_level([one.sketch for one in facts], self._pages)
        self.holds_back = False

    def sketch(self, within_s: float, slots: int) -> Counter[int]:
        """The keys of the richest pages that wait and may be asked for in this time; `slots` hosts
        are asked at a time.
        """
        waits = self._frontier.states() == State.UNREAD
        waits[list(self._leased())] = False
        unread = np.flatnonzero(waits)
        keys = np.frombuffer(self._frontier.ledger.key, dtype=np.int64)[unread]
        if (most := _LOOKED_AT * self._pages) < len(keys):
            best = np.argpartition(-keys, most)[:most]
            unread, keys = unread[best], keys[best]
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)[unread]
        found, which = np.unique(hosts, return_inverse=True)
        counts = np.array([self._pages_soon(host, within_s) for host in found.tolist()], np.int64)
        self.has_choice = int(np.count_nonzero(counts)) > slots
        return sketch(keys[_is_among_first(hosts, keys, counts[which])], self._pages)


def _is_among_first(
    hosts: NDArray[np.uint32], keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each page is one of the richest of its host, of which so many count."""
    order = np.lexsort((-keys, hosts))
    starts = np.flatnonzero(np.diff(hosts[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    found = np.empty(len(order), dtype=np.bool_)
    found[order] = place < counts[order]
    return found


# ================================================================ together

T = TypeVar("T")

_LEAST_SHARE = 16
"""Of a pot, what is worth a batch to another pot: that many of it are the whole."""
_NO_DELAY = 256
"""Pages of a host that can be asked for between two levels, if it has no delay."""
_LAST_WORD_S = 1.0
"""The longest that what is being told is waited for before the last facts."""
_OF_THE_TIME = 20
"""Telling takes at most that part of it: the sketch of a large shard takes a while."""


class ShardCrawl:
    """What the loop asks of other shards. Its tasks run `during` the crawl."""

    def __init__(self, crawler: Crawler, shard: LocalShard) -> None:
        self._crawler, self._context = crawler, crawler.context
        self._shard, self.exchange = shard, shard.setup.exchange
        self._beginning = TogetherBeginning(shard.place, shard.began)
        self.traffic = ShardTraffic(crawler.context, crawler.parts, shard, self._rhythm_s)
        self._pace = ShardPace(shard.setup.tell_s)
        self._is_empty = self._wants_pages = False
        self._addresses: ShardAddresses | None = None
        if (records := shard.setup.addresses) is not None:
            pacing = crawler.parts.hosts.addresses
            self._addresses = ShardAddresses(crawler.context, pacing, shard.place.number, records)
        self.level: PageLevel | None = None
        order = crawler.context.settings.order
        if (order.strategy, order.order_by) == ("greedy", "page"):
            leases, queue = crawler.parts.leases, key_queue(crawler.parts)
            frontier = crawler.context.recorder.frontier
            self.level = PageLevel(frontier, lambda: queue.leased, self._pages_soon)
            leases.admits = self.level.admits

    def _rhythm_s(self, usual_s: float) -> float:
        """What is waited now where so much is usual."""
        return self._beginning.rhythm_s(usual_s, time.monotonic())

    def _pages_soon(self, host: int, within_s: float) -> int:
        """The pages of a host that can be asked for in this time. One that waits for its address
        may wait for long, so it counts for nothing.
        """
        hosts, now = self._crawler.parts.hosts, self._context.clock.now()
        state = hosts[host]
        delay_s = state.delay_s(hosts.politeness)
        wait_s = max(state.ready_at - now, delay_s if state.in_use else 0.0, 0.0)
        if wait_s >= within_s or not hosts.has_room(host, now):
            return 0
        return ceil((within_s - wait_s) / delay_s) if delay_s else _NO_DELAY

    async def during(self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup) -> T:
        """Do the work while batches come and go."""
        jobs = list(self.traffic.jobs())
        jobs += [self._addresses.run()] if self._addresses is not None else []
        telling = group.create_task(self._tell())
        tasks = [telling, *(group.create_task(job) for job in jobs)]
        try:
            ended = await work
            telling.cancel()  # or what it is telling may come after the last facts
            await asyncio.wait((telling,), timeout=_LAST_WORD_S)
            await self.exchange.tell(self.facts(within_s=0.0), are_last=True)
            return ended
        finally:
            for task in tasks:
                task.cancel()

    # ------------------------------------------------------------ for the loop

    def may_fetch(self) -> bool:
        """Whether requests may begin."""
        return self._beginning.has_begun and self.exchange.may_fetch()

    def is_over(self) -> bool:
        """Whether the whole crawl is over."""
        return self.exchange.is_over()

    def reason_to_end(
        self, own: Reason | None, has_unread: Callable[[], bool], *, turns: int
    ) -> Reason | None:
        """Why the crawl ends, if it does; `own` is why it would if there were no other shards."""
        is_unread = has_unread()
        self._is_empty = own is not None and not is_unread and not turns
        self._wants_pages = own is Reason.BUDGET and is_unread
        if not self.exchange.is_over():
            return None
        if own is None and not is_unread:
            return None  # what waited for a shorter way has just been closed
        return own or Reason.BUDGET

    @property
    def holds_back(self) -> bool:
        """Whether pages wait because richer ones wait elsewhere, or for a part of an address."""
        if self._addresses is not None and self._addresses.are_awaited:
            return True
        return self.level is not None and self.level.holds_back

    # ------------------------------------------------------------ what is told and heard

    async def _tell(self) -> None:
        levelled_at, usual_s = 0.0, self._shard.setup.tell_s
        while True:
            began = time.monotonic()
            within_s = self._rhythm_s(usual_s)
            facts = self.facts(within_s)
            cost_s = time.monotonic() - began
            await self.exchange.tell(facts)
            told = {**self.exchange.told, facts.shard: facts}
            self._hear(told, within_s)
            if began - levelled_at >= usual_s:
                levelled_at = began
                self._level_pots(facts, told)
            self._context.wake()
            await asyncio.sleep(max(within_s, min(usual_s, _OF_THE_TIME * cost_s)))

    def facts(self, within_s: float) -> ShardFacts:
        """How the shard stands, and what it can read in this time."""
        recorder, core, traffic = self._context.recorder, self._shard.core, self.traffic
        frontier, number = recorder.frontier, recorder.counters.number
        ledger = frontier.ledger
        waiting = ledger.unread - sum(map(len, self._crawler.parts.trackers))
        traffic.tell_of_shorter_ways()
        outbox = len(core.outbox)
        slots = self._context.settings.politeness.concurrency
        is_safe = recorder.committer.last_step == frontier.last_seq and not traffic.is_busy
        return ShardFacts(
            shard=self._shard.place.number,
            fetched=int(number("fetched")),
            under_way=self._crawler.turns,
            waiting=waiting,
            outbox=outbox,
            pot=ledger.virtual_page.pot,
            minted=ledger.minted,
            recorded=ledger.recorded,
            entry=0 if (replica := self._shard.setup.replica) is None else replica.last,
            pace=self._pace.now(number("requests"), time.monotonic()),
            sketch=self.level.sketch(within_s, slots) if self.level is not None else {},
            has_choice=self.level is not None and self.level.has_choice,
            sent={other: end.number for other, end in core.channels.sent.items()},
            received={other: end.number for other, end in core.channels.received.items()},
            is_idle=self._is_empty and is_safe and not waiting and not outbox,
            wants_pages=self._wants_pages,
        )

    def _hear(self, told: Mapping[int, ShardFacts], within_s: float) -> None:
        self._beginning.hear(told, time.monotonic())
        if self.level is not None:
            self.level.hear(told.values(), within_s)

    def _level_pots(self, own: ShardFacts, told: Mapping[int, ShardFacts]) -> None:
        pots = {shard: facts.pot_told for shard, facts in told.items()}
        least = max(UNIT, own.pot // _LEAST_SHARE)
        self.traffic.to_level = to_level(own.shard, pots, least)


class ShardPace:
    """The requests of the last time, in a second."""

    def __init__(self, over_s: float) -> None:
        self._over_s = over_s
        self._counts = deque[tuple[float, float]]()

    def now(self, requests: float, now: float) -> float:
        """With so many requests in all until now."""
        counts = self._counts
        counts.append((now, requests))
        while counts[0][0] < now - self._over_s and counts[1][0] <= now - self._over_s:
            counts.popleft()
        before, fewer = counts[0]
        return round((requests - fewer) / (now - before), 3) if now > before else 0

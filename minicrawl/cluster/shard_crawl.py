"""Crawl of one shard as part of the whole: begins with the others, tells facts, acts on theirs.

Laws: facts may be old, and no cash depends on them. A shard's crawl ends when the whole crawl is
over, not when it has spent its own pages or grant: it may get more of both. Clocks are not
compared: each shard tells the age of the crawl that it knows, and takes over a larger one. So the
age outlives any shard and any node, and --for ends all of them.

A shard that begins before the others reads poor pages while rich ones wait elsewhere, so all
begin together. Laws: no shard waits longer than a time limit for absent ones. A shard that hears
that others have begun begins too: after a move no shard waits for the others, nor they for it.

Afterwards pages below a cash threshold wait while richer pages wait in other shards. Laws: of each
host, only the pages count that can be requested before the next threshold; so pages that wait for
their host's delay hold back no others. Without a threshold pages are read as on one machine. The
orders by cash and by siblings have a threshold; that of siblings compares cash times the factor of
the group.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.cash_threshold import (
    FEWEST,
    NO_THRESHOLD,
    cash_threshold,
    pages_to_admit,
    sketch,
)
from minicrawl.cluster.channels.outbox import exchange_interval_s
from minicrawl.cluster.records import ShardFacts
from minicrawl.cluster.traffic.addresses import ShardAddresses
from minicrawl.cluster.traffic.local_shard import LocalShard
from minicrawl.cluster.traffic.pots import levelling_transfers
from minicrawl.cluster.traffic.traffic import ShardTraffic
from minicrawl.crawl.events import Reason
from minicrawl.crawl.progress import ImportanceEstimate
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import PageId
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.opic.ledger.money import UNIT
from minicrawl.states import State

if TYPE_CHECKING:
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.schedule.orders import ByKey
    from minicrawl.opic.queues.by_group import ByGroup

START_TIMEOUT_S = 15.0
"""Longest wait for absent shards: a node needs seconds to start all of its shards."""


class StartBarrier:
    """Start barrier, as one shard sees it. Times are of a monotonic clock."""

    def __init__(self, place: ShardPlace, now: float, *, age_s: float = 0.0) -> None:
        """`age_s` is the age of the crawl if shards have begun before."""
        self._place, self._latest = place, now + START_TIMEOUT_S
        self._began_at = now - age_s if age_s else None

    @property
    def has_begun(self) -> bool:
        """True if pages may be requested."""
        return self._began_at is not None

    def hear(self, facts_by_shard: Mapping[int, ShardFacts], now: float) -> None:
        """Process the facts of all shards, this one included."""
        is_time = len(facts_by_shard) >= self._place.of or now >= self._latest
        if self._began_at is None and (
            is_time or any(facts.pace for facts in facts_by_shard.values())
        ):
            self._began_at = now
        oldest_s = max((facts.age_s for facts in facts_by_shard.values()), default=0.0)
        if self._began_at is not None:
            self._began_at = min(self._began_at, now - oldest_s)

    def age_s(self, now: float) -> float:
        """Return the age of the crawl; 0 before it begins."""
        return 0.0 if self._began_at is None else now - self._began_at


T = TypeVar("T")

_LEAST_SHARE = 16
"""The least transfer between pots is 1 / _LEAST_SHARE of the pot: less is not worth a batch."""
_PAGES_WITHOUT_DELAY = 256
"""Number of pages assumed for a host without delay, before the next threshold."""
_LAST_WORD_S = 1.0
"""Longest wait for facts under way, before the last facts are told."""
_PAUSE_FACTOR = 20
"""Least pause after computing facts, as a multiple of the time that they took."""


class ShardCrawl:
    """View that the crawl loop has of the other shards. Its tasks run `during` the crawl."""

    def __init__(self, crawler: "Crawler", shard: LocalShard) -> None:
        self._crawler, self._context = crawler, crawler.context
        self._shard, self.exchange = shard, shard.setup.exchange
        self._beginning = StartBarrier(shard.place, shard.began, age_s=shard.setup.age_s)
        self.traffic = ShardTraffic(crawler.context, crawler.parts, shard, self._interval_s)
        self._pace = RequestRate(shard.setup.tell_s)
        recorder = crawler.context.recorder
        self._importance = ImportanceEstimate(recorder) if shard.setup.tells_importance else None
        self._is_empty = self._wants_pages = False
        self._addresses = ShardAddresses(
            crawler.context,
            crawler.parts.hosts,
            shard.place,
            shard.setup.engine,
            shard.setup.generation,
            lambda: recorder.frontier.ledger.unread > 0,
        )
        self.level: AdmissionThreshold | None = None
        self._update_order: Callable[[], None] = lambda: None
        order = crawler.context.settings.order
        leases, frontier = crawler.parts.leases, recorder.frontier
        if order.strategy in ("greedy", "siblings") and order.order_by == "page":
            queue = cast("ByKey | ByGroup", leases.queue)
            self.level = AdmissionThreshold(frontier, lambda: queue.leased, self._pages_soon)
            leases.admits = self.level.admits
            if order.strategy == "siblings":  # else the keys are always the latest
                self._update_order = cast("ByGroup", queue).look

    def _interval_s(self, usual_s: float) -> float:
        """Return the current wait; `usual_s` is the wait in an old crawl."""
        age_s = self._beginning.age_s(time.monotonic())
        return exchange_interval_s(age_s, self._shard.place.of, usual_s)

    def _pages_soon(self, host_id: int, within_s: float) -> int:
        """Return the number of the host's pages that can be requested in this time.

        It is 0 for a host that waits for its address, since that may take long.
        """
        hosts, now = self._crawler.parts.hosts, self._context.clock.now()
        host = hosts[host_id]
        delay_s = host.delay_s
        wait_s = max(host.ready_at - now, delay_s if host.in_use else 0.0, 0.0)
        if wait_s >= within_s or not hosts.has_room(host, now):
            return 0
        return ceil((within_s - wait_s) / delay_s) if delay_s else _PAGES_WITHOUT_DELAY

    async def during(self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup) -> T:
        """Run `work` while batches are sent and received, and tell the last facts."""
        jobs = (*self.traffic.jobs(), self._addresses.run())
        telling = group.create_task(self._tell())
        tasks = [telling, *(group.create_task(job) for job in jobs)]
        try:
            ended = await work
            telling.cancel()  # a message still under way could arrive after the last facts
            await asyncio.wait((telling,), timeout=_LAST_WORD_S)
            await self.exchange.tell(self.facts(within_s=0.0), are_last=True)
            return ended
        finally:
            for task in tasks:
                task.cancel()

    @property
    def may_fetch(self) -> bool:
        return self._beginning.has_begun and self.exchange.may_fetch

    def reason_to_end(
        self, own: Reason | None, has_unread: Callable[[], bool], *, turns: int
    ) -> None:
        """Note whether the shard lacks pages. The crawl goes on until its node stops it."""
        is_unread = has_unread()
        self._is_empty = own is not None and not is_unread and not turns
        self._wants_pages = own is Reason.BUDGET and is_unread

    @property
    def holds_back(self) -> bool:
        """True if pages wait for richer ones elsewhere, or for a part of an address."""
        is_below = self.level is not None and self.level.holds_back
        return is_below or self._addresses.are_awaited

    async def _tell(self) -> None:
        levelled_at, usual_s = 0.0, self._shard.setup.tell_s
        while True:
            began = time.monotonic()
            within_s = self._interval_s(usual_s)
            facts = self.facts(within_s)
            cost_s = time.monotonic() - began
            await self.exchange.tell(facts)
            facts_by_shard = {**self.exchange.told, facts.shard: facts}
            self._beginning.hear(facts_by_shard, time.monotonic())
            if self.level is not None:
                self.level.hear(facts_by_shard.values(), within_s)
            if began - levelled_at >= usual_s:
                levelled_at = began
                # A transfer that is small for the pot would level little, and cost a step of the
                # log in both shards.
                least = max(UNIT, facts.pot // _LEAST_SHARE)
                self.traffic.levelling_transfers = levelling_transfers(
                    facts.shard, facts_by_shard, least
                )
            self._context.wake()
            await asyncio.sleep(max(within_s, min(usual_s, _PAUSE_FACTOR * cost_s)))

    def facts(self, within_s: float) -> ShardFacts:
        """Return the facts of this shard, with a sketch for the next `within_s` seconds."""
        recorder, core, traffic = self._context.recorder, self._shard.core, self.traffic
        frontier, number = recorder.frontier, recorder.counters.number
        ledger = frontier.ledger
        waiting, now = ledger.unread, time.monotonic()
        traffic.tell_of_shorter_ways()
        slots = self._context.settings.politeness.concurrency
        # The sketch has the latest keys. With older ones the queue could offer a page below the
        # threshold again and again, and never the one above it.
        self._update_order()
        is_safe = recorder.committer.last_step == frontier.last_seq
        importance: dict[str, Any] = {}
        if (estimate := self._importance) is not None:
            estimate.look(self._context.clock.now())
            # A page that was never sent may be new to its owner, and is then born there with a
            # unit.
            elsewhere = len(core.channels.unsent) + core.outbox.atoms / UNIT
            importance = {
                "gathered": estimate.gathered.read,
                "ungathered": estimate.gathered.unread + elsewhere,
                "discovery": max(0.0, estimate.discovery.rate),
            }
        return ShardFacts(
            shard=self._shard.place.number,
            run=self.exchange.run,
            fetched=int(number("fetched")),
            under_way=self._crawler.turns,
            waiting=waiting,
            pot=ledger.virtual_page.pot,
            entry=0 if (replica := self._shard.setup.replica) is None else replica.last,
            pace=self._pace.now(number("requests"), now),
            age_s=round(self._beginning.age_s(now), 3),
            wire_bytes=int(number("wire_bytes")),
            abroad=ledger.abroad,
            **importance,
            sketch=self.level.sketch(within_s, slots) if self.level is not None else {},
            has_choice=self.level is not None and self.level.has_choice,
            sent={other: end.number for other, end in core.channels.sent.items()},
            received={other: end.number for other, end in core.channels.received.items()},
            is_idle=self._is_empty and is_safe and not waiting and not core.outbox,
            wants_pages=self._wants_pages,
        )


class RequestRate:
    """Moving average of requests per second."""

    def __init__(self, over_s: float) -> None:
        self._over_s = over_s
        self._counts = deque[tuple[float, float]]()

    def now(self, requests: float, now: float) -> float:
        """Return the current rate, given the total number of requests."""
        counts = self._counts
        counts.append((now, requests))
        while counts[0][0] < now - self._over_s and counts[1][0] <= now - self._over_s:
            counts.popleft()
        before, fewer = counts[0]
        return round((requests - fewer) / (now - before), 3) if now > before else 0


_EXAMINED_PER_PAGE = 8
"""Pages to examine for each page in a sketch: many are of the same hosts."""

PagesSoon = Callable[[int, float], int]
"""(host, seconds) -> number of pages of the host that can be requested in that time."""


class AdmissionThreshold:
    """Cash threshold from the last facts, and this shard's sketch for the next threshold."""

    def __init__(
        self, frontier: Frontier, leased: Callable[[], Collection[int]], pages_soon: PagesSoon
    ) -> None:
        """`leased` returns the pages in progress, and those to be read after all others."""
        self._frontier, self._leased, self._pages_soon = frontier, leased, pages_soon
        self._pages = FEWEST
        self.key = NO_THRESHOLD
        self.holds_back = False
        """True if `admits` refused the last page."""
        self.has_choice = False
        """True if more hosts could be asked than there are slots, as of the last sketch."""

    def admits(self, page: PageId) -> bool:
        (key,) = self._keys(np.array([page], dtype=np.uint32))
        self.holds_back = bool(key < self.key)
        return not self.holds_back

    def _keys(self, pages: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the keys of unread pages, in atoms."""
        if (siblings := self._frontier.siblings) is not None:
            from minicrawl.opic.siblings.values import urgency

            return urgency(siblings, pages).astype(np.int64)
        return np.frombuffer(self._frontier.ledger.key, dtype=np.int64)[pages]

    def hear(self, shard_facts: Iterable[ShardFacts], within_s: float) -> None:
        """Compute the threshold for the next `within_s` seconds."""
        facts = list(shard_facts)
        self._pages = pages_to_admit(facts, within_s)
        self.key = cash_threshold([shard.sketch for shard in facts], self._pages)
        self.holds_back = False

    def sketch(self, within_s: float, slots: int) -> Counter[int]:
        """Return the sketch of the richest waiting pages that may be requested within this time.

        `slots` is the number of requests that may be in flight.
        """
        waits = self._frontier.states() == State.UNREAD
        waits[list(self._leased())] = False
        unread = np.flatnonzero(waits).astype(np.uint32)
        keys = self._keys(unread)
        # The sketch has only the richest pages. Picking them takes linear time; many may be of one
        # host, so several times as many are picked as the sketch tells.
        if (most := _EXAMINED_PER_PAGE * self._pages) < len(keys):
            best = np.argpartition(-keys, most)[:most]
            unread, keys = unread[best], keys[best]
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)[unread]
        distinct_hosts, which = np.unique(hosts, return_inverse=True)
        counts = np.array(
            [self._pages_soon(host, within_s) for host in distinct_hosts.tolist()], np.int64
        )
        self.has_choice = int(np.count_nonzero(counts)) > slots
        # Of each host, the richest pages in this number.
        order = np.lexsort((-keys, hosts))
        starts = np.flatnonzero(np.diff(hosts[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        return sketch(keys[order[place < counts[which][order]]], self._pages)

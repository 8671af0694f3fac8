"""Crawl of one shard as part of the whole: begins with the others, tells facts, acts on theirs.

Laws: facts may be old, and no cash depends on them. A shard's crawl ends when the whole crawl is
over, not when it has spent its own pages or grant: it may get more of both.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar, cast

from minicrawl.cluster.channels.outbox import exchange_interval_s
from minicrawl.cluster.records import ShardFacts
from minicrawl.cluster.traffic.addresses import ShardAddresses
from minicrawl.cluster.traffic.admission import AdmissionThreshold
from minicrawl.cluster.traffic.local_shard import LocalShard
from minicrawl.cluster.traffic.pots import levelling_transfers
from minicrawl.cluster.traffic.start_barrier import StartBarrier
from minicrawl.cluster.traffic.traffic import ShardTraffic
from minicrawl.crawl.events import Reason
from minicrawl.crawl.progress import ImportanceEstimate, RecentRate
from minicrawl.opic.ledger.money import UNIT

if TYPE_CHECKING:
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.schedule.orders import ByKey
    from minicrawl.opic.queues.by_group import ByGroup

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
        self._pace = RecentRate(shard.setup.tell_s)
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
            pace=round(self._pace.record(number("requests"), now), 3),
            age_s=round(self._beginning.age_s(now), 3),
            wire_bytes=int(number("wire_bytes")),
            abroad=ledger.abroad,
            **importance,
            sketch=self.level.sketch(within_s) if self.level is not None else {},
            sent={other: end.number for other, end in core.channels.sent.items()},
            received={other: end.number for other, end in core.channels.received.items()},
            is_idle=self._is_empty and is_safe and not waiting and not core.outbox,
            wants_pages=self._wants_pages,
        )

"""A shard's crawl beside those of the others: what they tell each other, and what follows from it.

Laws: facts may be old, and no cash depends on them. A crawl of a shard ends when the whole crawl is
over, and not when its own pages or its own budget are: more of both may come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar

from minicrawl.crawl.events import Reason
from minicrawl.crawl.shard.addresses import ShardAddresses
from minicrawl.crawl.shard.local import LocalShard
from minicrawl.crawl.shard.ordering import PageLevel
from minicrawl.crawl.shard.traffic import ShardTraffic
from minicrawl.opic.money import UNIT
from minicrawl.shards.facts import ShardFacts
from minicrawl.shards.levelling import to_level

if TYPE_CHECKING:
    from minicrawl.crawl.loop import Crawler

T = TypeVar("T")

_LEAST_SHARE = 16
"""Of a pot, what is worth a batch to another pot: that many of it are the whole."""
_NO_DELAY = 256
"""Pages of a host that can be asked for between two levels, if it has no delay."""


class ShardCrawl:
    """What the loop asks of other shards. Its tasks run `during` the crawl."""

    def __init__(self, crawler: Crawler, shard: LocalShard) -> None:
        self._crawler, self._context, self._parts = crawler, crawler.context, crawler.parts
        self._shard, self.exchange = shard, shard.setup.exchange
        self.traffic = ShardTraffic(crawler.context, crawler.parts, shard)
        self._requests = crawler.context.recorder.counters.number("requests")
        self._is_empty = self._wants_pages = False
        self._addresses: ShardAddresses | None = None
        if (records := shard.setup.addresses) is not None:
            pacing = crawler.parts.hosts.addresses
            self._addresses = ShardAddresses(crawler.context, pacing, shard.place.number, records)
        self.level: PageLevel | None = None
        order = crawler.context.settings.order
        if (order.strategy, order.order_by) == ("greedy", "page"):
            self.level = PageLevel(crawler.context.recorder.frontier, self._a_host())
            self._parts.leases.admits = self.level.admits

    def _a_host(self) -> int:
        """The pages of a host that can be asked for while the level stays."""
        delay_s = self._context.settings.politeness.delay_after(None)
        return ceil(self._shard.setup.tell_s / delay_s) if delay_s else _NO_DELAY

    async def during(self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup) -> T:
        """Do the work while batches come and go."""
        jobs = [*self.traffic.jobs(), self._tell()]
        jobs += [self._addresses.run()] if self._addresses is not None else []
        tasks = [group.create_task(job) for job in jobs]
        try:
            return await work
        finally:
            for task in tasks:
                task.cancel()

    # ------------------------------------------------------------ for the loop

    def may_fetch(self) -> bool:
        """Whether requests may begin."""
        return self.exchange.may_fetch()

    def reason_to_end(self, own: Reason | None, *, has_unread: bool, turns: int) -> Reason | None:
        """Why the crawl ends, if it does; `own` is why it would if there were no other shards."""
        self._is_empty = own is not None and not has_unread and not turns
        self._wants_pages = own is Reason.BUDGET and has_unread
        if not self.exchange.is_over():
            return None
        if own is None and not has_unread:
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
        while True:
            facts = self.facts()
            await self.exchange.tell(facts)
            self._hear(facts)
            await asyncio.sleep(self._shard.setup.tell_s)

    def facts(self) -> ShardFacts:
        """How the shard stands."""
        recorder, core, traffic = self._context.recorder, self._shard.core, self.traffic
        frontier, number = recorder.frontier, recorder.counters.number
        ledger = frontier.ledger
        before, self._requests = self._requests, number("requests")
        waiting = ledger.unread - sum(map(len, self._parts.trackers))
        traffic.tell_of_shorter_ways()
        outbox = len(core.outbox)
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
            pace=int(self._requests - before),
            sketch=self.level.sketch() if self.level is not None else {},
            sent={other: end.number for other, end in core.channels.sent.items()},
            received={other: end.number for other, end in core.channels.received.items()},
            is_idle=self._is_empty and is_safe and not waiting and not outbox,
            wants_pages=self._wants_pages,
        )

    def _hear(self, own: ShardFacts) -> None:
        told = {**self.exchange.told, own.shard: own}
        if self.level is not None:
            self.level.hear(told.values())
        pots = {shard: facts.pot_told for shard, facts in told.items()}
        least = max(UNIT, own.pot // _LEAST_SHARE)
        self.traffic.to_level = to_level(own.shard, pots, least)
        self._context.wake()

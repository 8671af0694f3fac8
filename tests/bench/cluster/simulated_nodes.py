"""Nodes that read a web together, in ticks.

In each tick a node reads the richest page of its shards, or is idle if that page is below the last
announced cash threshold. Batches sent in a tick arrive in the next one.

Law: no atom is lost or created in any tick; the audit of `minicrawl.cluster.channels` verifies it
at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from minicrawl.cluster.cash_threshold import NO_THRESHOLD, cash_threshold, sketch
from minicrawl.cluster.channels.batches import TransferBatch
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.records import ShardFacts
from minicrawl.cluster.traffic.pots import levelling_transfers
from tests.bench.cluster.simulated_shard import CrawledShard
from tests.cluster.shards.audit import faults, statement_of

HEADROOM = 2
"""Pages above the threshold, in multiples of the pages that all nodes can read until the next one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNodes:
    """Settings of simulated nodes, which read one page per tick each.

    A batch is sent when its first transfer has waited `wait` ticks. Shards report facts every
    `tell` ticks. With `headroom` 0 there is no threshold: each node reads its richest page.
    """

    nodes: int
    shards: int
    wait: int
    tell: int = 1
    headroom: int = HEADROOM


@dataclass(slots=True)
class SimulatedTraffic:
    """Counts of messages and of idle turns."""

    transfers: int = 0
    batches: int = 0
    idle: int = 0
    ticks: int = 0
    under_way: float = 0.0
    """Share of all cash that was in outboxes and batches, summed over `looks`."""
    looks: int = 0


class ShardedCrawl:
    """A crawl in shards, from seeds that share an endowment."""

    def __init__(
        self,
        links: Sequence[Sequence[int]],
        owner_of: Sequence[int],
        small_edge: float,
        settings: SimulatedNodes,
    ) -> None:
        posting = Posting(transfers=len(links), wait_s=settings.wait)
        self._settings, self._owner_of = settings, owner_of
        self.shards = [
            CrawledShard(number, links, owner_of, small_edge, posting)
            for number in range(settings.shards)
        ]
        self._nodes = [self.shards[node :: settings.nodes] for node in range(settings.nodes)]
        self._on_the_way: list[TransferBatch] = []
        self._sent: dict[tuple[int, int], list[int]] = {}
        self._to_level: list[dict[int, int]] = [{} for _ in self.shards]
        self._level = NO_THRESHOLD
        self.fetched: list[int] = []
        self.traffic = SimulatedTraffic()

    def start(self, seeds: Sequence[int], units: int) -> None:
        """Make each seed known to its shard, with its part of the endowment."""
        share, more = divmod(units, len(seeds))
        for shard_number, shard in enumerate(self.shards):
            own = [seed for seed in seeds if self._owner_of[seed] == shard_number]
            extra = sum(place < more for place, seed in enumerate(seeds) if seed in own)
            if own:
                shard.seed(own, share * len(own) + extra)

    def fetch(self, budget: int) -> list[int]:
        """Read up to `budget` pages; return them in the order of reading."""
        while len(self.fetched) < budget and self._tick(budget):
            self.traffic.ticks += 1
        statements = [statement_of(shard.ledger, shard.shard.channels) for shard in self.shards]
        if wrong := list(faults(statements, self._sent_until)):
            raise AssertionError("; ".join(wrong))
        return self.fetched

    def _tick(self, budget: int) -> bool:
        """Run one tick. Return False when nothing happened and nothing is pending."""
        now, before = self.traffic.ticks, len(self.fetched)
        arrived, self._on_the_way = self._on_the_way, []
        for batch in arrived:
            self.shards[batch.receiver].post(batch, now)
        if now % self._settings.tell == 0:
            self._tell()
        for node in self._nodes:
            if len(self.fetched) < budget:
                self._read(node, now)
        waits = self._send(now)
        if len(self.fetched) > before or arrived or waits:
            return True
        # Pages may wait for a lower threshold.
        return self._level > NO_THRESHOLD and any(shard.ledger.unread for shard in self.shards)

    def _read(self, node: Sequence[CrawledShard], now: int) -> None:
        """Read the richest page of the node, if it is above the threshold."""
        best: tuple[int, CrawledShard, int] | None = None
        for shard in node:
            if (page := shard.best()) is None:
                continue
            key = shard.ledger.key[page]
            if key < self._level or (best and key <= best[0]):
                shard.put_back(page)
                continue
            if best:
                best[1].put_back(best[2])
            best = key, shard, page
        if best is None:
            self.traffic.idle += 1
            return
        _, shard, page = best
        shard.read(page, now)
        self.fetched.append(shard.pages.of_web[page])

    def _send(self, now: int) -> bool:
        """Send due batches. Return whether any cash is in transit or waits in an outbox."""
        waits = False
        for sender, shard in enumerate(self.shards):
            for receiver in shard.shard.outbox.due(now):
                batch = shard.send(receiver, self._to_level[sender].pop(receiver, 0), now)
                self._on_the_way.append(batch)
                self._sent.setdefault((sender, receiver), []).append(
                    sum(transfer.atoms for transfer in batch.transfers) + batch.to_pot
                )
                self.traffic.batches += 1
                self.traffic.transfers += len(batch.transfers)
            waits = waits or bool(shard.shard.outbox.due(inf))
        return waits or bool(self._on_the_way)

    def _tell(self) -> None:
        """Report the facts of all shards: compute the threshold and the transfers between pots."""
        told = {
            number: ShardFacts(
                number, pot=shard.ledger.virtual_page.pot, waiting=shard.ledger.unread
            )
            for number, shard in enumerate(self.shards)
        }
        self._to_level = [levelling_transfers(number, told) for number in told]
        self._measure_transit()
        if headroom := self._settings.headroom:
            pages = headroom * self._settings.nodes * self._settings.tell
            sketches = [sketch(shard.waiting_keys(), pages) for shard in self.shards]
            self._level = cash_threshold(sketches, pages)

    def _measure_transit(self) -> None:
        """Measure the share of the cash that is in transit."""
        minted = sum(shard.ledger.minted for shard in self.shards)
        away = sum(shard.ledger.abroad + shard.in_outbox() for shard in self.shards)
        self.traffic.under_way += away / minted
        self.traffic.looks += 1

    def _sent_until(self, sender: int, receiver: int, number: int) -> int:
        """Return the atoms in the first `number` batches from sender to receiver."""
        sums = accumulate(self._sent.get((sender, receiver), []), initial=0)
        return list(sums)[number]

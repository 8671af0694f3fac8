"""Nodes that read a web together, in ticks.

In a tick each node reads one page, the richest of its shards, if it is above the level of cash
that was last announced; else it is idle. Batches that are sent in a tick come in the next one.

Law: no atom is lost or made, at any tick; the audit of `minicrawl.shards` says so at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from minicrawl.lab.cluster.web import CrawledShard
from minicrawl.shards import audit
from minicrawl.shards.batches import TransferBatch
from minicrawl.shards.levelling import PotTold, to_level
from minicrawl.shards.outbox import Posting
from minicrawl.shards.water import NO_LEVEL, sketch, water_level

HEADROOM = 2
"""So many times the pages that nodes can read until the next level are above this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNodes:
    """So many nodes, which read one page a tick each.

    A batch is sent when its first transfer has waited `wait` ticks. Shards tell what they know of
    themselves every `tell` ticks. With no `headroom` there is no level: each node reads its richest
    page.
    """

    nodes: int
    shards: int
    wait: int
    tell: int = 1
    headroom: int = HEADROOM


@dataclass(slots=True)
class SimulatedTraffic:
    """What was sent, and how many turns of a node were idle."""

    transfers: int = 0
    batches: int = 0
    idle: int = 0
    ticks: int = 0
    under_way: float = 0.0
    """The share of all cash that was in outboxes and batches, summed over `looks`."""
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
        self._level = NO_LEVEL
        self.fetched: list[int] = []
        self.traffic = SimulatedTraffic()

    def start(self, seeds: Sequence[int], units: int) -> None:
        """Seeds are known to their shards, and each of them gets its part of the endowment."""
        share, more = divmod(units, len(seeds))
        for number, shard in enumerate(self.shards):
            own = [seed for seed in seeds if self._owner_of[seed] == number]
            extra = sum(place < more for place, seed in enumerate(seeds) if seed in own)
            if own:
                shard.seed(own, share * len(own) + extra)

    def fetch(self, budget: int) -> list[int]:
        """So many pages of the web in the order in which they are read, or fewer."""
        while len(self.fetched) < budget and self._tick(budget):
            self.traffic.ticks += 1
        if wrong := list(audit.faults(self._statements(), self._sent_until)):
            raise AssertionError("; ".join(wrong))
        return self.fetched

    def _tick(self, budget: int) -> bool:
        """Whether anything happened or is still to come."""
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
        return len(self.fetched) > before or bool(arrived) or waits or self._is_held_back()

    def _read(self, node: Sequence[CrawledShard], now: int) -> None:
        """A page of the node, if one is above the level."""
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
        """Batches that are due; whether anything is on the way or waits in an outbox."""
        waits = False
        for number, shard in enumerate(self.shards):
            for receiver in shard.shard.outbox.due(now):
                batch = shard.send(receiver, self._to_level[number].pop(receiver, 0), now)
                self._on_the_way.append(batch)
                self._sent.setdefault((number, receiver), []).append(batch.atoms)
                self.traffic.batches += 1
                self.traffic.transfers += len(batch.transfers)
            waits = waits or bool(shard.shard.outbox.due(inf))
        return waits or bool(self._on_the_way)

    def _tell(self) -> None:
        """A new level, and what each pot is to send to others."""
        pots = {
            number: PotTold(shard.ledger.virtual_page.pot, shard.ledger.unread)
            for number, shard in enumerate(self.shards)
        }
        self._to_level = [to_level(number, pots) for number in pots]
        self._look()
        if headroom := self._settings.headroom:
            pages = headroom * self._settings.nodes * self._settings.tell
            sketches = [sketch(shard.waiting_keys(), pages) for shard in self.shards]
            self._level = water_level(sketches, pages)

    def _is_held_back(self) -> bool:
        """Whether pages wait for a lower level."""
        return self._level > NO_LEVEL and any(shard.ledger.unread for shard in self.shards)

    # ------------------------------------------------------------ the law

    def _look(self) -> None:
        """How much cash is on its way."""
        minted = sum(shard.ledger.minted for shard in self.shards)
        away = sum(shard.ledger.abroad + shard.in_outbox() for shard in self.shards)
        self.traffic.under_way += away / minted
        self.traffic.looks += 1

    def _statements(self) -> list[audit.Statement]:
        return [shard.shard.statement() for shard in self.shards]

    def _sent_until(self, sender: int, receiver: int, number: int) -> int:
        sums = accumulate(self._sent.get((sender, receiver), []), initial=0)
        return list(sums)[number]

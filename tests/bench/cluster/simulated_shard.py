"""Shards that crawl a web which the laboratory knows and they do not.

Law: all cash moves by the steps of `minicrawl.cluster.channels`, as in a real cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.channels.batches import TransferBatch
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.channels.shard import Shard
from minicrawl.cluster.records import Transfer
from minicrawl.lab.webs import Web
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.channels import shard_of
from minicrawl.opic.ledger.ledger import FOREIGN, UNREAD, Ledger
from minicrawl.opic.ledger.money import fixed_edge
from minicrawl.opic.queues.candidate_heap import CandidateHeap

Numbers = NDArray[np.int64]
_NOTHING = Spending(())


def owners(web: Web, shards: int, site_pages: int) -> list[int]:
    """Return the shard of each page.

    If hosts are unknown, `site_pages` consecutive pages count as a site: in most graphs of the web,
    pages are numbered in the order of their URLs.
    """
    sites = web.site if web.has_hosts else np.arange(web.graph.nodes) // site_pages
    names = [f"site{number}.example" for number in range(int(sites.max()) + 1)]
    of_site = np.array([shard_of(name, shards) for name in names])
    shards_of_pages: list[int] = of_site[sites].tolist()
    return shards_of_pages


class SimulatedPages:
    """Own and foreign pages that a shard knows, by their ids in the web."""

    def __init__(self, number: int, owner_of: Sequence[int]) -> None:
        self.number, self.of_web = number, list[int]()
        self._owner_of = owner_of
        self._ids: dict[int, int] = {}

    def url(self, page: int) -> str:
        return str(self.of_web[page])

    def depth(self, page: int) -> int:
        """Return 0: limits of depth are not simulated."""
        return 0

    def owner(self, page: int) -> int:
        return self._owner_of[self.of_web[page]]

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        before = len(self.of_web)
        return self.ids([int(transfer.url) for transfer in transfers]), len(self.of_web) - before

    def ids(self, pages: Sequence[int]) -> list[int]:
        """Return the ids of these pages of the web; new pages get the next ids."""
        ids = self._ids
        for page in pages:
            if page not in ids:
                ids[page] = len(self.of_web)
                self.of_web.append(page)
        return [ids[page] for page in pages]

    def add_new(self, pages: Sequence[int]) -> tuple[int, int]:
        """Add the unknown ones of these pages, foreign pages first.

        Return the numbers of foreign and of own pages added.
        """
        new = [page for page in pages if page not in self._ids]
        foreign = [page for page in new if self._owner_of[page] != self.number]
        self.ids(foreign)
        self.ids([page for page in new if self._owner_of[page] == self.number])
        return len(foreign), len(new) - len(foreign)


class CrawledShard:
    """A shard that reads its richest page first."""

    def __init__(
        self,
        number: int,
        links: Sequence[Sequence[int]],
        owner_of: Sequence[int],
        small_edge: float,
        posting: Posting,
    ) -> None:
        self.pages = SimulatedPages(number, owner_of)
        self._links = links
        self.ledger = Ledger(small_edge=fixed_edge(small_edge))
        self.shard = Shard(number, Books(self.ledger, lambda _page: _NOTHING), self.pages, posting)
        self._richest = CandidateHeap(self.ledger.key, self.ledger.flags, UNREAD)

    def seed(self, seeds: Sequence[int], units: int) -> None:
        """Make these pages of the web known, with an endowment to share."""
        ids = self.pages.ids(seeds)
        self._apply(Step(StepKind.BORN, born=len(ids)), 0)
        self._apply(Step(StepKind.ENDOWED, spending=Spending(ids), amount=units), 0)
        self._richest.offer(ids)

    def _apply(self, step: Step, now: float) -> None:
        plans = self.shard.books.apply(step)
        self.shard.channels.apply(step)
        self.shard.saw(step, plans, now)

    def best(self) -> int | None:
        """Lease the richest waiting page."""
        return self._richest.take()

    def put_back(self, page: int) -> None:
        """End the lease without reading the page."""
        self._richest.release(page)

    def read(self, page: int, now: float) -> None:
        """Read the page, and pay its links."""
        targets = self._links[self.pages.of_web[page]]
        first = len(self.pages.of_web)
        foreign, own = self.pages.add_new(targets)
        if foreign:
            self._apply(Step(StepKind.BORN, page, foreign, amount=len(targets)), now)
            strangers = range(first, first + foreign)
            self._apply(Step(StepKind.FOREIGN, spending=Spending(strangers)), now)
        links = sorted(self.pages.ids(targets))
        self._apply(Step(StepKind.VISIT, page, own, Spending(links)), now)
        self._richest.offer(links)
        self._richest.release(page)

    def send(self, receiver: int, of_pot: int, now: float) -> TransferBatch:
        """Return the next batch for this shard, with up to `of_pot` atoms of the pot."""
        pot = max(0, self.ledger.virtual_page.pot)
        step = self.shard.sending(receiver, min(of_pot, pot))
        batch = self.shard.batch(step)
        self._apply(step, now)
        return batch

    def post(self, batch: TransferBatch, now: float) -> None:
        """Post a batch of another shard."""
        for step in self.shard.receipt(batch):
            self._apply(step, now)
            self._richest.offer(step.spending.links)

    def waiting_keys(self) -> Numbers:
        return self._keys(UNREAD)

    def in_outbox(self) -> int:
        """Return the atoms that wait to be sent."""
        return int(self._keys(FOREIGN).sum())

    def _keys(self, flag: int) -> Numbers:
        flags = np.frombuffer(self.ledger.flags, dtype=np.uint8)
        keys: Numbers = np.frombuffer(self.ledger.key, dtype=np.int64)[flags == flag]
        return keys

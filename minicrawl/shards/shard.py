"""A shard: its books and its traffic with the others, as a fold over its log.

Laws: the same steps make the same shard, so whoever takes it over reads its log and goes on. What
it sends is in its log before anybody else sees it; what it posts is in its log before it is
acknowledged. What was sent can be made again from the log, as often as somebody asks for it.

hops   Cash for a page that stands for a page of another shard goes on to that one. Where pages of
       several shards stand for each other in a circle it would go round for ever: after some hops
       the page is a dead end, as the last page of a circle is on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from minicrawl.model import PageId
from minicrawl.opic.journal import Books, Spending, Step, StepKind
from minicrawl.opic.ledger import FOREIGN, Plan
from minicrawl.shards.audit import Statement, statement_of
from minicrawl.shards.batches import (
    MOST_HOPS,
    MOST_URL_BYTES,
    BatchError,
    Transfer,
    TransferBatch,
)
from minicrawl.shards.channels import Arrival, Channels
from minicrawl.shards.outbox import Outbox, Posting


class PageTable(Protocol):
    """What a shard asks of its pages. Foreign pages have a row there as well."""

    def url(self, page: PageId) -> str:
        """As other shards know it."""

    def depth(self, page: PageId) -> int:
        """How many links it is away from the seeds."""

    def owner(self, page: PageId) -> int:
        """The shard that it belongs to."""

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        """The page of each URL, and how many of them are new: they get the next ids.

        Raises BatchError if a URL is of another shard.
        """


class Shard:
    """One shard of a crawl."""

    def __init__(
        self,
        number: int,
        books: Books,
        pages: PageTable,
        posting: Posting | None = None,
        channels: Channels | None = None,
    ) -> None:
        """`channels` are those of a shard that was loaded; whoever loaded it counts in them."""
        self.number = number
        self.books, self.pages = books, pages
        self.channels = channels or Channels()
        self.outbox = Outbox(books.ledger, pages.owner, posting)
        self._hops: dict[int, int] = {}

    def apply(self, step: Step, now: float) -> list[Plan]:
        """Fold one more step; answers with what was posted."""
        plans = self.books.apply(step)
        self.channels.apply(step)
        self.saw(step, plans, now)
        return plans

    def saw(self, step: Step, plans: Sequence[Plan], now: float) -> None:
        """The step was applied to books and channels, and led to these plans."""
        match step.kind:
            case StepKind.FOREIGN:
                self.outbox.tell(step.spending.links, now)
            case StepKind.SEND:
                self.outbox.sent(step.page, step.spending.links, now)
                for page in step.spending.links:
                    self._hops.pop(page, None)
            case StepKind.RECEIVE:
                self.outbox.paid(map(self.books.stands_for, step.spending.links), now)
            case _:
                for plan in plans:
                    self.outbox.paid(plan.links, now)
                    self.outbox.paid([page for page, _ in plan.extras], now)

    # ------------------------------------------------------------ to other shards

    def sending(self, receiver: int, of_pot: int = 0) -> Step:
        """The step by which the next batch to this shard leaves; perhaps the pot's part alone."""
        urls = self.pages.url
        pages = self.outbox.next_for(receiver, lambda page: len(urls(page)), MOST_URL_BYTES)
        atoms = [self.books.ledger.key[page] for page in pages]
        number = self.channels.next_number(receiver)
        return Step(StepKind.SEND, receiver, 0, Spending(pages, atoms, (), of_pot), number)

    def batch(self, step: Step) -> TransferBatch:
        """What such a step sends. Hops are known until it is applied; later they count from 0."""
        pages, atoms, _, of_pot = step.spending[:4]
        table = self.pages
        transfers = [
            Transfer(table.url(page), cash, table.depth(page), self._hops.get(page, 0))
            for page, cash in zip(pages, atoms, strict=True)
        ]
        return TransferBatch(self.number, step.page, step.amount, transfers, of_pot)

    # ------------------------------------------------------------ from other shards

    def receipt(self, batch: TransferBatch) -> list[Step]:
        """The steps that post the batch, if it is the next one; they are applied together."""
        if batch.receiver != self.number or batch.sender == self.number:
            way = f"from shard {batch.sender} to shard {batch.receiver}"
            raise BatchError(f"a batch {way} came to shard {self.number}")
        if self.channels.judge(batch) is not Arrival.NEXT:
            return []
        pages, born = self.pages.meet(batch.transfers)
        rows = sorted(zip(pages, [transfer.atoms for transfer in batch.transfers], strict=True))
        paid, atoms = [page for page, _ in rows], [cash for _, cash in rows]
        spending = Spending(paid, atoms, (), batch.to_pot)
        receipt = Step(StepKind.RECEIVE, batch.sender, born, spending, batch.number)
        return [*self._broken_circles(batch.transfers, pages), receipt]

    def _broken_circles(
        self, transfers: Sequence[Transfer], pages: Sequence[int]
    ) -> Iterator[Step]:
        forwards, flags = self.books.forwards, self.books.ledger.flags
        for transfer, page in zip(transfers, pages, strict=True):
            if page not in forwards or flags[end := self.books.stands_for(page)] != FOREIGN:
                continue
            if transfer.hops >= MOST_HOPS:
                yield Step(StepKind.DEAD_END, page)
            else:
                self._hops[end] = max(self._hops.get(end, 0), transfer.hops + 1)

    # ------------------------------------------------------------ what it says of itself

    def statement(self) -> Statement:
        """For the audit of all shards."""
        return statement_of(self.number, self.books.ledger, self.channels)

"""One shard as a fold over its log: ledger, channels and outbox."""

from collections.abc import Sequence
from typing import Protocol

from minicrawl.cluster.channels.batches import MOST_URL_BYTES, TransferBatch
from minicrawl.cluster.channels.outbox import Outbox, Posting
from minicrawl.cluster.records import MOST_HOPS, RecordError, Transfer
from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.channels import ChannelEnd, Channels
from minicrawl.opic.ledger.ledger import FOREIGN, Plan


class PageView(Protocol):
    """A shard's view of its pages. Foreign pages are rows of it, too."""

    def url(self, page: PageId) -> str:
        """Return the URL, in the form that other shards use."""

    def depth(self, page: PageId) -> int:
        """Return the number of links between the page and the seeds."""

    def owner(self, page: PageId) -> int:
        """Return the shard that the page belongs to."""

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        """Return the page of each URL, and the number of new pages, which get the next ids.

        Raises RecordError if a URL belongs to another shard.
        """


class Shard:
    def __init__(
        self,
        number: int,
        books: Books,
        pages: PageView,
        posting: Posting | None = None,
        channels: Channels | None = None,
    ) -> None:
        """`channels` are those of a loaded shard. The loader shares and updates them."""
        self.number = number
        self.books, self.pages = books, pages
        self.channels = channels or Channels()
        self.outbox = Outbox(books.ledger, pages.owner, posting)
        self._hops: dict[int, int] = {}

    def saw(self, step: Step, plans: Sequence[Plan], now: float) -> None:
        """Update the outbox after a step that was applied to books and channels."""
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

    def sending(self, receiver: int, of_pot: int = 0) -> Step:
        """Return the SEND step of the next batch to `receiver`. It may have only the pot's part."""
        urls = self.pages.url
        pages = self.outbox.next_for(receiver, lambda page: len(urls(page)), MOST_URL_BYTES)
        atoms = [self.books.ledger.key[page] for page in pages]
        number = self.channels.next_number(receiver)
        return Step(StepKind.SEND, receiver, 0, Spending(pages, atoms, (), of_pot), number)

    def batch(self, step: Step) -> TransferBatch:
        """Return the batch of a SEND step.

        Hops are known until the step is applied; later they count from 0.
        """
        pages, atoms, _, of_pot = step.spending[:4]
        table = self.pages
        transfers = [
            Transfer(table.url(page), cash, table.depth(page), self._hops.get(page, 0))
            for page, cash in zip(pages, atoms, strict=True)
        ]
        return TransferBatch(self.number, step.page, step.amount, transfers, of_pot)

    def expected(self, sender: int) -> int:
        """Return the number of the next batch of a channel: earlier ones were posted."""
        return self.channels.received.get(sender, ChannelEnd()).number + 1

    def receipt(self, batch: TransferBatch) -> list[Step]:
        """Return the steps that post the batch, or none if it is not the next one.

        The steps must be applied together.
        """
        if batch.receiver != self.number or batch.sender == self.number:
            way = f"from shard {batch.sender} to shard {batch.receiver}"
            raise RecordError(f"a batch {way} came to shard {self.number}")
        if batch.number != self.expected(batch.sender):
            return []
        pages, born = self.pages.meet(batch.transfers)
        # Sorted, because a stored step has its links in ascending order.
        rows = sorted(zip(pages, [transfer.atoms for transfer in batch.transfers], strict=True))
        paid, atoms = [page for page, _ in rows], [cash for _, cash in rows]
        spending = Spending(paid, atoms, (), batch.to_pot)
        receipt = Step(StepKind.RECEIVE, batch.sender, born, spending, batch.number)
        # Pages of several shards may stand for each other in a circle, which no shard sees as a
        # whole. The cash goes round in it, counting shards, until the limit ends it at one of these
        # pages.
        forwards, flags = self.books.forwards, self.books.ledger.flags
        broken: list[Step] = []
        for transfer, page in zip(batch.transfers, pages, strict=True):
            if page not in forwards or flags[end := self.books.stands_for(page)] != FOREIGN:
                continue
            if transfer.hops >= MOST_HOPS:
                broken.append(Step(StepKind.DEAD_END, page))
            else:
                self._hops[end] = max(self._hops.get(end, 0), transfer.hops + 1)
        return [*broken, receipt]

"""How a shard speaks with the others: what the crawl of a shard is given from outside.

Laws that whoever writes an exchange keeps: a batch whose `publish` has returned is lost by accident
alone, and its sender publishes it again if it does not arrive. What is not `done` comes again, even
to another process. Batches may come twice, late and in any order.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from minicrawl.shards.address_parts import AddressParts
from minicrawl.shards.batches import TransferBatch
from minicrawl.shards.facts import ShardFacts
from minicrawl.shards.outbox import Posting
from minicrawl.shards.owners import ShardPlace

if TYPE_CHECKING:
    from minicrawl.store.replica import StoreReplica

TELL_S = 1.0
"""Shards tell what they know of themselves so often."""


class ArrivedBatch(Protocol):
    """A batch of another shard, as `batches.pack` made it."""

    @property
    def packed(self) -> bytes:
        """Its bytes; nothing of them is trusted."""

    async def done(self) -> None:
        """It is posted, and the commit that has it is safe: it need not come again."""

    async def later(self) -> None:
        """It cannot be posted yet, as one before it is missing: it shall come again soon."""


class Exchange(Protocol):
    """The other shards, as one of them sees them. It is used from the thread of the crawl."""

    async def publish(self, batch: TransferBatch) -> None:
        """Send the batch; returns when it is kept for its receiver. It is in the store already."""

    def arrivals(self) -> AsyncIterator[ArrivedBatch]:
        """What comes from the other shards, without end."""

    async def tell(self, facts: ShardFacts, *, are_last: bool = False) -> None:
        """Tell all shards how this one stands. Those who come later know the last facts."""

    @property
    def told(self) -> Mapping[int, ShardFacts]:
        """What each shard told lately in this run of the whole crawl, as far as it is known."""

    def may_fetch(self) -> bool:
        """Whether the shard is still ours for sure. It is asked before each request: no I/O."""

    def is_over(self) -> bool:
        """Whether the whole crawl is over, by its budget or because nothing is left."""


class AddressRecords(Protocol):
    """Who has which part of the pace of an address: a record for each, which one shard at a time
    changes. What fails is asked again until it is done.
    """

    @property
    def generation(self) -> int:
        """How often the shard has changed hands: who has it next has a higher one."""

    async def read(self, address: str) -> tuple[AddressParts, int]:
        """The parts, and the revision of the record."""

    async def write(self, address: str, parts: AddressParts, revision: int) -> bool:
        """Change the record if this is its revision; whether it was."""

    async def point_out(self, address: str, shards: Sequence[int]) -> None:
        """Have these shards look at the record, whoever has them then."""

    def pointed_out(self) -> AsyncIterator[str]:
        """The addresses that this shard is to look at, without end."""


class ShardSetup(NamedTuple):
    """What `Crawl` is given for a shard."""

    place: ShardPlace
    exchange: Exchange
    replica: StoreReplica | None = None
    """What has each commit before it counts."""
    posting: Posting = Posting()
    tell_s: float = TELL_S
    addresses: AddressRecords | None = None
    """Without them each shard has an even part of the pace of every address."""

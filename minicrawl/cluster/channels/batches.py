"""Batches of transfers.

Law: a batch has each URL at most once, and is no larger than a sender makes one.

number   position of a batch in its channel, from 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minicrawl.cluster.records import Record, Transfer
from minicrawl.opic.ledger.channels import MOST_SHARDS

MOST_TRANSFERS = 1000
MOST_URL_BYTES = 1 << 17
"""Limit of all URLs of a batch together, so that it fits into a broadcast."""
MOST_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class TransferBatch(Record):
    """Transfers that one shard sends another in one message."""

    sender: int
    receiver: int
    number: int
    transfers: Sequence[Transfer]
    to_pot: int = 0
    """Atoms from the sender's pot to the receiver's."""

    def __post_init__(self) -> None:
        if max(self.sender, self.receiver) >= MOST_SHARDS or not self.number:
            raise ValueError("it is on no channel")
        if len(self.transfers) > MOST_TRANSFERS:
            raise ValueError(f"{len(self.transfers):,} transfers exceed the limit")
        if len({transfer.url for transfer in self.transfers}) < len(self.transfers):
            raise ValueError("it has a URL twice")

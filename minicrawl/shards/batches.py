"""Batches of transfers, and their bytes.

Laws: `unpack(pack(batch)) == batch`. What does not come from `pack` is refused, as is what is
larger than a sender makes: nothing that came over the wire is trusted. A URL is there once.

transfer   cash for a page of another shard, and what is said of the link
number     the batches from one shard to another are numbered from 1 on
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from minicrawl.opic.money import UNIT
from minicrawl.shards.owners import MOST_SHARDS

MOST_TRANSFERS = 1000
MOST_URL_BYTES = 1 << 19
"""URLs of a batch together. A message of NATS has at most a MiB by default."""
MOST_BYTES = 1 << 20
MOST_HOPS = 10
"""Shards that cash may be handed on through in a row by pages that stand for others. A longer chain
is a circle, or as bad."""

_MOST_ATOMS = UNIT << 31
_MOST_DEPTH = 1 << 31


class BatchError(ValueError):
    """Bytes that are no batch."""


class Transfer(NamedTuple):
    """`depth` is how many links the page is away from the seeds, at least for this giver.

    `hops` counts the shards through which the cash was handed on by pages that stand for others.
    """

    url: str
    atoms: int
    depth: int = 0
    hops: int = 0


class TransferBatch(NamedTuple):
    """What one shard sends another at once."""

    sender: int
    receiver: int
    number: int
    transfers: Sequence[Transfer]
    to_pot: int = 0
    """Atoms from virtual page to virtual page."""

    @property
    def atoms(self) -> int:
        """All that it carries."""
        return sum(transfer.atoms for transfer in self.transfers) + self.to_pot


def pack(batch: TransferBatch) -> bytes:
    """The batch as bytes."""
    return json.dumps(batch, separators=(",", ":"), ensure_ascii=False).encode()


def unpack(data: bytes) -> TransferBatch:
    """The batch. Raises BatchError if the bytes are none that a shard sends."""
    if len(data) > MOST_BYTES:
        raise BatchError(f"{len(data):,} bytes are more than a batch may have")
    try:
        sender, receiver, number, rows, to_pot = json.loads(data)
        transfers = [_transfer(*row) for row in rows]
    except (TypeError, ValueError, RecursionError) as error:
        raise BatchError(f"these bytes are no batch: {error}") from error
    _whole(sender, MOST_SHARDS - 1)
    _whole(receiver, MOST_SHARDS - 1)
    _whole(number, _MOST_ATOMS, least=1)
    _whole(to_pot, _MOST_ATOMS)
    if len({transfer.url for transfer in transfers}) < len(transfers):
        raise BatchError("a URL is in it twice")
    if len(transfers) > MOST_TRANSFERS:
        raise BatchError(f"{len(transfers):,} transfers are more than a batch may have")
    return TransferBatch(sender, receiver, number, transfers, to_pot)


def _transfer(url: Any, atoms: Any, depth: Any, hops: Any) -> Transfer:
    if not isinstance(url, str) or not url or not url.isascii():
        raise BatchError(f"{url!r} is no URL")
    _whole(atoms, _MOST_ATOMS)
    _whole(depth, _MOST_DEPTH)
    _whole(hops, MOST_HOPS)
    return Transfer(url, atoms, depth, hops)


def _whole(value: Any, most: int, least: int = 0) -> None:
    if type(value) is not int or not least <= value <= most:
        raise BatchError(f"{value!r} is no whole number from {least} to {most}")

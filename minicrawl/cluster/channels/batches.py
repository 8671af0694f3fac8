"""Batches of transfers, and their wire format.

Laws: `unpack(pack(batch)) == batch`. `unpack` trusts nothing: it refuses bytes that `pack` does
not write, and batches larger than a sender makes. A batch has each URL at most once.

transfer   cash for a page of another shard, with the depth of the page
number     position of a batch in its channel, from 1
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from minicrawl.opic.ledger.channels import MOST_SHARDS
from minicrawl.opic.ledger.money import UNIT

MOST_TRANSFERS = 1000
MOST_URL_BYTES = 1 << 17
"""Limit of all URLs of a batch together, so that it fits into a broadcast."""
MOST_BYTES = 1 << 18
MOST_HOPS = 10
"""Number of shards through which forwarding pages may pass on the same cash.

A longer chain is a circle, or no better than one.
"""

_MOST_ATOMS = UNIT << 31
_MOST_DEPTH = 1 << 31


class BatchError(ValueError):
    """The bytes are not a batch or facts that a shard sends."""


class Transfer(NamedTuple):
    """Cash for one page of another shard.

    `depth` is the page's distance from the seeds in links, as far as the sender knows. `hops`
    counts the shards through which forwarding pages have passed the cash on.
    """

    url: str
    atoms: int
    depth: int = 0
    hops: int = 0


class TransferBatch(NamedTuple):
    """Transfers that one shard sends another in one message."""

    sender: int
    receiver: int
    number: int
    transfers: Sequence[Transfer]
    to_pot: int = 0
    """Atoms from the sender's pot to the receiver's."""


def pack(batch: TransferBatch) -> bytes:
    # JSON rather than a format of our own: batches are compressed on the way, so little is lost,
    # and each value has a type that `unpack` can check.
    return json.dumps(batch, separators=(",", ":"), ensure_ascii=False).encode()


def unpack(data: bytes) -> TransferBatch:
    """Decode a batch. Raises BatchError if no shard writes these bytes."""
    if len(data) > MOST_BYTES:
        raise BatchError(f"{len(data):,} bytes exceed the limit of a batch")
    try:
        sender, receiver, number, rows, to_pot = json.loads(data)
        transfers = [_transfer(*row) for row in rows]
    except (TypeError, ValueError, RecursionError) as error:
        raise BatchError(f"invalid batch: {error}") from error
    _check_whole(sender, MOST_SHARDS - 1)
    _check_whole(receiver, MOST_SHARDS - 1)
    _check_whole(number, _MOST_ATOMS, least=1)
    _check_whole(to_pot, _MOST_ATOMS)
    if len({transfer.url for transfer in transfers}) < len(transfers):
        raise BatchError("a batch has a URL twice")
    if len(transfers) > MOST_TRANSFERS:
        raise BatchError(f"{len(transfers):,} transfers exceed the limit of a batch")
    return TransferBatch(sender, receiver, number, transfers, to_pot)


def _transfer(url: Any, atoms: Any, depth: Any, hops: Any) -> Transfer:
    if not isinstance(url, str) or not url or not url.isascii():
        raise BatchError(f"{url!r} is not a URL")
    _check_whole(atoms, _MOST_ATOMS)
    _check_whole(depth, _MOST_DEPTH)
    _check_whole(hops, MOST_HOPS)
    return Transfer(url, atoms, depth, hops)


def _check_whole(value: Any, most: int, least: int = 0) -> None:
    # By type, since True is an int in Python, and `true` a value of JSON.
    if type(value) is not int or not least <= value <= most:
        raise BatchError(f"{value!r} is not a whole number from {least} to {most}")

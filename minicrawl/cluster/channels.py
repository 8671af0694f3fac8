"""Batches of cash from shard to shard: when they are sent, their bytes, and which are posted.

Law: a batch whose number is not the next one of its sender is not posted: an old one was posted
before, a new one comes again. What was sent and received is in `frontier.channels`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any, NamedTuple

import numpy as np

from minicrawl.frontier.channels import MOST_SHARDS, ChannelEnd, Channels
from minicrawl.model import PageId
from minicrawl.opic.ledger import FOREIGN, Ledger
from minicrawl.opic.money import UNIT

# ================================================================ rhythm
#
# How long shards may wait before they tell each other something, and before they send cash.
#
# What is not known yet changes the order by as much as was read meanwhile. So it may be as old as a
# small part of the crawl: at the beginning, when the richest pages are found, shards talk quickly,
# and later as rarely as they may. Laws: what they wait never shrinks while a crawl grows older, and
# all of them together talk no quicker than so many messages a second, however many they are.

PART = 1 / 50
"""Of the age of a crawl, that may pass before others hear of it."""
QUICKEST_S = 0.1
QUICK_SHARDS = 16
"""So many may talk as quickly as that; with more of them each pair waits longer."""


def rhythm_s(age_s: float, shards: int, longest_s: float) -> float:
    """What a shard waits, in a crawl of such an age that waits so long when it is old."""
    quickest_s = QUICKEST_S * max(1.0, shards / QUICK_SHARDS) ** 2
    return min(longest_s, max(quickest_s, PART * age_s))


# ================================================================ batches
#
# Batches of transfers, and their bytes.
#
# Laws: `unpack(pack(batch)) == batch`. What does not come from `pack` is refused, as is what is
# larger than a sender makes: nothing that came over the wire is trusted. A URL is there once.
#
# transfer   cash for a page of another shard, and what is said of the link
# number     the batches from one shard to another are numbered from 1 on

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


# ================================================================ channels

_MOST_TIMES = 40
"""Who posts nothing for long is sent the same ever less often: the time between grows up to
so many times the first one.
"""


class Arrival(Enum):
    """What to do with a batch that came."""

    NEXT = "post it"
    OLD = "drop it: it was posted"
    EARLY = "leave it: one before it is missing, and both will come again"


def judge(channels: Channels, batch: TransferBatch) -> Arrival:
    """Whether the batch is the next one of its sender."""
    expected = channels.received.get(batch.sender, ChannelEnd()).number + 1
    if batch.number == expected:
        return Arrival.NEXT
    return Arrival.OLD if batch.number < expected else Arrival.EARLY


class _Stop(NamedTuple):
    """The last batch that was posted, since when nothing was, and how long that may take."""

    number: int
    since: float
    within_s: float


class UnpostedBatches:
    """What one shard has sent, and its receivers have not posted.

    A batch counts when its receiver has posted it, and not when an engine has taken it. Its sender
    has it in its log. So what an engine loses costs time, and no cash.
    """

    def __init__(self, again_s: float) -> None:
        """After so long it is sent again."""
        self._again_s = again_s
        self._stops: dict[int, _Stop] = {}

    def overdue(
        self, sent: Mapping[int, int], posted: Mapping[int, int], now: float
    ) -> Iterator[tuple[int, int]]:
        """The receivers to send to again, with the last number that each has posted. Those that
        tell nothing are not among `posted`: nobody holds these shards now.
        """
        for receiver, number in sent.items():
            if posted.get(receiver, number) >= number:
                self._stops.pop(receiver, None)
                continue
            last = posted[receiver]
            stop = self._stops.get(receiver)
            if stop is None or stop.number != last:
                self._stops[receiver] = _Stop(last, now, self._again_s)
            elif now - stop.since >= stop.within_s:
                longer_s = min(2 * stop.within_s, _MOST_TIMES * self._again_s)
                self._stops[receiver] = _Stop(last, now, longer_s)
                yield receiver, last


# ================================================================ outbox
#
# What waits to be sent to other shards, and when it is sent.
#
# Law: a foreign page waits in the outbox if it holds cash, or was never sent. So the outbox follows
# from the ledger and the channels, and nothing of it is stored. Other pages may wait beside these,
# as there is something to tell of them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """A batch is sent when it has so many `transfers`, or when the first has waited `wait_s`; and
    again if its receiver has posted nothing for `again_s`.
    """

    transfers: int = MOST_TRANSFERS
    wait_s: float = 1.0
    again_s: float = 15.0


class _Waiting:
    """Pages of one shard, in the order in which they began to wait."""

    __slots__ = ("pages", "since")

    def __init__(self, since: float) -> None:
        self.pages: dict[int, None] = {}
        self.since = since


class Outbox:
    """The foreign pages that hold cash, by the shards that they belong to."""

    def __init__(
        self, ledger: Ledger, owner: Callable[[int], int], posting: Posting | None = None
    ) -> None:
        """`owner` answers which shard a foreign page belongs to."""
        self._ledger, self._owner = ledger, owner
        self._posting = posting or Posting()
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        """The foreign pages that wait."""
        return sum(len(waiting.pages) for waiting in self._waiting.values())

    def restore(self, now: float, unsent: Iterable[int] = ()) -> None:
        """Find all that waits, in a ledger that was loaded; `unsent` pages were never sent."""
        flags = np.frombuffer(self._ledger.flags, dtype=np.uint8)
        keys = np.frombuffer(self._ledger.key, dtype=np.int64)
        self._waiting.clear()
        self.paid(np.flatnonzero((flags == FOREIGN) & (keys > 0)).tolist(), now)
        self.tell(sorted(unsent), now)

    def paid(self, pages: Iterable[int], now: float) -> None:
        """These pages, some of which may be foreign, were given cash."""
        flags, keys = self._ledger.flags, self._ledger.key
        for page in pages:
            if flags[page] == FOREIGN and keys[page]:
                self._wait(page, now)

    def tell(self, pages: Iterable[int], now: float) -> None:
        """Those of these pages that are foreign are sent as they are, with or without cash."""
        for page in pages:
            if self._ledger.flags[page] == FOREIGN:
                self._wait(page, now)

    def sent(self, receiver: int, pages: Iterable[int], now: float) -> None:
        """What these pages held has left; none of them, if the pot alone sent something."""
        waiting = self._waiting.pop(receiver, _Waiting(now))
        for page in pages:
            waiting.pages.pop(page, None)
        if waiting.pages:
            waiting.since = now
            self._waiting[receiver] = waiting

    def due(self, now: float, longest_s: float = inf) -> list[int]:
        """The shards that something is to be sent to now. Nothing waits longer than `longest_s`."""
        size, wait_s = self._posting.transfers, min(self._posting.wait_s, longest_s)
        return [
            receiver
            for receiver, waiting in self._waiting.items()
            if len(waiting.pages) >= size or now - waiting.since >= wait_s
        ]

    def next_for(
        self, receiver: int, url_bytes: Callable[[int], int], most_bytes: int
    ) -> list[int]:
        """The pages of the next batch: as many as fit, at least one if any waits; ascending."""
        chosen: list[int] = []
        waiting = self._waiting.get(receiver)
        for page in waiting.pages if waiting else ():
            most_bytes -= url_bytes(page)
            if chosen and most_bytes < 0:
                break
            chosen.append(page)
            if len(chosen) == self._posting.transfers:
                break
        return sorted(chosen)

    def _wait(self, page: PageId, now: float) -> None:
        receiver = self._owner(page)
        waiting = self._waiting.get(receiver)
        if waiting is None:
            waiting = self._waiting[receiver] = _Waiting(now)
        waiting.pages[page] = None

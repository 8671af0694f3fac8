"""A shard and its channels to other shards: cash that is delivered exactly once.

A link from a page of shard 0 to a page of shard 1 cannot pay that page at once: the page is in the
ledger of another process. So shard 0 has a row for the URL as well, a *foreign* page, and the link
pays that. The outbox collects the foreign pages that hold cash. From time to time the cash of those
that belong to one shard leaves the ledger in one SEND step, and travels as one batch.

The batches from one shard to another form a *channel* and are numbered from 1. The receiver posts
them strictly in that order, and posts batch and number in one step of its log:

    shard 0 sends                            shard 1 has posted batches 1 to 4 of shard 0

    batch 5: page /x, 7 atoms         ---->  5 = 4 + 1, NEXT: /x gets 7 atoms
    killed; after its restart it
    publishes batch 5 again           ---->  5 < 6, OLD: dropped
    batch 6                           -- x   lost by the engine
    batch 7                           ---->  7 > 6, EARLY: left for later
    sees for 15 s that shard 1 has
    posted only batch 5, and makes
    6 and 7 again from its log        ---->  NEXT, NEXT

So the engine may lose, repeat, delay and reorder messages, and no atom is lost or doubled.
Deduplication by the engine was rejected: with it, NATS before 2.10.5 can lose messages.

Nothing here has a table of its own. The log has the SEND and RECEIVE steps, a batch is made again
from its step, a checkpoint has the ends of the channels (`opic.ledger`), and the outbox
follows from the ledger: a foreign page waits in it if it holds cash or has never been sent.

rhythm    how long a shard waits before it tells facts or sends cash
batches   the wire format, which refuses what no shard makes
channels  which batches are posted, and which are sent again
outbox    which pages the next batch takes, and when it is due
audit     proof that all shards together have lost no atom
shard     ledger, channels and outbox of one shard, as a fold over its log
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.ledger import (
    FOREIGN,
    MOST_SHARDS,
    Books,
    ChannelEnd,
    Channels,
    Ledger,
    Plan,
    Spending,
    Step,
    StepKind,
)
from minicrawl.opic.money import UNIT

# ================================================================ rhythm
#
# How long a shard waits before it tells facts and before it sends cash.
#
# Stale facts change the order of pages by as much as was read in the meantime, so they may be as
# old as a small part of the crawl. Shards talk quickly at first, when the richest pages are found,
# and ever more rarely later. Laws: the wait never shrinks as a crawl grows older. All pairs of
# shards together send a limited number of messages per second, unless the wait for that would
# exceed `longest_s`.

AGE_PART = 1 / 50
"""Usual wait, as a part of the age of the crawl."""
QUICKEST_S = 0.1
QUICK_SHARDS = 16
"""Number of shards that may all use `QUICKEST_S`; with more shards each pair waits longer."""


def exchange_interval_s(age_s: float, shards: int, longest_s: float) -> float:
    """Return the wait in a crawl of this age; `longest_s` is the wait in an old crawl."""
    quickest_s = QUICKEST_S * max(1.0, shards / QUICK_SHARDS) ** 2
    return min(longest_s, max(quickest_s, AGE_PART * age_s))


# ================================================================ batches
#
# Batches of transfers, and their wire format.
#
# Laws: `unpack(pack(batch)) == batch`. `unpack` trusts nothing: it refuses bytes that `pack` does
# not write, and batches larger than a sender makes. A batch has each URL at most once.
#
# transfer   cash for a page of another shard, with the depth of the page
# number     position of a batch in its channel, from 1

MOST_TRANSFERS = 1000
MOST_URL_BYTES = 1 << 19
"""Limit of all URLs of a batch together. NATS messages have at most 1 MiB by default."""
MOST_BYTES = 1 << 20
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

    @property
    def atoms(self) -> int:
        """Atoms of all transfers and for the pot."""
        return sum(transfer.atoms for transfer in self.transfers) + self.to_pot


def pack(batch: TransferBatch) -> bytes:
    # JSON rather than a format of our own: the engine compresses batches, so little is lost, and
    # each value has a type that `unpack` can check.
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


# ================================================================ channels

_MOST_INTERVALS = 40
"""Limit of the resend interval, in multiples of the first one. It doubles while nothing is posted.
"""


class Arrival(Enum):
    """Verdict on a batch that has arrived."""

    NEXT = "post it"
    OLD = "drop it: it was posted"
    EARLY = "leave it: one before it is missing, and both will come again"


def judge(channels: Channels, batch: TransferBatch) -> Arrival:
    """Compare the number of the batch with the next one of its channel."""
    expected = channels.received.get(batch.sender, ChannelEnd()).number + 1
    if batch.number == expected:
        return Arrival.NEXT
    return Arrival.OLD if batch.number < expected else Arrival.EARLY


class _Stall(NamedTuple):
    """Stalled channel: last posted number, time of its change or of the last resend, interval."""

    number: int
    since: float
    within_s: float


class UnpostedBatches:
    """Resend timers for batches that one shard has sent and their receivers have not posted.

    A batch counts as delivered when its receiver has posted it, not when the engine has accepted
    it: the sender can make it again from its log. So losses of the engine cost time, never cash.
    """

    def __init__(self, again_s: float) -> None:
        """`again_s` is the first resend interval."""
        self._again_s = again_s
        self._stalls: dict[int, _Stall] = {}

    def overdue(
        self, sent: Mapping[int, int], posted: Mapping[int, int], now: float
    ) -> Iterator[tuple[int, int]]:
        """Yield the receivers to send to again, each with the last number that it has posted.

        A receiver absent from `posted` is skipped: no node holds it, so nothing can post.
        """
        for receiver, number in sent.items():
            if posted.get(receiver, number) >= number:
                self._stalls.pop(receiver, None)
                continue
            last = posted[receiver]
            stall = self._stalls.get(receiver)
            # A receiver that has posted anything since is slow, not deaf: its timer restarts.
            if stall is None or stall.number != last:
                self._stalls[receiver] = _Stall(last, now, self._again_s)
            elif now - stall.since >= stall.within_s:
                longer_s = min(2 * stall.within_s, _MOST_INTERVALS * self._again_s)
                self._stalls[receiver] = _Stall(last, now, longer_s)
                yield receiver, last


# ================================================================ outbox
#
# Foreign pages that wait to be sent, and the times at which batches are due.
#
# Law: a foreign page waits if it holds cash or has never been sent. So the outbox follows from the
# ledger and the channels, and is not stored. Pages without cash may wait as well, to tell their
# owner of a shorter path.


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """Size and age at which batches are sent.

    A batch goes out when it has `transfers` pages or its first page has waited `wait_s`. It goes
    out again when its receiver has posted nothing for `again_s`.
    """

    transfers: int = MOST_TRANSFERS
    wait_s: float = 1.0
    again_s: float = 15.0


class _Waiting:
    """Pages for one shard, in the order in which they began to wait."""

    __slots__ = ("pages", "since")

    def __init__(self, since: float) -> None:
        self.pages: dict[int, None] = {}
        self.since = since


class Outbox:
    """Foreign pages that wait to be sent, by owner."""

    def __init__(
        self, ledger: Ledger, owner: Callable[[int], int], posting: Posting | None = None
    ) -> None:
        """`owner` returns the shard of a foreign page."""
        self._ledger, self._owner = ledger, owner
        self._posting = posting or Posting()
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        return sum(len(waiting.pages) for waiting in self._waiting.values())

    @property
    def atoms(self) -> int:
        keys = self._ledger.key
        return sum(keys[page] for waiting in self._waiting.values() for page in waiting.pages)

    def restore(self, now: float, unsent: Iterable[int] = ()) -> None:
        """Refill the outbox from a loaded ledger; `unsent` pages have never been sent."""
        flags = np.frombuffer(self._ledger.flags, dtype=np.uint8)
        keys = np.frombuffer(self._ledger.key, dtype=np.int64)
        self._waiting.clear()
        self.paid(np.flatnonzero((flags == FOREIGN) & (keys > 0)).tolist(), now)
        self.tell(sorted(unsent), now)

    def paid(self, pages: Iterable[int], now: float) -> None:
        """Enqueue the foreign pages among `pages`, which have just been paid."""
        flags, keys = self._ledger.flags, self._ledger.key
        for page in pages:
            if flags[page] == FOREIGN and keys[page]:
                self._wait(page, now)

    def tell(self, pages: Iterable[int], now: float) -> None:
        """Enqueue the foreign pages among `pages`, with or without cash."""
        for page in pages:
            if self._ledger.flags[page] == FOREIGN:
                self._wait(page, now)

    def sent(self, receiver: int, pages: Iterable[int], now: float) -> None:
        """Remove `pages`, whose cash has left. There are none if only the pot sent something."""
        waiting = self._waiting.pop(receiver, _Waiting(now))
        for page in pages:
            waiting.pages.pop(page, None)
        if waiting.pages:
            waiting.since = now
            self._waiting[receiver] = waiting

    def due(self, now: float, longest_s: float = inf) -> list[int]:
        """Return the receivers for which a batch is due. No page waits longer than `longest_s`."""
        size, wait_s = self._posting.transfers, min(self._posting.wait_s, longest_s)
        return [
            receiver
            for receiver, waiting in self._waiting.items()
            if len(waiting.pages) >= size or now - waiting.since >= wait_s
        ]

    def next_for(
        self, receiver: int, url_bytes: Callable[[int], int], most_bytes: int
    ) -> list[int]:
        """Return the pages of the next batch, ascending: as many as fit, but at least one."""
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


# ================================================================ audit
#
# Proof that all shards together have lost no atom and made none.
#
# Law: minted = held on pages, virtual pages and outboxes + sent and not posted, over all shards.
# The shards are read one after another while cash moves, so the law is proven from statements of
# different moments. The proof rests on the order of delivery: on each channel the receiver has
# posted the first batches that were sent, and no others.
#
# statement   what a shard counts as of one step of its log

SentUntil = Callable[[int, int, int], int]
"""(sender, receiver, number) -> atoms of the batches up to this number, by the sender's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Atoms that a shard has minted, holds, and has sent to and received from each other shard."""

    shard: int
    minted: int
    held: int
    sent: Mapping[int, ChannelEnd]
    received: Mapping[int, ChannelEnd]


def statement_of(shard: int, ledger: Ledger, channels: Channels) -> Statement:
    return Statement(
        shard=shard,
        minted=ledger.minted,
        held=ledger.minted - ledger.abroad - ledger.missing(),
        sent=dict(channels.sent),
        received=dict(channels.received),
    )


def under_way(statements: Sequence[Statement]) -> int:
    """Return the atoms sent and not posted, for statements of one moment."""
    sent = sum(end.atoms for one in statements for end in one.sent.values())
    return sent - sum(end.atoms for one in statements for end in one.received.values())


def missing(statements: Sequence[Statement]) -> int:
    """Return minted atoms minus found ones: above 0 if atoms are lost, below 0 if some are extra.

    The result is 0 for statements of one moment or of several: cash under way is included.
    """
    minted, held = sum(one.minted for one in statements), sum(one.held for one in statements)
    return minted - held - under_way(statements)


def faults(
    statements: Sequence[Statement],
    sent_until: SentUntil,
    ahead: Collection[tuple[int, int]] = (),
) -> Iterator[str]:
    """Yield a sentence for each violation of the law.

    On channels in `ahead`, (sender, receiver), the sender's statement is older than the receiver's.
    """
    if lost := missing(statements):
        yield f"{lost} atoms of cash are missing over all shards"
    sent = {(one.shard, to): end for one in statements for to, end in one.sent.items()}
    posted = {(by, one.shard): end for one in statements for by, end in one.received.items()}
    for (sender, receiver), end in posted.items():
        if (sender, receiver) in ahead:
            continue
        way = f"from shard {sender} to shard {receiver}"
        last = sent.get((sender, receiver), ChannelEnd()).number
        if end.number > last:
            yield f"{way}, {end.number} batches were posted of {last} sent"
        elif end.atoms != (atoms := sent_until(sender, receiver, end.number)):
            yield f"{way}, {end.atoms} atoms were posted of {atoms} in the same batches"


# ================================================================ shard


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

        Raises BatchError if a URL belongs to another shard.
        """


class Shard:
    """A shard: books, pages, channels and outbox."""

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

    def apply(self, step: Step, now: float) -> list[Plan]:
        """Apply one more step, and return the plans that were posted."""
        plans = self.books.apply(step)
        self.channels.apply(step)
        self.saw(step, plans, now)
        return plans

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

    # ------------------------------------------------------------ to other shards

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

    # ------------------------------------------------------------ from other shards

    def receipt(self, batch: TransferBatch) -> list[Step]:
        """Return the steps that post the batch, or none if it is not the next one.

        The steps must be applied together.
        """
        if batch.receiver != self.number or batch.sender == self.number:
            way = f"from shard {batch.sender} to shard {batch.receiver}"
            raise BatchError(f"a batch {way} came to shard {self.number}")
        if judge(self.channels, batch) is not Arrival.NEXT:
            return []
        pages, born = self.pages.meet(batch.transfers)
        # Sorted, because a stored step has its links in ascending order.
        rows = sorted(zip(pages, [transfer.atoms for transfer in batch.transfers], strict=True))
        paid, atoms = [page for page, _ in rows], [cash for _, cash in rows]
        spending = Spending(paid, atoms, (), batch.to_pot)
        receipt = Step(StepKind.RECEIVE, batch.sender, born, spending, batch.number)
        return [*self._broken_circles(batch.transfers, pages), receipt]

    def _broken_circles(
        self, transfers: Sequence[Transfer], pages: Sequence[int]
    ) -> Iterator[Step]:
        # Pages of several shards may stand for each other in a circle, which no shard sees as a
        # whole. The cash goes round in it, counting shards, until the limit ends it at one of these
        # pages.
        forwards, flags = self.books.forwards, self.books.ledger.flags
        for transfer, page in zip(transfers, pages, strict=True):
            if page not in forwards or flags[end := self.books.stands_for(page)] != FOREIGN:
                continue
            if transfer.hops >= MOST_HOPS:
                yield Step(StepKind.DEAD_END, page)
            else:
                self._hops[end] = max(self._hops.get(end, 0), transfer.hops + 1)

    # ------------------------------------------------------------ audit

    def statement(self) -> Statement:
        """Return the shard's statement for the audit."""
        return statement_of(self.number, self.books.ledger, self.channels)

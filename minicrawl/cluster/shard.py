"""A shard: its books and its channels to other shards, as a fold over its log.

Laws: the same steps make the same shard, so another node can take it over by reading its log. A
batch is in the log before it is published, and a posted batch is in the log before it is
acknowledged. A sent batch can be made again from the log at any time.

hops   Cash for a page that stands for a page of another shard is forwarded to that shard. A circle
       of such pages in several shards would forward it for ever: after `MOST_HOPS` hops the page
       becomes a dead end, as the last page of a circle does on one machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple, Protocol

from minicrawl.cluster.assignment import PotTold
from minicrawl.cluster.channels import (
    MOST_HOPS,
    MOST_URL_BYTES,
    Arrival,
    BatchError,
    Outbox,
    Posting,
    Transfer,
    TransferBatch,
    judge,
)
from minicrawl.model import PageId
from minicrawl.opic.ledger import FOREIGN, Books, Ledger, Plan, Spending, Step, StepKind
from minicrawl.opic.shard_channels import MOST_SHARDS, ChannelEnd, Channels

# ================================================================ facts
#
# Facts that shards tell each other about once a second, and their wire format.
#
# Laws: `facts_in(as_bytes(facts)) == facts`. Facts may be old: they decide the order of pages,
# which pots pay which, and when a crawl ends, but no cash.
#
# idle   no page of the shard can be read, now or later, unless cash arrives; everything done is
#        committed, and everything sent is published
#
# The crawl has ended when every shard told that it was idle, and on each channel as many batches
# were posted as sent. Then nothing was under way between these facts, and nothing can happen any
# more, even if the shards told them at different moments (Mattern's vector counters).

# headroom  number of pages above the common level, in multiples of the pages that all shards can
#           read before the next level
# choice    A shard has a choice if more hosts may be asked than it asks at a time. Such a shard
#           reads the richest pages first anyway, so it gets less headroom, above all in a young
#           crawl, whose levels follow each other quickly. Without a choice each host is asked as
#           soon as its delay allows.

TELL_S = 1.0
"""Interval at which shards tell facts; in a young crawl they tell them more often."""
HEADROOM = 2
FEWEST = 16
"""Least number of pages per second that a shard is assumed to read."""
MOST_FACTS_BYTES = 1 << 20
_MOST = 1 << 100


class ShardFacts(NamedTuple):
    """A shard as of one moment. Numbers cover all runs, atoms are whole."""

    shard: int
    fetched: int = 0
    under_way: int = 0
    """Turns of pages and hosts in progress."""
    waiting: int = 0
    """Unread pages, without those that wait for a shorter path."""
    outbox: int = 0
    """Foreign pages that hold cash."""
    pot: int = 0
    minted: int = 0
    recorded: int = 0
    entry: int = 0
    """The last confirmed entry of the shard's log."""
    pace: float = 0
    """Recent requests per second."""
    sketch: Mapping[int, int] = {}
    """Histogram of the richest waiting pages that may be requested soon, from `assignment.sketch`.
    """
    sent: Mapping[int, int] = {}
    """Number of the last batch sent, by receiver."""
    received: Mapping[int, int] = {}
    """Number of the last batch posted, by sender."""
    is_idle: bool = False
    wants_pages: bool = False
    """True if the shard has spent its grant and has more to read."""
    has_choice: bool = False
    """True if more hosts may be asked than the shard asks at a time."""

    @property
    def pot_told(self) -> PotTold:
        """The part that levelling needs."""
        return PotTold(self.pot, self.waiting)


def pages_above(told: Iterable[ShardFacts], within_s: float) -> int:
    """Return the number of pages above the common level for the next `within_s` seconds."""
    least = min(HEADROOM, 1 + within_s / TELL_S)
    return ceil(
        sum(
            ceil(max(one.pace, FEWEST) * within_s) * (least if one.has_choice else HEADROOM)
            for one in told
        )
    )


_MOST_BINS = 1024
"""More bins than any sketch has: a key has 63 bits."""
_TABLES = ("sketch", "sent", "received")


def as_bytes(facts: ShardFacts) -> bytes:
    """Encode the facts."""
    return json.dumps(facts._asdict(), separators=(",", ":")).encode()


def facts_in(data: bytes) -> ShardFacts:
    """Decode facts. Raises BatchError if no shard writes these bytes."""
    if len(data) > MOST_FACTS_BYTES:
        raise BatchError(f"{len(data):,} bytes are more than a shard tells")
    try:
        found: dict[str, Any] = json.loads(data)
        tables: dict[str, Any] = {name: _table(found.pop(name)) for name in _TABLES}
        facts = ShardFacts(**found, **tables)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise BatchError(f"these bytes are no facts of a shard: {error}") from error
    if not _is_pace(found.pop("pace", 0)) or not all(map(_is_number, found.values())):
        raise BatchError("what a shard tells of itself are no numbers that may be")
    if not 0 <= facts.shard < MOST_SHARDS or min(facts.fetched, facts.waiting) < 0:
        raise BatchError("what a shard tells of itself is less than nothing")
    if any(place >= _MOST_BINS for place in facts.sketch):
        raise BatchError("pages wait with more cash than there may be")
    return facts


def _is_pace(value: Any) -> bool:
    """Check for a number of requests per second, which may be a fraction."""
    return isinstance(value, int | float) and 0 <= value < _MOST


def _is_number(value: Any) -> bool:
    """Check for an integer within bounds that no crawl reaches."""
    return isinstance(value, int) and -_MOST < value < _MOST


def _table(found: dict[str, Any]) -> dict[int, int]:
    """Decode a table by shard, or by bin of a sketch; there are fewer bins than shards."""
    table = {int(key): value for key, value in found.items()}
    if any(type(value) is not int or not 0 <= value < _MOST for value in table.values()):
        raise ValueError("what a shard tells of itself are whole numbers")
    if any(not 0 <= key < MOST_SHARDS for key in table):
        raise ValueError("a table is by shard")
    return table


def has_ended(told: Mapping[int, ShardFacts], shards: int) -> bool:
    """Return whether all shards are idle and no batch is under way."""
    if len(told) < shards or not all(facts.is_idle for facts in told.values()):
        return False
    sent = {(by, to): count for by, facts in told.items() for to, count in facts.sent.items()}
    posted = {(by, to): count for to, facts in told.items() for by, count in facts.received.items()}
    return sent == posted


def fetched_together(told: Mapping[int, ShardFacts]) -> int:
    """Return the number of pages fetched by all shards."""
    return sum(facts.fetched for facts in told.values())


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
    """Return the statement of a shard with this ledger and these channels."""
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
    """Return the atoms that were minted and are nowhere, less those that came from nowhere.

    The result is 0 for statements of one moment or of several: cash under way is included.
    """
    minted, held = sum(one.minted for one in statements), sum(one.held for one in statements)
    return minted - held - under_way(statements)


def faults(statements: Sequence[Statement], sent_until: SentUntil) -> Iterator[str]:
    """Yield a sentence for each violation of the law; the statements are of one moment."""
    if lost := missing(statements):
        yield f"{lost} atoms of cash are missing over all shards"
    sent = {(one.shard, to): end for one in statements for to, end in one.sent.items()}
    posted = {(by, one.shard): end for one in statements for by, end in one.received.items()}
    for (sender, receiver), end in posted.items():
        way = f"from shard {sender} to shard {receiver}"
        last = sent.get((sender, receiver), ChannelEnd()).number
        if end.number > last:
            yield f"{way}, {end.number} batches were posted of {last} sent"
        elif end.atoms != (atoms := sent_until(sender, receiver, end.number)):
            yield f"{way}, {end.atoms} atoms were posted of {atoms} in the same batches"


# ================================================================ shard


class PageTable(Protocol):
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
        pages: PageTable,
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

    # ------------------------------------------------------------ audit

    def statement(self) -> Statement:
        """Return the shard's statement for the audit."""
        return statement_of(self.number, self.books.ledger, self.channels)

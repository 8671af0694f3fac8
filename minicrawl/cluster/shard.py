"""A shard: its books and its traffic with the others, as a fold over its log.

Laws: the same steps make the same shard, so whoever takes it over reads its log and goes on. What
it sends is in its log before anybody else sees it; what it posts is in its log before it is
acknowledged. What was sent can be made again from the log, as often as somebody asks for it.

hops   Cash for a page that stands for a page of another shard goes on to that one. Where pages of
       several shards stand for each other in a circle it would go round for ever: after some hops
       the page is a dead end, as the last page of a circle is on one machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from minicrawl.frontier.channels import MOST_SHARDS, ChannelEnd, Channels
from minicrawl.model import PageId
from minicrawl.opic.journal import Books, Spending, Step, StepKind
from minicrawl.opic.ledger import FOREIGN, Ledger, Plan

# ================================================================ facts
#
# What the shards of a crawl tell each other of themselves, about once a second, and its bytes.
#
# Laws: `facts_in(as_bytes(facts)) == facts`. Facts may be old: they change the order of pages,
# which pots pay which, and when a crawl ends, and no cash.
#
# idle   no page of the shard can be read now or later, unless cash comes from others; all that it
#        did is committed, and all that it sent is published
#
# The end of a crawl: when every shard was idle as it told, and each channel had as many batches
# posted as sent, then nothing was on its way between what was told, and nothing can happen any
# more, even if the shards told at different moments (Mattern's vector counters).

MOST_FACTS_BYTES = 1 << 20
_MOST = 1 << 100


class ShardFacts(NamedTuple):
    """A shard as of one moment. Numbers are over all its runs, atoms are whole."""

    shard: int
    fetched: int = 0
    under_way: int = 0
    """Turns of pages and hosts."""
    waiting: int = 0
    """Unread pages, but for those that wait for a shorter way to them."""
    outbox: int = 0
    """Foreign pages that hold cash."""
    pot: int = 0
    minted: int = 0
    recorded: int = 0
    entry: int = 0
    """The last entry of its log that was confirmed."""
    pace: float = 0
    """Pages that were asked for in a second, lately."""
    sketch: Mapping[int, int] = {}
    """The richest pages that wait and may be asked for soon, as `water.sketch` tells them."""
    sent: Mapping[int, int] = {}
    """By receiver, the number of the last batch."""
    received: Mapping[int, int] = {}
    """The same by sender, of what was posted."""
    is_idle: bool = False
    wants_pages: bool = False
    """Whether it has fetched as many pages as it may, and has more to read."""
    has_choice: bool = False
    """Whether more hosts may be asked than it asks at a time."""

    @property
    def pot_told(self) -> PotTold:
        """What levelling wants to know."""
        return PotTold(self.pot, self.waiting)


_MOST_BINS = 1024
"""More than any sketch has: a key has 63 bits."""
_TABLES = ("sketch", "sent", "received")


def as_bytes(facts: ShardFacts) -> bytes:
    """The facts as bytes."""
    return json.dumps(facts._asdict(), separators=(",", ":")).encode()


def facts_in(data: bytes) -> ShardFacts:
    """The facts. Raises BatchError if the bytes are none that a shard tells."""
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
    """Less than a page a second may be asked for."""
    return isinstance(value, int | float) and 0 <= value < _MOST


def _is_number(value: Any) -> bool:
    """Atoms and pages of the largest crawl are far below."""
    return isinstance(value, int) and -_MOST < value < _MOST


def _table(found: dict[str, Any]) -> dict[int, int]:
    """By shard, or by the bins of a sketch, which are fewer."""
    table = {int(key): value for key, value in found.items()}
    if any(type(value) is not int or not 0 <= value < _MOST for value in table.values()):
        raise ValueError("what a shard tells of itself are whole numbers")
    if any(not 0 <= key < MOST_SHARDS for key in table):
        raise ValueError("a table is by shard")
    return table


def has_ended(told: Mapping[int, ShardFacts], shards: int) -> bool:
    """Whether nothing is left to do in any of so many shards, and nothing is on its way."""
    if len(told) < shards or not all(facts.is_idle for facts in told.values()):
        return False
    sent = {(by, to): count for by, facts in told.items() for to, count in facts.sent.items()}
    posted = {(by, to): count for to, facts in told.items() for by, count in facts.received.items()}
    return sent == posted


def fetched_together(told: Mapping[int, ShardFacts]) -> int:
    """The pages that all shards have fetched."""
    return sum(facts.fetched for facts in told.values())


# ================================================================ audit
#
# The audit of all shards.
#
# Law: what all shards hold, on their pages, on their virtual pages and in their outboxes, and what
# they sent and was not posted yet, is what they minted. The shards are looked at one after the
# other while cash moves, so the law is proven from what each of them counted at one moment of its
# own: of each channel the receiver has posted the first batches that were sent, and no others.
#
# statement   what a shard says of itself as of one step of its log

SentUntil = Callable[[int, int, int], int]
"""(sender, receiver, number) -> the atoms of all batches up to this one, by the sender's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one shard minted, holds, sent to each other shard and received from it, in atoms."""

    shard: int
    minted: int
    held: int
    sent: Mapping[int, ChannelEnd]
    received: Mapping[int, ChannelEnd]


def statement_of(shard: int, ledger: Ledger, channels: Channels) -> Statement:
    """What a shard with this ledger and these channels says of itself."""
    return Statement(
        shard=shard,
        minted=ledger.minted,
        held=ledger.minted - ledger.abroad - ledger.missing(),
        sent=dict(channels.sent),
        received=dict(channels.received),
    )


def under_way(statements: Sequence[Statement]) -> int:
    """Atoms that were sent and not posted, if all looked at the same moment."""
    sent = sum(end.atoms for one in statements for end in one.sent.values())
    return sent - sum(end.atoms for one in statements for end in one.received.values())


def missing(statements: Sequence[Statement]) -> int:
    """Atoms that were minted and are nowhere, less those that came from nowhere.

    It is 0, be the statements of one moment or of many: what is under way is counted by them.
    """
    minted, held = sum(one.minted for one in statements), sum(one.held for one in statements)
    return minted - held - under_way(statements)


def faults(statements: Sequence[Statement], sent_until: SentUntil) -> Iterator[str]:
    """What breaks the law, each in a sentence; the statements are of one moment."""
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

    # ------------------------------------------------------------ what it says of itself

    def statement(self) -> Statement:
        """For the audit of all shards."""
        return statement_of(self.number, self.books.ledger, self.channels)

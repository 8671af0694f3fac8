"""Proof that all shards together have lost no atom and made none.

Law: minted = held on pages, virtual pages and outboxes + sent and not posted, over all shards.
The shards are read one after another while cash moves, so the law is proven from statements of
different moments. The proof rests on the order of delivery: on each channel the receiver has
posted the first batches that were sent, and no others.

statement   what a shard counts as of one step of its log
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minicrawl.opic.ledger.channels import ChannelEnd, Channels
from minicrawl.opic.ledger.ledger import Ledger

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
    sent = sum(end.atoms for statement in statements for end in statement.sent.values())
    return sent - sum(end.atoms for statement in statements for end in statement.received.values())


def missing(statements: Sequence[Statement]) -> int:
    """Return minted atoms minus found ones: above 0 if atoms are lost, below 0 if some are extra.

    The result is 0 for statements of one moment or of several: cash under way is included.
    """
    unheld = sum(statement.minted - statement.held for statement in statements)
    return unheld - under_way(statements)


def posted_channels(
    statements: Sequence[Statement],
) -> Iterator[tuple[int, int, ChannelEnd, ChannelEnd]]:
    """Yield sender and receiver of each channel, with its end as each of the two counts it."""
    sent = {statement.shard: statement.sent for statement in statements}
    for statement in statements:
        for sender, posted in statement.received.items():
            end = sent.get(sender, {}).get(statement.shard, ChannelEnd())
            yield sender, statement.shard, end, posted


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
    for sender, receiver, sent, posted in posted_channels(statements):
        if (sender, receiver) in ahead:
            continue
        way = f"from shard {sender} to shard {receiver}"
        if posted.number > sent.number:
            yield f"{way}, {posted.number} batches were posted of {sent.number} sent"
        elif posted.atoms != (atoms := sent_until(sender, receiver, posted.number)):
            yield f"{way}, {posted.atoms} atoms were posted of {atoms} in the same batches"

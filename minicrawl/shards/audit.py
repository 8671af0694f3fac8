"""The audit of all shards.

Law: what all shards hold, on their pages, on their virtual pages and in their outboxes, and what
they sent and was not posted yet, is what they minted. The shards are looked at one after the other
while cash moves, so the law is proven from what each of them counted at one moment of its own: of
each channel the receiver has posted the first batches that were sent, and no others.

statement   what a shard says of itself as of one step of its log
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minicrawl.opic.ledger import Ledger
from minicrawl.shards.channels import ChannelEnd, Channels

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

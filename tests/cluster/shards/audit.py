"""Oracle: all shards together have lost no atom and made none.

Law: minted = held on pages, virtual pages and outboxes + sent and not posted, over all shards. On
each channel the receiver has posted the first batches that were sent, and no others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from minicrawl.opic.ledger.channels import ChannelEnd, Channels
from minicrawl.opic.ledger.ledger import Ledger

SentUntil = Callable[[int, int, int], int]
"""(sender, receiver, number) -> atoms of the batches up to this number, by the sender's log."""


class Statement(NamedTuple):
    """Atoms that a shard has minted, holds, and has sent to and received from each other shard."""

    minted: int
    held: int
    sent: Mapping[int, ChannelEnd]
    received: Mapping[int, ChannelEnd]


def statement_of(ledger: Ledger, channels: Channels) -> Statement:
    held = ledger.minted - ledger.abroad - ledger.missing()
    return Statement(ledger.minted, held, dict(channels.sent), dict(channels.received))


def under_way(statements: Sequence[Statement]) -> int:
    """Return the atoms sent and not posted."""
    sent = sum(end.atoms for statement in statements for end in statement.sent.values())
    return sent - sum(end.atoms for statement in statements for end in statement.received.values())


def missing(statements: Sequence[Statement]) -> int:
    """Return minted atoms minus found ones: below 0 if some are extra."""
    return sum(shard.minted - shard.held for shard in statements) - under_way(statements)


def faults(statements: Sequence[Statement], sent_until: SentUntil) -> Iterator[str]:
    """Yield a sentence for each violation of the law by these shards, in order of their numbers."""
    if lost := missing(statements):
        yield f"{lost} atoms of cash are missing over all shards"
    for receiver, statement in enumerate(statements):
        for sender, posted in statement.received.items():
            sent = statements[sender].sent.get(receiver, ChannelEnd())
            way = f"from shard {sender} to shard {receiver}"
            if posted.number > sent.number:
                yield f"{way}, {posted.number} batches were posted of {sent.number} sent"
            elif posted.atoms != (atoms := sent_until(sender, receiver, posted.number)):
                yield f"{way}, {posted.atoms} atoms were posted of {atoms} in the same batches"

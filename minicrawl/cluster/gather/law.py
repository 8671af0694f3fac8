"""The law of all shards, proven from the senders' logs and the receivers' channels.

Laws: what a sender's log has and a receiver's channel does not count is under way. Of each channel
the receiver has posted the first batches that were sent, and no others. Stores are copied one after
the other, so a receiver may have batches that the older copy of a sender does not know of yet. That
is no loss, but this cash is in both copies: it is taken from the pot of all.

ahead    such batches
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minicrawl.cluster.gather.stores import ShardStore
from minicrawl.opic.journal import Spending
from minicrawl.shards.audit import Statement, faults
from minicrawl.shards.channels import ChannelEnd
from minicrawl.store import tables
from minicrawl.store.trouble import reporting_damage

NOTHING = ChannelEnd()


class SentChannel:
    """The batches from one shard to another, by the sender's log."""

    def __init__(self) -> None:
        self._steps = array("q")
        self._atoms = array("q")

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: int, number: int, atoms: int) -> None:
        """The next batch was sent by this step."""
        if number != len(self) + 1:
            raise ValueError(f"batch {number} follows batch {len(self)}: the log has a gap")
        self._atoms.append(self.until(len(self)) + atoms)
        self._steps.append(step)

    def until(self, number: int) -> int:
        """The atoms of the first so many batches."""
        return self._atoms[number - 1] if number else 0

    def after(self, number: int) -> Sequence[int]:
        """The steps that sent the later ones."""
        return self._steps[number:]


SentBatches = Mapping[int, SentChannel]
"""By receiver."""


class Ahead(NamedTuple):
    """A receiver has more batches than this copy of the sender has sent."""

    sender: int
    receiver: int
    batches: int
    atoms: int

    def __str__(self) -> str:
        return (
            f"the store of shard {self.receiver} is younger than that of shard {self.sender}: "
            f"it has {self.batches:,} more of its batches"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFindings:
    """What breaks the law, each in a sentence, and what only shows that copies differ in age."""

    faults: Sequence[str]
    ahead: Sequence[Ahead]


def sent_batches(store: ShardStore) -> SentBatches:
    """All that the log of a shard says of what it sent."""
    channels: dict[int, SentChannel] = {}
    with reporting_damage(store.path):
        for seq, step in tables.sendings_after(store.connection, 0):
            atoms = sum(step.spending.weights) + step.spending.idle
            channels.setdefault(step.page, SentChannel()).add(seq, step.amount, atoms)
    return channels


def judged(statements: Sequence[Statement], sent: Mapping[int, SentBatches]) -> LawFindings:
    """Whether the law of all shards holds; `sent` is by sender."""
    ahead = list(_ahead(statements))
    then = [_at_the_moment_of_senders(one, ahead) for one in statements]

    def sent_until(sender: int, receiver: int, number: int) -> int:
        channel = sent.get(sender, {}).get(receiver)
        return channel.until(number) if channel else 0

    return LawFindings(
        faults=[*_unlogged(statements, sent), *faults(then, sent_until)], ahead=ahead
    )


def under_way(
    store: ShardStore, sent: SentBatches, received: Mapping[int, ChannelEnd]
) -> Iterator[Spending]:
    """What the shard sent and nobody has posted; `received` is what others posted of it."""
    for receiver, channel in sent.items():
        for step in channel.after(received.get(receiver, NOTHING).number):
            yield tables.spending(store.connection, step)


def _ahead(statements: Sequence[Statement]) -> Iterator[Ahead]:
    ends = {(one.shard, to): end for one in statements for to, end in one.sent.items()}
    for one in statements:
        for sender, end in one.received.items():
            sent = ends.get((sender, one.shard), NOTHING)
            if end.number > sent.number:
                more = end.number - sent.number
                yield Ahead(sender, one.shard, more, end.atoms - sent.atoms)


def _at_the_moment_of_senders(one: Statement, ahead: Sequence[Ahead]) -> Statement:
    """Without what it has of batches that are ahead."""
    received, held = dict(one.received), one.held
    for more in ahead:
        if more.receiver == one.shard:
            end = received[more.sender]
            received[more.sender] = ChannelEnd(end.number - more.batches, end.atoms - more.atoms)
            held -= more.atoms
    return replace(one, received=received, held=held)


def _unlogged(statements: Sequence[Statement], sent: Mapping[int, SentBatches]) -> Iterator[str]:
    """What a shard counts as sent is what its log says."""
    for one in statements:
        logged = {
            to: ChannelEnd(len(channel), channel.until(len(channel)))
            for to, channel in sent[one.shard].items()
        }
        if logged != one.sent:
            yield f"shard {one.shard} counts other batches as sent than its log has"

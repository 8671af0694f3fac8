"""Channels of a shard: the cash it has sent to each other shard and received from it.

Most crawls have one shard and no channels. Law: the ends of the channels are a fold over the log
of the shard, like its ledger. So is the set of unsent foreign pages, which their own shards may
not know yet.

A shard owns whole sites, not hosts: quotas, traps and budgets apply to sites, and since most
links stay within a site, most cash stays in its shard. The shard of a site depends only on its
name and the number of shards; it is the same on every machine and in every version.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, Self

from minicrawl.opic.ledger.books import Step, StepKind

MOST_SHARDS = 1 << 16
_BYTES = 8


def shard_of(site: str, shards: int) -> int:
    """Return the number of the site's shard, from 0."""
    digest = blake2b(site.encode(errors="surrogatepass"), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big") * shards >> 8 * _BYTES


class ShardPlace(NamedTuple):
    """Shard of a crawl: its number, and the number of shards."""

    number: int
    of: int

    def owner(self, site: str) -> int:
        return shard_of(site, self.of)


ChannelRows = Mapping[str, Sequence[Sequence[int]]]

_SENT, _RECEIVED, _UNSENT = "sent", "received", "unsent"


class ChannelEnd(NamedTuple):
    """Number of the last batch, and atoms of all batches so far."""

    number: int = 0
    atoms: int = 0


class Channels:
    """A shard's ends of its channels to other shards."""

    def __init__(self) -> None:
        self.sent: dict[int, ChannelEnd] = {}
        """By the shard that receives."""
        self.received: dict[int, ChannelEnd] = {}
        """By the shard that sends."""
        self.unsent: set[int] = set()
        """Foreign pages that were never sent."""

    @classmethod
    def from_rows(cls, rows: ChannelRows) -> Self:
        """Return the channels from the result of `as_rows`."""
        channels = cls()
        for ends, name in ((channels.sent, _SENT), (channels.received, _RECEIVED)):
            ends.update((other, ChannelEnd(number, atoms)) for other, number, atoms in rows[name])
        channels.unsent.update(page for (page,) in rows[_UNSENT])
        return channels

    def as_rows(self) -> ChannelRows:
        """Return all ends, for the checkpoint of a store."""
        ends = {
            name: [(other, *end) for other, end in sorted(ends.items())]
            for name, ends in ((_SENT, self.sent), (_RECEIVED, self.received))
        }
        return {**ends, _UNSENT: [(page,) for page in sorted(self.unsent)]}

    def apply(self, step: Step) -> None:
        if step.kind is StepKind.FOREIGN and not step.amount:
            self.unsent.update(step.spending.links)
        elif step.kind is StepKind.SEND:
            _count(self.sent, step)
            self.unsent.difference_update(step.spending.links)
        elif step.kind is StepKind.RECEIVE:
            _count(self.received, step)

    def next_number(self, receiver: int) -> int:
        return self.sent.get(receiver, ChannelEnd()).number + 1


def _count(ends: dict[int, ChannelEnd], step: Step) -> None:
    number, atoms = ends.get(step.page, ChannelEnd())
    if step.amount != number + 1:
        raise ValueError(f"batch {step.amount} follows batch {number}: the log has a gap")
    ends[step.page] = ChannelEnd(
        step.amount, atoms + sum(step.spending.weights) + step.spending.idle
    )

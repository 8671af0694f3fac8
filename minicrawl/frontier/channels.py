"""What a shard has sent to each other shard and received from it, as its store keeps it.

Most crawls have one shard, and nothing of this. Law: the ends of the channels are a fold over the
steps of the shard's log, like its ledger; and so are the foreign pages that were never sent, which
their shards do not know of unless others told them.

A shard owns whole sites, not hosts: quotas, traps and budgets judge sites, and most links stay in
their site, so most cash stays in its shard. Which shard a site belongs to depends on its name and
the number of shards alone, and is the same on every machine and in every version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, Self

from minicrawl.opic.journal import Step, StepKind

SHARDS = 64
"""Unless the user chose another number at the start."""


MOST_SHARDS = 1 << 16


_BYTES = 8


def shard_of(site: str, shards: int = SHARDS) -> int:
    """The shard of the site, from 0 on."""
    digest = blake2b(site.encode(errors="surrogatepass"), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big") * shards >> 8 * _BYTES


class ShardPlace(NamedTuple):
    """A shard of a crawl: its number, and how many there are."""

    number: int
    of: int

    def owner(self, site: str) -> int:
        """The shard that the site belongs to."""
        return shard_of(site, self.of)


ChannelRows = Mapping[str, Sequence[Sequence[int]]]


_SENT, _RECEIVED, _UNSENT = "sent", "received", "unsent"


class ChannelEnd(NamedTuple):
    """The number of the last batch, and the atoms of all so far."""

    number: int = 0
    atoms: int = 0


class Channels:
    """Both ends that a shard has of its channels to the others."""

    def __init__(self) -> None:
        self._sent: dict[int, ChannelEnd] = {}
        self._received: dict[int, ChannelEnd] = {}
        self.unsent: set[int] = set()
        """Foreign pages that were never sent."""

    @classmethod
    def from_rows(cls, rows: ChannelRows) -> Self:
        """What `as_rows` has told of some channels."""
        channels = cls()
        for ends, name in ((channels._sent, _SENT), (channels._received, _RECEIVED)):
            ends.update((other, ChannelEnd(number, atoms)) for other, number, atoms in rows[name])
        channels.unsent.update(page for (page,) in rows[_UNSENT])
        return channels

    def as_rows(self) -> ChannelRows:
        """All ends, for the checkpoint of a store."""
        ends = {
            name: [(other, *end) for other, end in sorted(ends.items())]
            for name, ends in ((_SENT, self._sent), (_RECEIVED, self._received))
        }
        return {**ends, _UNSENT: [(page,) for page in sorted(self.unsent)]}

    @property
    def sent(self) -> Mapping[int, ChannelEnd]:
        """By receiver."""
        return self._sent

    @property
    def received(self) -> Mapping[int, ChannelEnd]:
        """By sender."""
        return self._received

    def apply(self, step: Step) -> None:
        """Fold one more step."""
        if step.kind is StepKind.FOREIGN:
            self.unsent.update(step.spending.links)
        elif step.kind is StepKind.SEND:
            _count(self._sent, step)
            self.unsent.difference_update(step.spending.links)
        elif step.kind is StepKind.RECEIVE:
            _count(self._received, step)

    def next_number(self, receiver: int) -> int:
        """Of the next batch to this shard."""
        return self._sent.get(receiver, ChannelEnd()).number + 1


def _count(ends: dict[int, ChannelEnd], step: Step) -> None:
    number, atoms = ends.get(step.page, ChannelEnd())
    if step.amount != number + 1:
        raise ValueError(f"batch {step.amount} follows batch {number}: the log has a gap")
    ends[step.page] = ChannelEnd(
        step.amount, atoms + sum(step.spending.weights) + step.spending.idle
    )

"""The numbers and sums of what a shard has sent to each other shard and received from it.

Law: they are a fold over the steps of the shard's log, like its ledger; and so are the foreign
pages that were never sent, which their shards do not know of unless others told them. A batch whose
number is not the next one of its sender is not posted: an old one was posted before, a new one
comes again.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Self

from minicrawl.opic.journal import Step, StepKind
from minicrawl.shards.batches import TransferBatch

ChannelRows = Mapping[str, Sequence[Sequence[int]]]
_SENT, _RECEIVED, _UNSENT = "sent", "received", "unsent"
_MOST_TIMES = 40
"""Who posts nothing for long is sent the same ever less often: the time between grows up to
so many times the first one.
"""


class ChannelEnd(NamedTuple):
    """The number of the last batch, and the atoms of all so far."""

    number: int = 0
    atoms: int = 0


class Arrival(Enum):
    """What to do with a batch that came."""

    NEXT = "post it"
    OLD = "drop it: it was posted"
    EARLY = "leave it: one before it is missing, and both will come again"


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

    def judge(self, batch: TransferBatch) -> Arrival:
        """Whether the batch is the next one of its sender."""
        expected = self._received.get(batch.sender, ChannelEnd()).number + 1
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


def _count(ends: dict[int, ChannelEnd], step: Step) -> None:
    number, atoms = ends.get(step.page, ChannelEnd())
    if step.amount != number + 1:
        raise ValueError(f"batch {step.amount} follows batch {number}: the log has a gap")
    ends[step.page] = ChannelEnd(
        step.amount, atoms + sum(step.spending.weights) + step.spending.idle
    )

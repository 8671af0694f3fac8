"""Foreign pages that wait to be sent, and the times at which batches are due, also once more.

Law: a foreign page waits if it holds cash or has never been sent. So the outbox follows from the
ledger and the channels, and is not stored. Pages without cash may wait as well, to tell their
owner of a shorter path.

Stale facts change the order of pages by as much as was read in the meantime, so they may be as
old as a small part of the crawl. Shards talk quickly at first, when the richest pages are found,
and ever more rarely later. Laws: the wait never shrinks as a crawl grows older. All pairs of
shards together send a limited number of messages per second, unless the wait for that would
exceed `longest_s`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from minicrawl.cluster.channels.batches import MOST_TRANSFERS
from minicrawl.opic.ledger.ledger import FOREIGN, Ledger

AGE_PART = 1 / 50
"""Usual wait, as a part of the age of the crawl."""
QUICKEST_S = 0.1
QUICK_SHARDS = 16
"""Number of shards that may all use `QUICKEST_S`; with more shards each pair waits longer."""
_MOST_INTERVALS = 40
"""Limit of the resend interval, in multiples of the first one. It doubles while nothing is posted.
"""


def exchange_interval_s(age_s: float, shards: int, longest_s: float) -> float:
    """Return the wait in a crawl of this age; `longest_s` is the wait in an old crawl."""
    quickest_s = QUICKEST_S * max(1.0, shards / QUICK_SHARDS) ** 2
    return min(longest_s, max(quickest_s, AGE_PART * age_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """Size and age at which batches are sent.

    A batch goes out when it has `transfers` pages or its first page has waited `wait_s`. It goes
    out again when its receiver has posted nothing for `again_s`.
    """

    transfers: int = MOST_TRANSFERS
    wait_s: float = 1.0
    again_s: float = 5.0


class Outbox:
    def __init__(
        self, ledger: Ledger, owner: Callable[[int], int], posting: Posting | None = None
    ) -> None:
        """`owner` returns the shard of a foreign page."""
        self._ledger, self._owner = ledger, owner
        self._posting = posting or Posting()
        # By receiver: its pages, in the order in which they came, and the time of the first.
        self._waiting: dict[int, dict[int, None]] = {}
        self._since: dict[int, float] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    @property
    def atoms(self) -> int:
        keys = self._ledger.key
        return sum(keys[page] for waiting in self._waiting.values() for page in waiting)

    def restore(self, now: float, unsent: Iterable[int] = ()) -> None:
        """Refill the outbox from a loaded ledger; `unsent` pages have never been sent."""
        flags = np.frombuffer(self._ledger.flags, dtype=np.uint8)
        keys = np.frombuffer(self._ledger.key, dtype=np.int64)
        self._waiting.clear()
        self._since.clear()
        self.paid(np.flatnonzero((flags == FOREIGN) & (keys > 0)).tolist(), now)
        self.tell(sorted(unsent), now)

    def paid(self, pages: Iterable[int], now: float) -> None:
        """Enqueue the foreign pages among `pages`, which have just been paid."""
        self.tell((page for page in pages if self._ledger.key[page]), now)

    def tell(self, pages: Iterable[int], now: float) -> None:
        """Enqueue the foreign pages among `pages`, with or without cash."""
        for page in pages:
            if self._ledger.flags[page] == FOREIGN:
                receiver = self._owner(page)
                self._since.setdefault(receiver, now)
                self._waiting.setdefault(receiver, {})[page] = None

    def sent(self, receiver: int, pages: Iterable[int], now: float) -> None:
        """Remove `pages`, whose cash has left. There are none if only the pot sent something."""
        waiting = self._waiting.pop(receiver, {})
        self._since.pop(receiver, None)
        for page in pages:
            waiting.pop(page, None)
        if waiting:
            self._waiting[receiver], self._since[receiver] = waiting, now

    def due(self, now: float, longest_s: float = inf) -> list[int]:
        """Return the receivers for which a batch is due. No page waits longer than `longest_s`."""
        size, wait_s = self._posting.transfers, min(self._posting.wait_s, longest_s)
        return [
            receiver
            for receiver, waiting in self._waiting.items()
            if len(waiting) >= size or now - self._since[receiver] >= wait_s
        ]

    def next_for(
        self, receiver: int, url_bytes: Callable[[int], int], most_bytes: int
    ) -> list[int]:
        """Return the pages of the next batch, ascending: as many as fit, but at least one."""
        chosen: list[int] = []
        for page in self._waiting.get(receiver, ()):
            most_bytes -= url_bytes(page)
            if chosen and most_bytes < 0:
                break
            chosen.append(page)
            if len(chosen) == self._posting.transfers:
                break
        return sorted(chosen)


class UnpostedBatches:
    """Resend timers for batches that one shard has sent and their receivers have not posted.

    A batch counts as delivered when its receiver has posted it: until then the sender can make it
    again from its log. So lost messages cost time, never cash.
    """

    def __init__(self, again_s: float) -> None:
        """`again_s` is the first resend interval."""
        self._again_s = again_s
        # By receiver: last posted number, time of its change or of the last resend, interval.
        self._stalls: dict[int, tuple[int, float, float]] = {}

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
            stalled_at, since, within_s = self._stalls.get(receiver, (None, now, 0.0))
            # A receiver that has posted anything since is slow, not deaf: its timer restarts.
            if stalled_at != last:
                self._stalls[receiver] = last, now, self._again_s
            elif now - since >= within_s:
                longer_s = min(2 * within_s, _MOST_INTERVALS * self._again_s)
                self._stalls[receiver] = last, now, longer_s
                yield receiver, last

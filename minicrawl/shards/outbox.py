"""What waits to be sent to other shards, and when it is sent.

Law: a foreign page waits in the outbox if it holds cash, or was never sent. So the outbox follows
from the ledger and the channels, and nothing of it is stored. Other pages may wait beside these, as
there is something to tell of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.ledger import FOREIGN, Ledger
from minicrawl.shards.batches import MOST_TRANSFERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """A batch is sent when it has so many `transfers`, or when the first has waited `wait_s`; and
    again if its receiver has posted nothing for `again_s`.
    """

    transfers: int = MOST_TRANSFERS
    wait_s: float = 1.0
    again_s: float = 15.0


class _Waiting:
    """Pages of one shard, in the order in which they began to wait."""

    __slots__ = ("pages", "since")

    def __init__(self, since: float) -> None:
        self.pages: dict[int, None] = {}
        self.since = since


class Outbox:
    """The foreign pages that hold cash, by the shards that they belong to."""

    def __init__(
        self, ledger: Ledger, owner: Callable[[int], int], posting: Posting | None = None
    ) -> None:
        """`owner` answers which shard a foreign page belongs to."""
        self._ledger, self._owner = ledger, owner
        self._posting = posting or Posting()
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        """The foreign pages that wait."""
        return sum(len(waiting.pages) for waiting in self._waiting.values())

    def restore(self, now: float, unsent: Iterable[int] = ()) -> None:
        """Find all that waits, in a ledger that was loaded; `unsent` pages were never sent."""
        flags = np.frombuffer(self._ledger.flags, dtype=np.uint8)
        keys = np.frombuffer(self._ledger.key, dtype=np.int64)
        self._waiting.clear()
        self.paid(np.flatnonzero((flags == FOREIGN) & (keys > 0)).tolist(), now)
        self.tell(sorted(unsent), now)

    def paid(self, pages: Iterable[int], now: float) -> None:
        """These pages, some of which may be foreign, were given cash."""
        flags, keys = self._ledger.flags, self._ledger.key
        for page in pages:
            if flags[page] == FOREIGN and keys[page]:
                self._wait(page, now)

    def tell(self, pages: Iterable[int], now: float) -> None:
        """Those of these pages that are foreign are sent as they are, with or without cash."""
        for page in pages:
            if self._ledger.flags[page] == FOREIGN:
                self._wait(page, now)

    def sent(self, receiver: int, pages: Iterable[int], now: float) -> None:
        """What these pages held has left; none of them, if the pot alone sent something."""
        waiting = self._waiting.pop(receiver, _Waiting(now))
        for page in pages:
            waiting.pages.pop(page, None)
        if waiting.pages:
            waiting.since = now
            self._waiting[receiver] = waiting

    def due(self, now: float, longest_s: float = inf) -> list[int]:
        """The shards that something is to be sent to now. Nothing waits longer than `longest_s`."""
        size, wait_s = self._posting.transfers, min(self._posting.wait_s, longest_s)
        return [
            receiver
            for receiver, waiting in self._waiting.items()
            if len(waiting.pages) >= size or now - waiting.since >= wait_s
        ]

    def next_for(
        self, receiver: int, url_bytes: Callable[[int], int], most_bytes: int
    ) -> list[int]:
        """The pages of the next batch: as many as fit, at least one if any waits; ascending."""
        chosen: list[int] = []
        waiting = self._waiting.get(receiver)
        for page in waiting.pages if waiting else ():
            most_bytes -= url_bytes(page)
            if chosen and most_bytes < 0:
                break
            chosen.append(page)
            if len(chosen) == self._posting.transfers:
                break
        return sorted(chosen)

    def _wait(self, page: PageId, now: float) -> None:
        receiver = self._owner(page)
        waiting = self._waiting.get(receiver)
        if waiting is None:
            waiting = self._waiting[receiver] = _Waiting(now)
        waiting.pages[page] = None

"""Admission of pages: those below a cash threshold wait while richer ones wait in other shards.

Laws: of each host, only the pages count that can be requested before the next threshold; so pages
that wait for their host's delay hold back no others. Without a threshold pages are read as on one
machine. The orders by cash and by siblings have a threshold; that of siblings compares cash times
the factor of the group.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.cash_threshold import (
    FEWEST,
    NO_THRESHOLD,
    cash_threshold,
    pages_to_admit,
    sketch,
)
from minicrawl.cluster.records import ShardFacts
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import PageId
from minicrawl.states import State

_EXAMINED_PER_PAGE = 8
"""Pages to examine for each page in a sketch: many are of the same hosts."""

PagesSoon = Callable[[int, float], int]
"""(host, seconds) -> number of pages of the host that can be requested in that time."""


class AdmissionThreshold:
    """Cash threshold from the last facts, and this shard's sketch for the next threshold."""

    def __init__(
        self, frontier: Frontier, leased: Callable[[], Collection[int]], pages_soon: PagesSoon
    ) -> None:
        """`leased` returns the pages in progress, and those to be read after all others."""
        self._frontier, self._leased, self._pages_soon = frontier, leased, pages_soon
        self._pages = FEWEST
        self.key = NO_THRESHOLD
        self.holds_back = False
        """True if `admits` refused the last page."""

    def admits(self, page: PageId) -> bool:
        (key,) = self._keys(np.array([page], dtype=np.uint32))
        self.holds_back = bool(key < self.key)
        return not self.holds_back

    def _keys(self, pages: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the keys of unread pages, in atoms."""
        if (siblings := self._frontier.siblings) is not None:
            from minicrawl.opic.siblings.values import urgency

            return urgency(siblings, pages).astype(np.int64)
        return np.frombuffer(self._frontier.ledger.key, dtype=np.int64)[pages]

    def hear(self, shard_facts: Iterable[ShardFacts], within_s: float) -> None:
        """Compute the threshold for the next `within_s` seconds."""
        facts = list(shard_facts)
        self._pages = pages_to_admit(facts, within_s)
        self.key = cash_threshold([shard.sketch for shard in facts], self._pages)
        self.holds_back = False

    def sketch(self, within_s: float) -> Counter[int]:
        """Return the sketch of the richest waiting pages that may be requested within this time."""
        waits = self._frontier.states() == State.UNREAD
        waits[list(self._leased())] = False
        unread = np.flatnonzero(waits).astype(np.uint32)
        keys = self._keys(unread)
        # The sketch has only the richest pages. Picking them takes linear time; many may be of one
        # host, so several times as many are picked as the sketch tells.
        if (most := _EXAMINED_PER_PAGE * self._pages) < len(keys):
            best = np.argpartition(-keys, most)[:most]
            unread, keys = unread[best], keys[best]
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)[unread]
        distinct_hosts, which = np.unique(hosts, return_inverse=True)
        counts = np.array(
            [self._pages_soon(host, within_s) for host in distinct_hosts.tolist()], np.int64
        )
        # Of each host, the richest pages in this number.
        order = np.lexsort((-keys, hosts))
        starts = np.flatnonzero(np.diff(hosts[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        return sketch(keys[order[place < counts[which][order]]], self._pages)

"""One order for all shards: pages below a level of cash wait while richer ones wait elsewhere.

Laws: a host counts with as many pages as can be asked for until the level is found anew; so pages
that wait for their host's delay hold up nobody elsewhere. Without a level pages are read as on one
machine. Only an order by cash has levels.

headroom   so many times the pages that all shards can read until the next level are above this one
choice     A shard has one if more hosts may be asked than it asks at a time. Such a shard reads the
           richest pages first on one machine as well, so it has less headroom, above all in a young
           crawl, whose levels follow each other quickly. Without a choice each host is asked as
           soon as it may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from math import ceil

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.shard.exchange import TELL_S
from minicrawl.frontier.pages import Frontier
from minicrawl.model import PageId, State
from minicrawl.shards.facts import ShardFacts
from minicrawl.shards.water import NO_LEVEL, sketch, water_level

HEADROOM = 2
FEWEST = 16
"""Pages that a shard counts as able to read in a second, if it has read fewer."""
_LOOKED_AT = 8
"""So many times the pages that are told are looked at: many of them are of the same hosts."""

PagesSoon = Callable[[int, float], int]
"""A host and a time -> the pages of it that can be asked for in that time."""


class PageLevel:
    """The level as of the last facts, and what this shard tells for the next one."""

    def __init__(
        self, frontier: Frontier, leased: Callable[[], Collection[int]], pages_soon: PagesSoon
    ) -> None:
        """`leased` pages are under way, or are read later than all others."""
        self._frontier, self._leased, self._pages_soon = frontier, leased, pages_soon
        self._pages = FEWEST
        self.key = NO_LEVEL
        self.holds_back = False
        """Whether a page was held back since the last level."""
        self.has_choice = False
        """Whether more hosts could be asked, as of the last sketch, than are asked at a time."""

    def admits(self, page: PageId) -> bool:
        """Whether the page may be read now."""
        self.holds_back = self._frontier.ledger.key[page] < self.key
        return not self.holds_back

    def hear(self, told: Iterable[ShardFacts], within_s: float) -> None:
        """Find the level anew, for so long."""
        facts = list(told)
        least = min(HEADROOM, 1 + within_s / TELL_S)
        self._pages = ceil(
            sum(
                ceil(max(one.pace, FEWEST) * within_s) * (least if one.has_choice else HEADROOM)
                for one in facts
            )
        )
        self.key = water_level([one.sketch for one in facts], self._pages)
        self.holds_back = False

    def sketch(self, within_s: float, slots: int) -> Counter[int]:
        """The keys of the richest pages that wait and may be asked for in this time; `slots` hosts
        are asked at a time.
        """
        waits = self._frontier.states() == State.UNREAD
        waits[list(self._leased())] = False
        unread = np.flatnonzero(waits)
        keys = np.frombuffer(self._frontier.ledger.key, dtype=np.int64)[unread]
        if (most := _LOOKED_AT * self._pages) < len(keys):
            best = np.argpartition(-keys, most)[:most]
            unread, keys = unread[best], keys[best]
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)[unread]
        found, which = np.unique(hosts, return_inverse=True)
        counts = np.array([self._pages_soon(host, within_s) for host in found.tolist()], np.int64)
        self.has_choice = int(np.count_nonzero(counts)) > slots
        return sketch(keys[_is_among_first(hosts, keys, counts[which])], self._pages)


def _is_among_first(
    hosts: NDArray[np.uint32], keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each page is one of the richest of its host, of which so many count."""
    order = np.lexsort((-keys, hosts))
    starts = np.flatnonzero(np.diff(hosts[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    found = np.empty(len(order), dtype=np.bool_)
    found[order] = place < counts[order]
    return found

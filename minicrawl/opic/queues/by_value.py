"""The sibling order, weighted by the value that the user's scorer will probably give each page.

The queue is that of the sibling order. A page's worth is multiplied by p^(W t), with the expected
value p, the user's weight W and the trust t in p (see `expected_value`), as a level of one byte.
Each page read changes p for many pages. Computing them all anew after each page was rejected: it
takes time in proportion to the known pages. Instead levels are updated

    at once          for new pages, and for a page that is taken: if it has sunk, it waits again
    at each look     for pages that received links, and for siblings of pages that were read
    in turn          for all others: each gets a new level before a twentieth more pages are read

Laws: cash is read, never scaled. As long as the trust is 0, the order is that of siblings.
"""

from array import array
from collections.abc import Sequence

import numpy as np

from minicrawl.opic.importance.expected_value import ValueEstimate
from minicrawl.opic.ledger.ledger import UNREAD, Plan
from minicrawl.opic.queues.by_group import ByGroup
from minicrawl.opic.queues.by_site import ImportanceOfHosts
from minicrawl.opic.queues.group_queue import PAGES_AT_ONCE
from minicrawl.opic.siblings.groups import NO_GROUP, Pages
from minicrawl.opic.siblings.siblings import Siblings

_PARTS = 20
"""Every level is updated before the number of pages read has grown by a twentieth."""
_MOST_AT_A_LOOK = 1 << 14


class ByValue(ByGroup):
    """Queue of pages in the sibling order, weighted by their expected value."""

    def __init__(
        self,
        siblings: Siblings,
        estimate: ValueEstimate,
        weight: float,
        importance: ImportanceOfHosts | None = None,
    ) -> None:
        """Rank pages by the importance of their site first if `importance` is given."""
        super().__init__(siblings, importance)
        self._estimate, self._weight = estimate, weight
        self._levels = siblings.levels = bytearray()
        self._read = array("I")
        """Pages read since the last `look`."""
        self._looked_at = self._plans
        self._next = 0
        """Next page to get a new level in turn."""

    def load(self) -> None:
        self._grow()
        super().load()

    def enqueue_new(self) -> None:
        self._grow()
        super().enqueue_new()

    def _grow(self) -> None:
        """Append the levels of new pages."""
        for first in range(len(self._levels), self._siblings.known, PAGES_AT_ONCE):
            end = min(first + PAGES_AT_ONCE, self._siblings.known)
            pages = np.arange(first, end, dtype=np.uint32)
            self._levels += self._estimate.levels(pages, self._weight).tobytes()

    def take(self) -> int | None:
        """Lease and return the best page and its host; None if no ready host has a page."""
        while (page := super().take()) is not None:
            (level,) = self._estimate.levels(np.array([page], dtype=np.uint32), self._weight)
            has_sunk = level > self._levels[page]
            self._levels[page] = level
            if not has_sunk:
                return page
            self.release(page)
            self.resume(self._siblings.host_of[page])
        return None

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        self._read.extend([plan.page for plan in plans])
        super().posted(plans, new, paid)

    def look(self) -> None:
        given = np.concatenate((np.array(self._given), self._siblings_of_read(), self._in_turn()))
        pages, siblings = np.unique(given).astype(np.uint32), self._siblings
        pages = pages[np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[pages] == UNREAD]
        levels = np.frombuffer(self._levels, dtype=np.uint8)
        new_levels, before = self._estimate.levels(pages, self._weight), levels[pages]
        levels[pages] = new_levels
        self._given.extend(pages[new_levels != before].tolist())
        sunk = pages[new_levels > before]
        hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[sunk]
        groups = siblings.groups.of(sunk, hosts)
        sunk, groups = sunk[groups != NO_GROUP], groups[groups != NO_GROUP]
        are_best = np.frombuffer(self._best, dtype=np.uint32)[groups] == sunk
        for group in np.unique(groups).tolist():
            self.members.forget(group)  # the ranking may overrate members
        for group in groups[are_best].tolist():
            self._look_through(group)
        super().look()  # applies worths that have grown

    def _siblings_of_read(self) -> Pages:
        """Return the siblings of pages read since the last look, and other pages between them."""
        read, self._read = np.array(self._read, dtype=np.uint32), array("I")
        hosts = np.frombuffer(self._siblings.host_of, dtype=np.uint32)[read]
        groups = np.unique(self._siblings.groups.of(read, hosts))
        spans = [
            np.arange(*self._siblings.groups.span(group, self.known), dtype=np.uint32)
            for group in groups[groups != NO_GROUP].tolist()
        ]
        return np.concatenate([np.empty(0, dtype=np.uint32), *spans])

    def _in_turn(self) -> Pages:
        """Return the next pages to get a new level."""
        plans, self._looked_at = max(self._plans - self._looked_at, 1), self._plans
        due = -(-_PARTS * plans * self.known // max(self._plans, 1))
        first, count = self._next, min(due, self.known, _MOST_AT_A_LOOK)
        self._next = (first + count) % max(self.known, 1)
        return (np.arange(first, first + count) % max(self.known, 1)).astype(np.uint32)

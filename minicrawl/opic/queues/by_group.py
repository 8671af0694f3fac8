"""The best page among the ready hosts in the sibling order.

Law: the order is exact (see `group_queue`).
"""

from array import array
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.families.rounds import at_once
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.queues.by_site import ImportanceOfHosts
from minicrawl.opic.queues.group_queue import GroupQueue
from minicrawl.opic.siblings.groups import OrderChanges
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import page_key

PART_AT_FIRST = 16


class ByGroup(GroupQueue):
    """Queue of pages in the sibling order. Every plan must be reported with `posted`."""

    def __init__(self, siblings: Siblings, importance: ImportanceOfHosts | None = None) -> None:
        """Rank pages by the importance of their site first if `importance` is given."""
        super().__init__(siblings, importance)
        siblings.changes = OrderChanges()  # earlier ones are in the keys
        self._given = array("I")
        """Pages that received cash since the last `look`."""
        self._plans = self._look_at = siblings.means.turns
        """Number of plans so far, and at the next look."""
        hosts = self.hosts
        self.resume, self.pause, self.is_ready = hosts.resume, hosts.pause, hosts.is_ready
        self.has_pages, self.precedence = hosts.has_pages, hosts.precedence
        self.limit = hosts.limit

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        """Update the order after plans were posted, which ends the leases of their pages.

        `new` pages were born before; `paid` are unread pages that were endowed.
        """
        given = self._given
        for plan in plans:
            self.end_lease(plan.page)
            given.extend(plan.links)
            if plan.extras:
                given.extend([page for page, _ in plan.extras])
            self._plans += 1
        if self.known != self._siblings.known:
            self.enqueue_new()
        if paid or self._siblings.changes.hosts or self._plans >= self._look_at:
            self.look()
        if paid:
            for page in set(paid) - self.members.leased.keys():
                self.enqueue(page)

    def look(self) -> None:
        """Update the order by everything posted since the last look."""
        self._look_at = self._plans + min(self._plans // PART_AT_FIRST, at_once(self._plans))
        given, self._given = self._given, array("I")
        if given:
            self.give(_once(np.frombuffer(given, dtype=np.uint32)))
        changes, self._siblings.changes = self._siblings.changes, OrderChanges()
        if changes.of_worths:
            self.key_anew()
        groups = [self.key_all_of(changes.hosts)] if changes.hosts else []
        if changes.of_all:
            groups.append(self._siblings.groups.judged())
        if groups:
            self.key_many(_once(np.concatenate(groups)))

    def release(self, page: PageId) -> None:
        """End the page's lease and enqueue it again. The state of its host does not change."""
        self.end_lease(page)
        self.enqueue(page)

    @property
    def leased(self) -> Collection[PageId]:
        return self.members.leased.keys()

    def key(self, page: PageId) -> int:
        """Return the sort key of a page: its worth times the sibling factor, in 1/16 atom."""
        return page_key(self._siblings, page)


def _once(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct numbers, ascending; for a few hundred 3 times as fast as `np.unique`."""
    numbers.sort()
    is_first = np.empty(len(numbers), dtype=np.bool_)
    is_first[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]

"""The best page by its siblings among the hosts that may be asked now: exact order.

Law: `take` answers with a page of the largest factor * worth among the pages of ready hosts that
wait and are not on lease; see `values` for what these are. Pages wait from their birth, and what a
turn has revealed counts for its group at once. What links give to pages that were known before is
looked at after 32 plans: in the beginning after a sixteenth of those so far, and in a large crawl
after an 8,192nd of them, up to 64.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.by_site import ImportanceOfHosts
from minicrawl.opic.ledger import Plan
from minicrawl.opic.siblings import values
from minicrawl.opic.siblings.group_queue import GroupQueue
from minicrawl.opic.siblings.groups import OrderChanges
from minicrawl.opic.siblings.rounds import at_once
from minicrawl.opic.siblings.shown import Siblings

PART_AT_FIRST = 16


class ByGroup:
    """Picks pages by what their siblings have shown. It has to hear of all that is `posted`."""

    __slots__ = ("_changes", "_given", "_look_at", "_plans", "_queue", "_siblings")

    def __init__(self, siblings: Siblings, importance: ImportanceOfHosts | None = None) -> None:
        """With `importance` pages of the site that matters most come first."""
        self._siblings, self._queue = siblings, GroupQueue(siblings, importance)
        self._changes = siblings.changes = OrderChanges()
        self._given = array("I")
        """Pages that were given cash since it looked last."""
        self._plans = self._look_at = siblings.means.turns
        """How many plans there were, and when it looks next."""

    # ------------------------------------------------------------ pages that wait

    def load(self) -> None:
        """All pages that are known and not read wait from now on."""
        self._queue.load()

    def wait_again(self, pages: Iterable[int]) -> None:
        """These pages had their turn, and wait for another one."""
        for page in pages:
            self._queue.wait_again(page)

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        """Plans were posted, so their pages have no lease; `new` pages were born before, and
        `paid` ones, which were not read, were endowed.
        """
        for plan in plans:
            self._queue.end_lease(plan.page)
            self._note_gifts(plan)
        self._queue.bear()
        if paid or self._changes.hosts or self._plans >= self._look_at:
            self.look()
        if paid:
            for page in set(paid) - self._queue.members.leased.keys():
                self._queue.let_wait(page)

    def _note_gifts(self, plan: Plan) -> None:
        if plan.links:
            self._given.extend(plan.links)
        if plan.extras:
            self._given.extend([page for page, _ in plan.extras])
        self._plans += 1

    def look(self) -> None:
        """Order pages by all that was posted."""
        self._look_at = self._plans + min(self._plans // PART_AT_FIRST, at_once(self._plans))
        given, self._given = self._given, array("I")
        if given:
            self._queue.give(_once(np.frombuffer(given, dtype=np.uint32)))
        if self._changes:
            self._key_anew(self._changes)
            self._changes = self._siblings.changes = OrderChanges()

    def _key_anew(self, changes: OrderChanges) -> None:
        groups = [self._queue.key_all_of(host) for host in changes.hosts]
        if changes.of_all:
            groups.append(self._siblings.groups.judged())
        self._queue.key_many(_once(np.concatenate(groups)))

    def release(self, page: PageId) -> None:
        """The lease of the page has ended, and it waits again. Its host stays as it is."""
        self._queue.end_lease(page)
        self._queue.let_wait(page)

    def take(self) -> int | None:
        """Lease the best page and its host; None if no ready host has a page."""
        return self._queue.take()

    # ------------------------------------------------------------ hosts

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        self._queue.hosts.resume(host)

    def pause(self, host: int) -> None:
        """The host may not be asked."""
        self._queue.hosts.pause(host)

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""
        return self._queue.hosts.is_ready(host)

    def has_pages(self, host: int) -> bool:
        """Whether a host that may be asked has pages that wait."""
        return self._queue.hosts.has_pages(host)

    # ------------------------------------------------------------ what is known

    def precedence(self, host: int) -> float:
        """Pages of hosts with less come first, whatever their keys are."""
        return self._queue.hosts.precedence(host)

    def key(self, page: PageId) -> int:
        """By what the page is ordered: the cash that it is as good as, in 16ths of atoms."""
        return values.key(self._siblings, page)


def _once(numbers: NDArray[Any]) -> NDArray[Any]:
    """Each of them once, in ascending order: of a few hundred it takes a third of `np.unique`."""
    numbers.sort()
    is_first = np.empty(len(numbers), dtype=np.bool_)
    is_first[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]

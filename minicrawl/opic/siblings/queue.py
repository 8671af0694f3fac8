"""The queue of groups, each with the key of its best member, and of the lone pages beside them.

A group waits in the queue of its host, so `ByHost` handles groups as it does pages. A changed
factor then costs one new key, however many members the group has. The best member is searched for
only when the group is taken; until then its key assumes a member with the highest possible worth.
When a host's multiplier falls, its keys stay too high until one of its items is taken: then all
items of the host get new keys.

worth    of a group: the worth of its best member, or an upper bound if the member is unknown
held     group whose waiting members are all on lease
empty    group without waiting members
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger import UNREAD, Plan
from minicrawl.opic.order import ByHost, BySite, ImportanceOfHosts
from minicrawl.opic.siblings import groups as values
from minicrawl.opic.siblings.families import at_once
from minicrawl.opic.siblings.groups import (
    NO_GROUP,
    Floats,
    Numbers,
    OrderChanges,
    Pages,
    Siblings,
    key_of,
    keys_of,
)
from minicrawl.opic.siblings.members import (
    LONE,
    NOBODY,
    PAGES_AT_ONCE,
    EligibleItems,
    FreeMembers,
    LonePages,
    best_members,
    best_of_newborn,
)

_NOT_KNOWN = 0xFFFFFFFE
_FEW_GROUPS = 8
"""Up to this number a loop is faster than arrays."""
_WAITING, _EMPTY = 0, 1


class GroupQueue:
    """The waiting groups. `hosts` has the queues of their hosts, `members` knows the leases."""

    __slots__ = (
        "_best",
        "_eligible",
        "_flags",
        "_keys",
        "_siblings",
        "_worth",
        "hosts",
        "known",
        "lone",
        "members",
    )

    def __init__(self, siblings: Siblings, importance: ImportanceOfHosts | None = None) -> None:
        """Rank the hosts by the importance of their site first if `importance` is given."""
        self._siblings = siblings
        self._keys, self._flags = array("q"), bytearray()
        self._best, self._worth = array("I"), array("d")
        self.members = FreeMembers(siblings)
        self.known = 0
        """Number of pages registered here."""
        self._eligible = eligible = EligibleItems(siblings, self._keys, self._flags)
        self.hosts = ByHost(eligible) if importance is None else BySite(eligible, importance)
        self.lone = LonePages(siblings, self.hosts)

    # ------------------------------------------------------------ pages that become known

    def load(self) -> None:
        """Enqueue all groups and lone pages."""
        first = 0
        while first < len(self._siblings.groups):
            stop = self._siblings.groups.until(first, PAGES_AT_ONCE)
            self._add(range(first, stop))
            first = stop
        self.known = self._siblings.known
        flags = np.frombuffer(self._flags, dtype=np.uint8)
        waiting = np.flatnonzero(flags == _WAITING).astype(np.uint32)
        self.hosts.wait([waiting, *self.lone.among(self.known)])

    def bear(self) -> None:
        """Enqueue new groups and lone pages."""
        pages = range(self.known, self._siblings.known)
        if not pages:
            return
        self.known = pages.stop
        if new := range(len(self._keys), len(self._siblings.groups)):
            if len(new) <= _FEW_GROUPS:
                self._add_few(new, pages)
            else:
                self._add(new)
            self.hosts.born(new)
        self.lone.bear(pages)

    def _add_few(self, new: range, pages: range) -> None:
        """Add groups whose members are among `pages`, all of which wait."""
        siblings = self._siblings
        for group in new:
            found = best_of_newborn(siblings, group)
            if found is None:
                most = max(siblings.ledger.key[pages.start : pages.stop])
                found = most * values.MOST_LIFT, _NOT_KNOWN
            worth, page = found
            self._flags.append(_WAITING)
            self._best.append(page)
            self._worth.append(worth)
            self._keys.append(key_of(values.factor(siblings, group), worth))

    def _add(self, new: range) -> None:
        best, worths = best_members(self._siblings, new)
        keys = keys_of(values.factors(self._siblings, np.arange(new.start, new.stop)), worths)
        flags = np.where(best == NOBODY, _EMPTY, _WAITING)
        self._flags += flags.astype(np.uint8).tobytes()
        self._best.frombytes(best.tobytes())
        self._worth.frombytes(worths.tobytes())
        self._keys.frombytes(keys.tobytes())

    # ------------------------------------------------------------ leases

    def take(self) -> int | None:
        """Lease and return the best page and its host; None if no ready host has a page."""
        while True:
            item = self.hosts.take()
            if item is None:
                return None
            if self._siblings.budgets.rounds and self._has_fallen(item):
                continue
            if item >= LONE:
                self.members.leased[item - LONE] = NO_GROUP
                return item - LONE
            if self._best[item] != _NOT_KNOWN:
                return self._lease(item)
            self._look_through(item)
            self.hosts.resume(self._siblings.groups.host[item])

    def _has_fallen(self, item: int) -> bool:
        """Return True if the keys of the item's host were outdated, after updating them."""
        host = self._eligible.host_of[item]
        if not self._eligible.is_outdated(host):
            return False
        self.hosts.release(item)
        self.key_many(self.key_all_of(host))
        self.hosts.resume(host)
        return True

    def _lease(self, group: int) -> int:
        page = self._best[group]
        self.members.lease(group, page)
        self._best[group] = _NOT_KNOWN
        self.hosts.release(group)
        return page

    def end_lease(self, page: PageId) -> None:
        """End the page's lease, if any, and update its group, whose factor may have changed."""
        group = self.members.end_lease(page)
        if group == NO_GROUP:
            self.hosts.release(LONE + page)
        elif group is None:
            return
        elif self._best[group] == _NOT_KNOWN and self.members.is_quick(group):
            self._look_through(group)  # cheaper now than taking the group for nothing later
        elif self._best[group] == NOBODY:
            self._hold(group)
        else:
            self._key(group)

    # ------------------------------------------------------------ the best member

    def give(self, pages: Pages) -> None:
        """Update the keys of pages that received cash."""
        siblings = self._siblings
        pages = pages[np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[pages] == UNREAD]
        hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
        groups = siblings.groups.of(pages, hosts)
        is_lone = groups == NO_GROUP
        self._offer_lone(pages[is_lone], hosts[is_lone])
        self._compare(pages[~is_lone], groups[~is_lone])

    def _offer_lone(self, pages: Pages, hosts: Pages) -> None:
        self.hosts.offer_many(pages + LONE, hosts, values.lone_keys(self._siblings, pages))

    def _compare(self, pages: Pages, groups: Numbers) -> None:
        """Find the waiting pages that have become the best of their groups."""
        worths = values.worths(self._siblings, pages)
        if floors := self.members.floors:
            for page, group, worth in _rows(pages, groups, worths):
                if worth >= floors.get(group, inf):
                    self.members.rank(group, page, worth)
        grown = worths > np.frombuffer(self._worth, dtype=np.float64)[groups]
        grown &= np.frombuffer(self._best, dtype=np.uint32)[groups] != NOBODY
        most, leased, found = self._worth, self.members.leased, set[int]()
        for page, group, worth in _rows(pages[grown], groups[grown], worths[grown]):
            if worth > most[group] and page not in leased:
                self._put_before(group, page, worth)
                found.add(group)
        if len(found) <= _FEW_GROUPS:
            for group in found:
                self._key(group)
        else:
            self.key_many(np.array(list(found)))

    def _put_before(self, group: int, page: int, worth: float) -> None:
        """Make a page the best member in place of one that is worth less."""
        best = self._best[group]
        if best != _NOT_KNOWN:
            self.members.rank(group, best, self._worth[group])
            self._best[group] = page
        self._worth[group] = worth

    def let_wait(self, page: PageId) -> None:
        """Enqueue a page that waits and has no lease."""
        group, worth = self._siblings.group_of(page), values.worth(self._siblings, page)
        if group == NO_GROUP:
            self.hosts.offer((LONE + page,))
            return
        self.members.forget(group)  # the ranking may overrate the page
        if self._best[group] == NOBODY:
            self._put_first(group, page, worth)
        elif worth > self._worth[group]:
            self._put_before(group, page, worth)
            self._keys[group] = key_of(values.factor(self._siblings, group), worth)
            self.hosts.offer((group,))

    def wait_again(self, page: PageId) -> None:
        """Enqueue a page after its turn for another one."""
        if self._siblings.groups.is_lone(page):
            self.hosts.born((LONE + page,))
        else:
            self.let_wait(page)

    def _look_through(self, group: int) -> None:
        """Find the best available member; without one the group is held or empty."""
        found = self.members.take_best(group)
        if found is None:
            self._best[group] = NOBODY
            self._hold(group)
        else:
            worth, page = found
            self._put_first(group, page, worth)

    def _hold(self, group: int) -> None:
        """Mark the group as held if members are on lease, else as empty."""
        if self.members.is_held(group):
            self._flags[group] = _WAITING
            self.hosts.hold(group)
        else:
            self._flags[group] = _EMPTY
            self.hosts.release(group)

    def _put_first(self, group: int, page: int, worth: float) -> None:
        """Make the page the group's best member."""
        was_empty = self._flags[group] == _EMPTY
        self._best[group], self._worth[group] = page, worth
        self._flags[group] = _WAITING
        self._keys[group] = key_of(values.factor(self._siblings, group), worth)
        if was_empty:
            self.hosts.born((group,))
        else:
            self.hosts.release(group)

    # ------------------------------------------------------------ keys

    def key_all_of(self, host: int) -> Numbers:
        """Update the keys of a host's lone pages; return its groups, to be keyed by the caller."""
        self._eligible.note_keyed(host)
        items = self.hosts.waiting(host)
        lone = items[items >= LONE] - LONE
        self._offer_lone(lone, np.full(len(lone), host, dtype=np.uint32))
        found: Numbers = items[items < LONE].astype(np.int64)
        return found

    def _key(self, group: int) -> None:
        """Update the key of a group whose factor may have changed."""
        self._keys[group] = key_of(values.factor(self._siblings, group), self._worth[group])
        self.hosts.offer((group,))

    def key_many(self, groups: Numbers) -> None:
        """Vectorised `_key`."""
        groups = groups[np.frombuffer(self._best, dtype=np.uint32)[groups] != NOBODY]
        keys = np.frombuffer(self._keys, dtype=np.int64)
        worths = np.frombuffer(self._worth, dtype=np.float64)[groups]
        found = keys_of(values.factors(self._siblings, groups), worths)
        have_moved = found != keys[groups]
        groups, found = groups[have_moved], found[have_moved]
        keys[groups] = found
        hosts = np.frombuffer(self._siblings.groups.host, dtype=np.uint32)[groups]
        self.hosts.offer_many(groups, hosts, found)


def _rows(pages: Pages, groups: Numbers, worths: Floats) -> Iterator[tuple[int, int, float]]:
    return zip(pages.tolist(), groups.tolist(), worths.tolist(), strict=True)


# ================================================================ by group
#
# The best page in the sibling order among the ready hosts: exact order.
#
# `take` returns a page with the largest factor * worth among the waiting, unleased pages of ready
# hosts (see `groups`). Newborn pages wait at once, and a turn changes the key of its group at once.
# Cash given to older pages takes effect every 32 plans: more often at first, after each sixteenth
# of the plans so far, and in a large crawl after each 8,192nd of them, up to 64 plans.

PART_AT_FIRST = 16


class ByGroup:
    """Picks pages by what their siblings revealed. Every plan must be reported with `posted`."""

    __slots__ = ("_changes", "_given", "_look_at", "_plans", "_queue", "_siblings")

    def __init__(self, siblings: Siblings, importance: ImportanceOfHosts | None = None) -> None:
        """Rank pages by the importance of their site first if `importance` is given."""
        self._siblings, self._queue = siblings, GroupQueue(siblings, importance)
        self._changes = siblings.changes = OrderChanges()
        self._given = array("I")
        """Pages that received cash since the last `look`."""
        self._plans = self._look_at = siblings.means.turns
        """Number of plans so far, and at the next look."""

    # ------------------------------------------------------------ pages that wait

    def load(self) -> None:
        """Enqueue all known pages that were not read."""
        self._queue.load()

    def wait_again(self, pages: Iterable[int]) -> None:
        """Enqueue pages after their turn for another one."""
        for page in pages:
            self._queue.wait_again(page)

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        """Update the order after plans were posted, which ends the leases of their pages.

        `new` pages were born before; `paid` are unread pages that were endowed.
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
        """Update the order by everything posted since the last look."""
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
        """End the page's lease and enqueue it again. The state of its host does not change."""
        self._queue.end_lease(page)
        self._queue.let_wait(page)

    def take(self) -> int | None:
        """Lease and return the best page and its host; None if no ready host has a page."""
        return self._queue.take()

    # ------------------------------------------------------------ hosts

    def resume(self, host: int) -> None:
        """Mark the host as ready."""
        self._queue.hosts.resume(host)

    def pause(self, host: int) -> None:
        """Mark the host as not ready."""
        self._queue.hosts.pause(host)

    def is_ready(self, host: int) -> bool:
        """Return True if the host is ready."""
        return self._queue.hosts.is_ready(host)

    def has_pages(self, host: int) -> bool:
        """Return True if a ready host has waiting pages."""
        return self._queue.hosts.has_pages(host)

    # ------------------------------------------------------------ what is known

    def precedence(self, host: int) -> float:
        """Return the rank of the host: lower ones come first, whatever the keys of pages."""
        return self._queue.hosts.precedence(host)

    def key(self, page: PageId) -> int:
        """Return the sort key of a page: its cash times the sibling factor, in 1/16 atom."""
        return values.key(self._siblings, page)


def _once(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct numbers, ascending; for a few hundred 3 times as fast as `np.unique`."""
    numbers.sort()
    is_first = np.empty(len(numbers), dtype=np.bool_)
    is_first[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]

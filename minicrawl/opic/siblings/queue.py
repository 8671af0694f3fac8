"""Groups that wait, each with the key of its best member, and the lone pages beside them.

Law: a group waits in the queue of its host, so `by_host` does for groups what it does for pages.
That a factor changes costs one key, however many members the group has. Which member is the best is
looked for only when the group is taken: until then its key is that of a member worth as much as any
may be. What waits of a host that is held back more than before has keys that are too good until one
of them is taken: then all of that host are keyed anew.

worth    of a group: that of its best member, or a bound for it where the best is not known
held     a group whose waiting members are all on lease
empty    a group without members that wait
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
"""Up to so many it is quicker to go one by one."""
_WAITING, _EMPTY = 0, 1


class GroupQueue:
    """The groups that wait. `hosts` are the queues of their hosts, `members` knows the leases."""

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
        """With `importance` groups of the site that matters most come first."""
        self._siblings = siblings
        self._keys, self._flags = array("q"), bytearray()
        self._best, self._worth = array("I"), array("d")
        self.members = FreeMembers(siblings)
        self.known = 0
        """The pages that it has heard of."""
        self._eligible = eligible = EligibleItems(siblings, self._keys, self._flags)
        self.hosts = ByHost(eligible) if importance is None else BySite(eligible, importance)
        self.lone = LonePages(siblings, self.hosts)

    # ------------------------------------------------------------ pages that become known

    def load(self) -> None:
        """All groups and lone pages wait from now on."""
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
        """New groups and lone pages wait."""
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
        """The members of these groups are among these pages, and all of them wait."""
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
        """Lease the best page and its host; None if no ready host has a page."""
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
        """Whether its host is held back more than when it was keyed. Then it is keyed anew."""
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
        """The page has no lease, whether it had one or not. Its turn may have shown something."""
        group = self.members.end_lease(page)
        if group == NO_GROUP:
            self.hosts.release(LONE + page)
        elif group is None:
            return
        elif self._best[group] == _NOT_KNOWN and self.members.is_quick(group):
            self._look_through(group)  # now it costs less than to take the group in vain later
        elif self._best[group] == NOBODY:
            self._hold(group)
        else:
            self._key(group)

    # ------------------------------------------------------------ the best member

    def give(self, pages: Pages) -> None:
        """These pages were given cash."""
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
        """Find which of these pages, which wait, are the best of their groups now."""
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
        """The page is worth more than the best member, which waits behind it."""
        best = self._best[group]
        if best != _NOT_KNOWN:
            self.members.rank(group, best, self._worth[group])
            self._best[group] = page
        self._worth[group] = worth

    def let_wait(self, page: PageId) -> None:
        """The page waits, and has no lease."""
        group, worth = self._siblings.group_of(page), values.worth(self._siblings, page)
        if group == NO_GROUP:
            self.hosts.offer((LONE + page,))
            return
        self.members.forget(group)  # what was ranked of the page may be more than that
        if self._best[group] == NOBODY:
            self._put_first(group, page, worth)
        elif worth > self._worth[group]:
            self._put_before(group, page, worth)
            self._keys[group] = key_of(values.factor(self._siblings, group), worth)
            self.hosts.offer((group,))

    def wait_again(self, page: PageId) -> None:
        """The page had its turn, and waits for another one."""
        if self._siblings.groups.is_lone(page):
            self.hosts.born((LONE + page,))
        else:
            self.let_wait(page)

    def _look_through(self, group: int) -> None:
        """Find the best member that may be taken; if there is none, the group is held or empty."""
        found = self.members.take_best(group)
        if found is None:
            self._best[group] = NOBODY
            self._hold(group)
        else:
            worth, page = found
            self._put_first(group, page, worth)

    def _hold(self, group: int) -> None:
        """All members of the group that wait are on lease, if any do."""
        if self.members.is_held(group):
            self._flags[group] = _WAITING
            self.hosts.hold(group)
        else:
            self._flags[group] = _EMPTY
            self.hosts.release(group)

    def _put_first(self, group: int, page: int, worth: float) -> None:
        """The page is the best that the group has."""
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
        """The factors of what waits of a host may have changed. Answers with the groups of it."""
        self._eligible.note_keyed(host)
        items = self.hosts.waiting(host)
        lone = items[items >= LONE] - LONE
        self._offer_lone(lone, np.full(len(lone), host, dtype=np.uint32))
        found: Numbers = items[items < LONE].astype(np.int64)
        return found

    def _key(self, group: int) -> None:
        """The factor of the group may have changed."""
        self._keys[group] = key_of(values.factor(self._siblings, group), self._worth[group])
        self.hosts.offer((group,))

    def key_many(self, groups: Numbers) -> None:
        """The factors of these groups may have changed."""
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
# The best page by its siblings among the hosts that may be asked now: exact order.
#
# Law: `take` answers with a page of the largest factor * worth among the pages of ready hosts that
# wait and are not on lease; see `values` for what these are. Pages wait from their birth, and what
# a turn has revealed counts for its group at once. What links give to pages that were known before
# is looked at after 32 plans: in the beginning after a sixteenth of those so far, and in a large
# crawl after an 8,192nd of them, up to 64.

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

"""The queue of sibling groups: the best page among the ready hosts, in the sibling order.

A group waits in the queue of its host with the key of its best member, and lone pages wait beside
the groups, so `ByHost` handles both as it does pages. A changed factor then costs one new key,
however many members the group has. The best member is searched for only when the group is taken;
until then its key assumes a member with the highest possible worth. When a host's multiplier falls,
its keys stay too high until one of its items is taken: then all items of the host get new keys.

Example, with worths in units: host h has the group X (factor 1.05) with the pages p (worth 1) and
q (worth .9), the group Y (factor .94) with the page r (worth 1.1), and the lone page s (worth 1).

    event                          queue of h, by key         why
    at first                       X 1.05   Y 1.03   s 1.00
    take: p                        X 1.05   Y 1.03   s 1.00   X keeps its key, an upper bound: its
                                                              best member is unknown now
    p reveals nothing              Y 1.03   s 1.00   X .89    the factor of X fell to .99, and q is
                                                              found as its best member: .99 * .9
    take: r                        Y 1.03   s 1.00   X .89
    take while r is on lease: s    X .89                      Y came up and had no free member: it
                                                              is held until the lease of r ends

A key that is too high costs one look at its group. One that is too low would let a worse page go
first, and nothing would ever notice. So keys fall late and rise at once.

item     a group, or LONE + a lone page: one integer, so the queues for pages can hold items
worth    of a group: the worth of its best member, or an upper bound if the member is unknown
held     group whose waiting members are all on lease
empty    group without waiting members
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.families import at_once
from minicrawl.opic.ledger import UNREAD, Plan
from minicrawl.opic.queues import PAGE, ByHost, BySite, EligiblePages, ImportanceOfHosts
from minicrawl.opic.siblings import (
    MOST_LIFT,
    NO_GROUP,
    Floats,
    Numbers,
    OrderChanges,
    Pages,
    Siblings,
    best_in_a_row,
    best_of,
    factor_of,
    factors_of,
    key_of,
    keys_of,
    lone_key,
    lone_keys,
    page_key,
    worth_of,
    worths_of,
)

if TYPE_CHECKING:
    from minicrawl.opic.expected_value import ValueEstimate

# ================================================================ members
#
# The best member of each group: found when the group is taken, and cached while that is valid.
#
# Invariant: the ranking of a group holds all members that wait, are not on lease and are worth at
# least its floor, except the member returned last. So members whose worth grows must be reported
# with `rank`; after a fall, `forget` drops the ranking and the next `take_best` scans all members
# again.

NOBODY = 0xFFFFFFFF
"""Stands for the best member if no member may be taken."""
_RANKED, _MOST_RANKED, _MOST_LISTS = 16, 64, 256
"""Members of a large group that are ranked at first, and at most; most rankings that are kept."""
_FEW_MEMBERS = 16
"""Up to this number a loop is faster than arrays."""

Ranked = list[tuple[float, int]]
"""Members as (worth, -page), worst first."""


class FreeMembers:
    """Finds the best member of a group that is not on lease.

    The best members of a large group are ranked by (worth, -page), the best one last. A member
    that grows is ranked again; its older entry is dropped when it comes up.
    """

    __slots__ = ("_held", "_ranked", "_siblings", "floors", "leased")

    def __init__(self, siblings: Siblings) -> None:
        self._siblings = siblings
        self._ranked: dict[int, Ranked] = {}
        self.floors: dict[int, float] = {}
        """For each ranked group, the least worth that its ranking covers."""
        self.leased: dict[int, int] = {}
        """Group of each page on lease."""
        self._held: dict[int, set[int]] = {}
        """Members on lease, by group."""

    # ------------------------------------------------------------ leases

    def lease(self, group: int, page: int) -> None:
        """Put the member on lease: nobody else may take it."""
        self.leased[page] = group
        self._held.setdefault(group, set()).add(page)

    def end_lease(self, page: int) -> int | None:
        """End the page's lease; return its group (maybe `NO_GROUP`), or None if it had no lease."""
        group = self.leased.pop(page, None)
        if group is not None and group != NO_GROUP:
            held = self._held[group]
            held.discard(page)
            if not held:
                del self._held[group]
        return group

    def is_held(self, group: int) -> bool:
        """Return True if a member of the group is on lease."""
        return group in self._held

    # ------------------------------------------------------------ the best one

    def take_best(self, group: int) -> tuple[float, int] | None:
        """Return the best available member with its worth; None if there is none."""
        siblings = self._siblings
        if siblings.groups.members[group] <= _FEW_MEMBERS:
            flags, leased = siblings.ledger.flags, self.leased
            members = siblings.groups.few_members(group, siblings.host_of)
            free = [page for page in members if flags[page] == UNREAD and page not in leased]
            return best_of(siblings, free) if free else None
        ranked = self._ranked.get(group)
        if ranked and (found := self._last(ranked)):
            return found
        if len(self._ranked) >= _MOST_LISTS:
            self.forget_all()
        ranked = self._ranked[group] = _rank(self._siblings, group, self._held.get(group, ()))
        self.floors[group] = ranked[0][0] if len(ranked) >= _RANKED else 0.0
        return self._last(ranked)

    def _last(self, ranked: Ranked) -> tuple[float, int] | None:
        """Pop entries until one is available. A member that grew has its current entry last."""
        flags, leased = self._siblings.ledger.flags, self.leased
        while ranked:
            worth, below_0 = ranked.pop()
            if flags[-below_0] == UNREAD and -below_0 not in leased:
                return worth, -below_0
        return None

    def is_quick(self, group: int) -> bool:
        """Return True if the best member is found with little work."""
        return self._siblings.groups.members[group] <= _FEW_MEMBERS or group in self._ranked

    def rank(self, group: int, page: int, worth: float) -> None:
        """Insert a waiting member with its new worth into the ranking."""
        if worth >= self.floors.get(group, inf):
            ranked = self._ranked[group]
            insort(ranked, (worth, -page))
            if len(ranked) > _MOST_RANKED:
                # Equals are kept or dropped together: the floor must cover ties.
                del ranked[: bisect_left(ranked, (ranked[-_RANKED][0], -inf))]
                self.floors[group] = ranked[0][0]

    def forget(self, group: int) -> None:
        """Drop the group's ranking because a member is worth less than before."""
        if self._ranked.pop(group, None) is not None:
            del self.floors[group]

    def forget_all(self) -> None:
        """Drop all rankings."""
        self._ranked.clear()
        self.floors.clear()


def best_members(siblings: Siblings, groups: range) -> tuple[Pages, Floats]:
    """Return the best members of a range of groups, and their worths; below 0 if none waits."""
    of, known = siblings.groups, siblings.known
    first, end = of.span(groups.start, known)[0], of.span(groups.stop - 1, known)[1]
    pages = np.arange(first, end, dtype=np.uint32)
    group_of = of.of(pages, np.frombuffer(siblings.host_of, dtype=np.uint32)[first:end])
    waits = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[first:end] == UNREAD
    waits &= (group_of >= groups.start) & (group_of < groups.stop)
    pages, group_of = pages[waits], group_of[waits] - groups.start
    worths, most = worths_of(siblings, pages), np.full(len(groups), -1.0)
    np.maximum.at(most, group_of, worths)
    best = np.full(len(groups), NOBODY, dtype=np.uint32)
    # Backwards: of several pages with the same worth the last one written stays, and that must be
    # the page found first, as in the scalar version.
    first_page = np.flatnonzero(worths == most[group_of])[::-1]
    best[group_of[first_page]] = pages[first_page]
    return best, most


def best_of_newborn(siblings: Siblings, group: int) -> tuple[float, int] | None:
    """Return the best member of a small newborn group; None for a large group."""
    if siblings.groups.members[group] > _FEW_MEMBERS:
        return None
    members = siblings.groups.few_members(group, siblings.host_of)
    if isinstance(members, range):
        return best_in_a_row(siblings, members)
    return best_of(siblings, members)


def _rank(siblings: Siblings, group: int, held: Iterable[int]) -> Ranked:
    """Rank the best members of a large group, except those that are held."""
    first, end = siblings.groups.span(group, siblings.known)
    waits = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[first:end] == UNREAD
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[first:end]
    waits &= hosts == siblings.groups.host[group]
    waits &= ~siblings.groups.are_lone(np.arange(first, end, dtype=np.uint32))
    waits[[page - first for page in held]] = False
    pages = (first + np.flatnonzero(waits)).astype(np.uint32)
    worths = worths_of(siblings, pages)
    if len(pages) > _RANKED:
        best = np.flatnonzero(worths >= np.partition(worths, -_RANKED)[-_RANKED])
        pages, worths = pages[best], worths[best]
    found = zip(worths.tolist(), pages.tolist(), strict=True)
    return sorted((worth, -page) for worth, page in found)


# ================================================================ items
#
# The items in the queues of hosts. The key of a lone page is computed on demand, so a waiting lone
# page costs the four bytes of its place in the queue and no more.

LONE = 1 << 31
_LONE = np.uint32(LONE)
PAGES_AT_ONCE = 1 << 18
_LARGE = 8
"""Fewest items for candidates of a host; few, because keys of items fall as often as they grow."""
_FEW_PAGES = 32
"""Up to this number a loop is faster than arrays."""
_MANY_HOSTS, _LARGE_OF_MANY = 4096, 256
"""With many hosts only larger ones keep candidates, which take more memory than items."""


class ItemColumn:
    """Column of numbers of items, from a column of groups and a column of pages."""

    __slots__ = ("_of_group", "_of_page")

    def __init__(self, of_group: array[int] | bytearray, of_page: array[int] | bytearray) -> None:
        self._of_group, self._of_page = of_group, of_page

    def __getitem__(self, item: int) -> int:
        return self._of_group[item] if item < LONE else self._of_page[item - LONE]


class ItemKeys:
    """The key of each item."""

    __slots__ = ("_of_group", "_siblings")

    def __init__(self, of_group: array[int], siblings: Siblings) -> None:
        self._of_group, self._siblings = of_group, siblings

    def __getitem__(self, item: int) -> int:
        if item < LONE:
            return self._of_group[item]
        return lone_key(self._siblings, item - LONE)


class EligibleItems(EligiblePages):
    """The items that may be taken."""

    __slots__ = ("_flags", "_keyed", "_keys", "_siblings")

    def __init__(self, siblings: Siblings, keys: array[int], flags: bytearray) -> None:
        """Take the groups' keys and flags; those of lone pages come from the ledger."""
        self._siblings, self._keys, self._flags = siblings, keys, flags
        self._keyed: dict[int, float] = {}
        """Multiplier of each host when all its groups were last keyed, if not 1."""
        super().__init__(
            ItemKeys(keys, siblings),
            ItemColumn(flags, siblings.ledger.flags),
            ItemColumn(siblings.groups.host, siblings.host_of),
            large=_LARGE,
        )

    def is_large(self, pages: int) -> bool:
        hosts = len(self._siblings.budgets.family_of)
        return pages >= (self.large if hosts < _MANY_HOSTS else _LARGE_OF_MANY)

    def count_hosts(self) -> int:
        return max(self._siblings.host_of, default=-1) + 1

    def is_eligible(self, page: int) -> bool:
        if page in self.leased:
            return False
        flag = self._flags[page] if page < LONE else self._siblings.ledger.flags[page - LONE]
        return flag == self.pool

    def best_of_few(self, pages: Iterable[int]) -> int | None:
        keys, siblings, leased, best = self._keys, self._siblings, self.leased, None
        flags, flags_of_lone = self._flags, siblings.ledger.flags
        for item in pages:
            if item in leased:
                continue
            if item < LONE:
                if flags[item] != _WAITING:
                    continue
                entry = item - (keys[item] << 32)
            elif flags_of_lone[item - LONE] != UNREAD:
                continue
            else:
                entry = item - (lone_key(siblings, item - LONE) << 32)
            if best is None or entry < best:
                best = entry
        return best

    def is_current(self, entry: int) -> bool:
        """Return True if a group's entry is up to date, or a lone page's entry is not too high.

        A lone page may have received cash since it was last offered. It is offered again at the
        next look at gifts, and its old entry must stay in the queue until then.
        """
        item, siblings = entry & PAGE, self._siblings
        if item in self.leased:
            return False
        key = (item - entry) >> 32
        if item < LONE:
            if self._flags[item] != _WAITING:
                return False
            is_current = key == self._keys[item]
        else:
            if siblings.ledger.flags[item - LONE] != UNREAD:
                return False
            is_current = key <= lone_key(siblings, item - LONE)
        return is_current or (
            bool(siblings.budgets.rounds) and self.is_outdated(self.host_of[item])
        )

    def is_outdated(self, host: int) -> bool:
        """Return True if the host's multiplier has changed since its groups were keyed."""
        return self._siblings.budgets.held(host) != self._keyed.get(host, 1.0)

    def note_keyed(self, host: int) -> None:
        """Note that all groups of the host have keys from its current multiplier."""
        self._keyed[host] = self._siblings.budgets.held(host)

    def keys_of(self, pages: Pages) -> Numbers:
        found = np.empty(len(pages), dtype=np.int64)
        is_lone = pages >= _LONE
        found[~is_lone] = np.frombuffer(self._keys, dtype=np.int64)[pages[~is_lone]]
        found[is_lone] = lone_keys(self._siblings, pages[is_lone] - _LONE)
        return found

    def are_in_pool(self, pages: Pages) -> NDArray[np.bool_]:
        flags = np.empty(len(pages), dtype=np.uint8)
        is_lone = pages >= _LONE
        flags[~is_lone] = np.frombuffer(self._flags, dtype=np.uint8)[pages[~is_lone]]
        of_pages = np.frombuffer(self._siblings.ledger.flags, dtype=np.uint8)
        flags[is_lone] = of_pages[pages[is_lone] - _LONE]
        found: NDArray[np.bool_] = flags == self.pool
        return found

    def hosts_of(self, pages: Pages) -> Pages:
        found = np.empty(len(pages), dtype=np.uint32)
        is_lone = pages >= _LONE
        of_groups = np.frombuffer(self._siblings.groups.host, dtype=np.uint32)
        found[~is_lone] = of_groups[pages[~is_lone]]
        of_pages = np.frombuffer(self._siblings.host_of, dtype=np.uint32)
        found[is_lone] = of_pages[pages[is_lone] - _LONE]
        return found


class LonePages:
    """The lone pages in the queues of hosts, next to the groups."""

    __slots__ = ("_hosts", "_siblings")

    def __init__(self, siblings: Siblings, hosts: ByHost) -> None:
        self._siblings, self._hosts = siblings, hosts

    def among(self, known: int) -> Iterator[Pages]:
        """Yield the waiting lone pages among the first `known` pages, as items, block by block."""
        flags = np.frombuffer(self._siblings.ledger.flags, dtype=np.uint8)
        for first in range(0, known, PAGES_AT_ONCE):
            pages = np.arange(first, min(first + PAGES_AT_ONCE, known), dtype=np.uint32)
            waits = self._siblings.groups.are_lone(pages) & (flags[pages] == UNREAD)
            yield pages[waits] + _LONE

    def enqueue_new(self, new: range) -> None:
        """Enqueue the pages without siblings among these new pages."""
        if len(new) <= _FEW_PAGES:
            self._hosts.enqueue([LONE + page for page in self._siblings.groups.lone_among(new)])
            return
        pages = np.arange(new.start, new.stop, dtype=np.uint32)
        self._hosts.enqueue_many(pages[self._siblings.groups.are_lone(pages)] + _LONE)


# ================================================================ groups

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
        "_leased_items",
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
        self._leased_items = eligible.leased
        self.hosts = ByHost(eligible) if importance is None else BySite(eligible, importance)
        self.lone = LonePages(siblings, self.hosts)

    # ------------------------------------------------------------ pages that become known

    def load(self) -> None:
        """Enqueue all groups and lone pages."""
        for groups in self._siblings.groups.blocks(PAGES_AT_ONCE):
            self._add(groups)
        self.known = self._siblings.known
        flags = np.frombuffer(self._flags, dtype=np.uint8)
        waiting = np.flatnonzero(flags == _WAITING).astype(np.uint32)
        self.hosts.enqueue_blocks([waiting, *self.lone.among(self.known)])

    def enqueue_new(self) -> None:
        """Enqueue new groups and lone pages."""
        pages = range(self.known, self._siblings.known)
        self.known = pages.stop
        if new := range(len(self._keys), len(self._siblings.groups)):
            if len(new) <= _FEW_GROUPS:
                self._add_few(new, pages)
            else:
                self._add(new)
            self.hosts.enqueue(new)
        self.lone.enqueue_new(pages)

    def _add_few(self, new: range, pages: range) -> None:
        """Add groups whose members are among `pages`, all of which wait."""
        siblings = self._siblings
        for group in new:
            found = best_of_newborn(siblings, group)
            if found is None:
                # An upper bound, because the best of many members is expensive to find. A bound
                # that is too high is corrected when the group is taken; with one that is too low,
                # the group would be passed over.
                most = max(siblings.keys[pages.start : pages.stop])
                found = most * MOST_LIFT, _NOT_KNOWN
            worth, page = found
            self._flags.append(_WAITING)
            self._best.append(page)
            self._worth.append(worth)
            self._keys.append(key_of(factor_of(siblings, group), worth))

    def _add(self, new: range) -> None:
        best, worths = best_members(self._siblings, new)
        keys = keys_of(factors_of(self._siblings, np.arange(new.start, new.stop)), worths)
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
            page = self._best[item]
            if page != _NOT_KNOWN:
                # The group stays in its queue, ranked by the leased member: no other member is
                # worth more. The next one is looked for when it is needed, or when the lease ends.
                self.members.lease(item, page)
                self._best[item] = _NOT_KNOWN
                self._offer_again(item)
                return page
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

    def _offer_again(self, group: int) -> None:
        """Offer a group whose lease ended, or whose key may have changed."""
        self._leased_items.discard(group)
        self.hosts.offer_one(group, self._siblings.groups.host[group], self._keys[group])

    def end_lease(self, page: PageId) -> None:
        """End the page's lease, if any, and update its group, whose factor may have changed."""
        group = self.members.end_lease(page)
        if group == NO_GROUP:
            self._leased_items.discard(LONE + page)
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
        self.hosts.offer_many(pages + LONE, hosts, lone_keys(self._siblings, pages))

    def _compare(self, pages: Pages, groups: Numbers) -> None:
        """Update the groups in which one of these waiting pages has become the best."""
        worths = worths_of(self._siblings, pages)
        if floors := self.members.floors:
            for page, group, worth in _rows(pages, groups, worths):
                if worth >= floors.get(group, inf):
                    self.members.rank(group, page, worth)
        grown = worths > np.frombuffer(self._worth, dtype=np.float64)[groups]
        # A group without a best member has all its waiting members on lease, and looks for one when
        # a lease ends.
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

    def enqueue(self, page: PageId) -> None:
        """Enqueue a page that waits and has no lease."""
        group, worth = self._siblings.group_of(page), worth_of(self._siblings, page)
        if group == NO_GROUP:
            self.hosts.offer((LONE + page,))
            return
        self.members.forget(group)  # the ranking may overrate the page
        if self._best[group] == NOBODY:
            self._put_first(group, page, worth)
        elif worth > self._worth[group]:
            self._put_before(group, page, worth)
            self._keys[group] = key_of(factor_of(self._siblings, group), worth)
            self.hosts.offer((group,))

    def wait_again(self, pages: Iterable[int]) -> None:
        """Enqueue pages after their turn for another one."""
        for page in pages:
            if self._siblings.groups.is_lone(page):
                self.hosts.enqueue((LONE + page,))
            else:
                self.enqueue(page)

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
            self._leased_items.add(group)
        else:
            self._flags[group] = _EMPTY
            self._leased_items.discard(group)

    def _put_first(self, group: int, page: int, worth: float) -> None:
        """Make the page the group's best member."""
        was_empty = self._flags[group] == _EMPTY
        self._best[group], self._worth[group] = page, worth
        self._flags[group] = _WAITING
        self._keys[group] = key_of(factor_of(self._siblings, group), worth)
        if was_empty:
            self.hosts.enqueue((group,))
        else:
            self._offer_again(group)

    # ------------------------------------------------------------ keys

    def key_anew(self) -> None:
        """Update all keys after the worths of all pages have changed."""
        self.members.forget_all()
        best = np.frombuffer(self._best, dtype=np.uint32)
        most = np.frombuffer(self._worth, dtype=np.float64)
        for block in self._siblings.groups.blocks(PAGES_AT_ONCE):
            _, worths = best_members(self._siblings, block)
            groups = np.arange(block.start, block.stop)
            # Members on lease count too, so these are upper bounds.
            best[groups[best[groups] != NOBODY]] = _NOT_KNOWN
            most[groups] = np.maximum(worths, 0.0)
            self.key_many(groups)
        host_of = np.frombuffer(self._siblings.host_of, dtype=np.uint32)
        for items in self.lone.among(self.known):
            self._offer_lone(items - _LONE, host_of[items - _LONE])

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
        key = self._keys[group] = key_of(factor_of(self._siblings, group), self._worth[group])
        self.hosts.offer_one(group, self._siblings.groups.host[group], key)

    def key_many(self, groups: Numbers) -> None:
        """Vectorised `_key`."""
        groups = groups[np.frombuffer(self._best, dtype=np.uint32)[groups] != NOBODY]
        keys = np.frombuffer(self._keys, dtype=np.int64)
        worths = np.frombuffer(self._worth, dtype=np.float64)[groups]
        found = keys_of(factors_of(self._siblings, groups), worths)
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
# hosts (see `siblings`). Newborn pages wait at once, and a turn changes the key of its group at
# once. Cash given to older pages takes effect every 32 plans: more often at first, whenever the
# plans have grown by a sixteenth, and less often in a large crawl, up to every 64 plans.

PART_AT_FIRST = 16


class ByGroup(GroupQueue):
    """Queue of pages in the sibling order. Every plan must be reported with `posted`."""

    __slots__ = ("_changes", "_given", "_look_at", "_plans", "resume")

    def __init__(self, siblings: Siblings, importance: ImportanceOfHosts | None = None) -> None:
        """Rank pages by the importance of their site first if `importance` is given."""
        super().__init__(siblings, importance)
        self._changes = siblings.changes = OrderChanges()
        self._given = array("I")
        """Pages that received cash since the last `look`."""
        self._plans = self._look_at = siblings.means.turns
        """Number of plans so far, and at the next look."""
        self.resume = self.hosts.resume

    # ------------------------------------------------------------ pages that wait

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
        if paid or self._changes.hosts or self._plans >= self._look_at:
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
        if changes := self._changes:
            if changes.of_worths:
                self.key_anew()
            groups = [self.key_all_of(host) for host in changes.hosts]
            if changes.of_all:
                groups.append(self._siblings.groups.judged())
            if groups:
                self.key_many(_once(np.concatenate(groups)))
            self._changes = self._siblings.changes = OrderChanges()

    def release(self, page: PageId) -> None:
        """End the page's lease and enqueue it again. The state of its host does not change."""
        self.end_lease(page)
        self.enqueue(page)

    # ------------------------------------------------------------ hosts

    def pause(self, host: int) -> None:
        """Mark the host as not ready."""
        self.hosts.pause(host)

    def is_ready(self, host: int) -> bool:
        """Return True if the host is ready."""
        return self.hosts.is_ready(host)

    def has_pages(self, host: int) -> bool:
        """Return True if a ready host has waiting pages."""
        return self.hosts.has_pages(host)

    # ------------------------------------------------------------ queries

    @property
    def leased(self) -> Collection[PageId]:
        """Pages that have a lease."""
        return self.members.leased.keys()

    def precedence(self, host: int) -> float:
        """Return the rank of the host: lower ones come first, whatever the keys of pages."""
        return self.hosts.precedence(host)

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


# ================================================================ expected values
#
# The sibling order, weighted by the value that the user's scorer will probably give each page.
#
# The queue is that of the sibling order. A page's worth is multiplied by p^(W t), with the expected
# value p, the user's weight W and the trust t in p (see `expected_value`), as a level of one byte.
# Each page read changes p for many pages. Computing them all anew after each page was rejected: it
# takes time in proportion to the known pages. Instead levels are updated
#
#     at once          for new pages, and for a page that is taken: if it has sunk, it waits again
#     at each look     for pages that received links, and for siblings of pages that were read
#     in turn          for all others: each gets a new level before a twentieth more pages are read
#
# Laws: cash is read, never scaled. As long as the trust is 0, the order is that of siblings.

_PARTS = 20
"""Every level is updated before the number of pages read has grown by a twentieth."""
_MOST_AT_A_LOOK = 1 << 14


class ByValue(ByGroup):
    """Queue of pages in the sibling order, weighted by their expected value."""

    __slots__ = ("_estimate", "_levels", "_looked_at", "_next", "_read", "_weight")

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
        """Enqueue all groups and lone pages."""
        self._grow()
        super().load()

    def enqueue_new(self) -> None:
        """Enqueue new groups and lone pages."""
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
        """Update the order after plans were posted, which ends the leases of their pages.

        `new` pages were born before; `paid` are unread pages that were endowed.
        """
        self._read.extend([plan.page for plan in plans])
        super().posted(plans, new, paid)

    def look(self) -> None:
        """Update the order by everything posted since the last look."""
        pages = np.concatenate((np.array(self._given), self._siblings_of_read(), self._in_turn()))
        self._update(np.unique(pages).astype(np.uint32))
        super().look()

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
        wanted = -(-_PARTS * plans * self.known // max(self._plans, 1))
        first, count = self._next, min(wanted, self.known, _MOST_AT_A_LOOK)
        self._next = (first + count) % max(self.known, 1)
        return (np.arange(first, first + count) % max(self.known, 1)).astype(np.uint32)

    def _update(self, pages: Pages) -> None:
        """Recompute the levels of unread pages. `look` then applies worths that have grown."""
        siblings = self._siblings
        pages = pages[np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[pages] == UNREAD]
        levels = np.frombuffer(self._levels, dtype=np.uint8)
        found, before = self._estimate.levels(pages, self._weight), levels[pages]
        levels[pages] = found
        self._given.extend(pages[found != before].tolist())
        sunk = pages[found > before]
        hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[sunk]
        groups = siblings.groups.of(sunk, hosts)
        sunk, groups = sunk[groups != NO_GROUP], groups[groups != NO_GROUP]
        are_best = np.frombuffer(self._best, dtype=np.uint32)[groups] == sunk
        for group in np.unique(groups).tolist():
            self.members.forget(group)  # the ranking may overrate members
        for group in groups[are_best].tolist():
            self._look_through(group)

"""The best member of each group: found when the group is taken, and cached while that is valid.

Invariant: the ranking of a group holds all members that wait, are not on lease and are worth at
least its floor, except the member returned last. So members whose worth grows must be reported with
`rank`; after a fall, `forget` drops the ranking and the next `take_best` scans all members again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger import UNREAD
from minicrawl.opic.order import PAGE, ByHost, EligiblePages
from minicrawl.opic.siblings import groups as values
from minicrawl.opic.siblings.groups import NO_GROUP, Floats, Numbers, Pages, Siblings

NOBODY = 0xFFFFFFFF
"""Stands for the best member if no member may be taken."""
_RANKED, _MOST_RANKED, _MOST_LISTS = 16, 64, 256
"""Number of members of a large group that are ranked at first and at most; number of rankings kept.
"""
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
        if self._siblings.groups.members[group] <= _FEW_MEMBERS:
            return best_of_few(self._siblings, group, self.leased)
        ranked = self._ranked.get(group)
        if ranked and (found := self._last(ranked)):
            return found
        if len(self._ranked) >= _MOST_LISTS:
            self._ranked.clear()
            self.floors.clear()
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
                self._keep_best(group, ranked)

    def _keep_best(self, group: int, ranked: Ranked) -> None:
        """Truncate the ranking, but never between equals: the floor must cover ties."""
        first = bisect_left(ranked, (ranked[-_RANKED][0], -inf))
        del ranked[:first]
        self.floors[group] = ranked[0][0]

    def forget(self, group: int) -> None:
        """Drop the group's ranking because a member is worth less than before."""
        if self._ranked.pop(group, None) is not None:
            del self.floors[group]


def best_members(siblings: Siblings, groups: range) -> tuple[Pages, Floats]:
    """Return the best members of a range of groups, and their worths; below 0 if none waits."""
    of, known = siblings.groups, siblings.known
    first, end = of.span(groups.start, known)[0], of.span(groups.stop - 1, known)[1]
    pages = np.arange(first, end, dtype=np.uint32)
    group_of = of.of(pages, np.frombuffer(siblings.host_of, dtype=np.uint32)[first:end])
    waits = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[first:end] == UNREAD
    waits &= (group_of >= groups.start) & (group_of < groups.stop)
    pages, group_of = pages[waits], group_of[waits] - groups.start
    worths, most = values.worths(siblings, pages), np.full(len(groups), -1.0)
    np.maximum.at(most, group_of, worths)
    best = np.full(len(groups), NOBODY, dtype=np.uint32)
    first_page = np.flatnonzero(worths == most[group_of])[::-1]
    best[group_of[first_page]] = pages[first_page]
    return best, most


def best_of_newborn(siblings: Siblings, group: int) -> tuple[float, int] | None:
    """Return the best member of a small newborn group; None for a large group."""
    if siblings.groups.members[group] > _FEW_MEMBERS:
        return None
    members = siblings.groups.few_members(group, siblings.host_of)
    if isinstance(members, range):
        return values.best_in_a_row(siblings, members)
    return values.best(siblings, members)


def best_of_few(siblings: Siblings, group: int, leased: Container[int]) -> tuple[float, int] | None:
    """Return the best available member of a small group; None if there is none."""
    flags, members = siblings.ledger.flags, siblings.groups.few_members(group, siblings.host_of)
    free = [page for page in members if flags[page] == UNREAD and page not in leased]
    return values.best(siblings, free) if free else None


def _rank(siblings: Siblings, group: int, held: Iterable[int]) -> Ranked:
    """Rank the best members of a large group, except those that are held."""
    first, end = siblings.groups.span(group, siblings.known)
    waits = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[first:end] == UNREAD
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[first:end]
    waits &= hosts == siblings.groups.host[group]
    waits &= ~siblings.groups.are_lone(np.arange(first, end, dtype=np.uint32))
    waits[[page - first for page in held]] = False
    pages = (first + np.flatnonzero(waits)).astype(np.uint32)
    worths = values.worths(siblings, pages)
    if len(pages) > _RANKED:
        best = np.flatnonzero(worths >= np.partition(worths, -_RANKED)[-_RANKED])
        pages, worths = pages[best], worths[best]
    found = zip(worths.tolist(), pages.tolist(), strict=True)
    return sorted((worth, -page) for worth, page in found)


# ================================================================ waiting
#
# The items in the queues of hosts: groups, each with its best member, and lone pages.
#
# The key of a lone page is computed on demand, so a waiting lone page costs the four bytes of its
# place in the queue and no more.
#
# item    a group, or LONE + a lone page: one integer, so the queues for pages can hold items

LONE = 1 << 31
_LONE = np.uint32(LONE)
PAGES_AT_ONCE = 1 << 18
_LARGE = 8
"""Number of items from which a host keeps candidates; small, as keys of items fall as often as
grow.
"""
_FEW_PAGES = 32
"""Up to this number a loop is faster than arrays."""
_MANY_HOSTS, _LARGE_OF_MANY = 4096, 256
"""With this many hosts, only larger ones keep candidates: these need more memory than the items."""


class ItemColumn:
    """A number for each item: that of the group or of the lone page."""

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
        return values.lone_key(self._siblings, item - LONE)


class EligibleItems(EligiblePages):
    """The items that may be taken."""

    __slots__ = ("_flags", "_keyed", "_keys", "_siblings")

    def __init__(self, siblings: Siblings, keys: array[int], flags: bytearray) -> None:
        """Take the groups' keys and flags; those of lone pages come from the ledger."""
        self._siblings, self._keys, self._flags = siblings, keys, flags
        self._keyed: dict[int, float] = {}
        """Multiplier of the family budget for each host, as of the last time all its groups were
        keyed.
        """
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

    def is_current(self, entry: int) -> bool:
        """Return True if a group's entry is up to date, or a lone page's entry is not too high.

        A lone page may have received cash since it was last offered. It is offered again at the
        next look at gifts, and its old entry must stay in the queue until then.
        """
        item = entry & PAGE
        if not self.is_eligible(item):
            return False
        key, now = (item - entry) >> 32, self.keys[item]
        if key == now if item < LONE else key <= now:
            return True
        return bool(self._siblings.budgets.rounds) and self.is_outdated(self.host_of[item])

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
        found[is_lone] = values.lone_keys(self._siblings, pages[is_lone] - _LONE)
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

    def bear(self, new: range) -> None:
        """Enqueue the pages without siblings among these new pages."""
        if len(new) <= _FEW_PAGES:
            self._hosts.born([LONE + page for page in self._siblings.groups.lone_among(new)])
            return
        pages = np.arange(new.start, new.stop, dtype=np.uint32)
        self._hosts.born_many(pages[self._siblings.groups.are_lone(pages)] + _LONE)

"""The best member of each group: found when the group is taken, and cached while that is valid.

Invariant: the ranking of a group holds all members that wait, are not on lease and are worth at
least its floor, except the member returned last. So members whose worth grows must be reported
with `rank`; after a fall, `forget` drops the ranking and the next `take_best` scans all members
again.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from math import inf

import numpy as np

from minicrawl.opic.ledger.ledger import UNREAD
from minicrawl.opic.siblings.groups import NO_GROUP, Pages
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import Floats, best_of, worths_of

NOBODY = 0xFFFFFFFF
"""Stands for the best member if no member may be taken."""
_RANKED, _MOST_RANKED, _MOST_LISTS = 16, 64, 256
"""Members of a large group that are ranked at first, and at most; most rankings that are kept."""
FEW_MEMBERS = 32
"""Up to this number a loop is faster than arrays."""

Ranked = list[tuple[float, int]]
"""Members as (worth, -page), worst first."""


class FreeMembers:
    """Finds the best member of a group that is not on lease.

    The best members of a large group are ranked by (worth, -page), the best one last. A member
    that grows is ranked again; its older entry is dropped when it comes up.
    """

    def __init__(self, siblings: Siblings) -> None:
        self._siblings = siblings
        self._ranked: dict[int, Ranked] = {}
        self.floors: dict[int, float] = {}
        """For each ranked group, the least worth that its ranking covers."""
        self.leased: dict[int, int] = {}
        self.held: dict[int, set[int]] = {}
        """Members on lease, by group."""

    def lease(self, group: int, page: int) -> None:
        """Put the member on lease: nobody else may take it."""
        self.leased[page] = group
        self.held.setdefault(group, set()).add(page)

    def end_lease(self, page: int) -> int | None:
        """End the page's lease; return its group (maybe `NO_GROUP`), or None if it had no lease."""
        group = self.leased.pop(page, None)
        if group is not None and group != NO_GROUP:
            held = self.held[group]
            held.discard(page)
            if not held:
                del self.held[group]
        return group

    def take_best(self, group: int) -> tuple[float, int] | None:
        """Return the best available member with its worth; None if there is none."""
        siblings = self._siblings
        if siblings.groups.members[group] <= FEW_MEMBERS:
            flags, leased = siblings.ledger.flags, self.leased
            members = siblings.groups.few_members(group, siblings.host_of)
            free = [page for page in members if flags[page] == UNREAD and page not in leased]
            return best_of(siblings, free) if free else None
        ranked = self._ranked.get(group)
        if ranked and (last := self._last(ranked)):
            return last
        if len(self._ranked) >= _MOST_LISTS:
            self.forget_all()
        ranked = self._ranked[group] = _rank(self._siblings, group, self.held.get(group, ()))
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
        return self._siblings.groups.members[group] <= FEW_MEMBERS or group in self._ranked

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
    ranked = zip(worths.tolist(), pages.tolist(), strict=True)
    return sorted((worth, -page) for worth, page in ranked)

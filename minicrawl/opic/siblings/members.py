"""The best members of groups: found when a group is taken, and kept while they hold.

Law: what is ranked holds as long as no member of the group has grown.
"""

from __future__ import annotations

import numpy as np

from minicrawl.opic.ledger import UNREAD
from minicrawl.opic.siblings import values
from minicrawl.opic.siblings.groups import Numbers, Pages
from minicrawl.opic.siblings.shown import Siblings
from minicrawl.opic.siblings.values import Floats

NOBODY = 0xFFFFFFFF
"""In place of the best member, where none may be taken."""
_RANKED, _MOST_LISTS = 16, 256
"""Members of a large group that are ranked at once, and groups that are remembered so."""
_FEW_MEMBERS = 16
"""Up to so many it is quicker to go one by one."""

Ranked = list[tuple[float, int]]
"""The best members of a group by their worth, the best one last."""


class FreeMembers:
    """Finds the best member of a group that is not on lease."""

    __slots__ = ("_ranked", "_siblings", "leased")

    def __init__(self, siblings: Siblings) -> None:
        self._siblings = siblings
        self._ranked: dict[int, Ranked] = {}
        self.leased: set[int] = set()

    def take_best(self, group: int) -> tuple[tuple[float, int] | None, bool]:
        """The worth of the best member, and the member; and if there is none, whether that is
        because all that wait are on lease.
        """
        ranked, is_held = self._ranked.get(group), False
        if not ranked:
            are_few = self._siblings.groups.members[group] <= _FEW_MEMBERS
            rank = _rank_few if are_few else _rank_many
            ranked, is_held = rank(self._siblings, group, self.leased)
            if len(self._ranked) >= _MOST_LISTS:
                self._ranked.clear()
            if not are_few:
                self._ranked[group] = ranked
        return (ranked.pop() if ranked else None), is_held

    def is_quick(self, group: int) -> bool:
        """Whether the best member is found with little work."""
        return self._siblings.groups.members[group] <= _FEW_MEMBERS or group in self._ranked

    def forget(self, group: int) -> None:
        """A member has grown."""
        self._ranked.pop(group, None)

    def forget_all(self, groups: Numbers) -> None:
        """Members of all of these have grown."""
        for group in self._ranked.keys() & set(groups.tolist()) if self._ranked else ():
            del self._ranked[group]


def best_members(siblings: Siblings, groups: range) -> tuple[Pages, Floats]:
    """The best members of a range of groups and what they are worth; below 0 if none waits."""
    of, known = siblings.groups, len(siblings.bonus)
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


def _rank_few(siblings: Siblings, group: int, leased: set[int]) -> tuple[Ranked, bool]:
    """The best member that may be taken, if there is one; and whether others wait."""
    members = siblings.groups.few_members(group, siblings.host_of)
    waiting = [page for page in members if siblings.ledger.flags[page] == UNREAD]
    free = [(values.worth(siblings, page), -page) for page in waiting if page not in leased]
    worth, page = max(free, default=(0.0, 1))
    return [(worth, -page)] if free else [], bool(waiting)


def _rank_many(siblings: Siblings, group: int, leased: set[int]) -> tuple[Ranked, bool]:
    """The same of a large group, with more of the best members."""
    first, end = siblings.groups.span(group, len(siblings.bonus))
    waits = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[first:end] == UNREAD
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[first:end]
    waits &= hosts == siblings.groups.host[group]
    held = [page - first for page in leased if first <= page < end]
    is_held = bool(waits[held].any())
    waits[held] = False
    pages = (first + np.flatnonzero(waits)).astype(np.uint32)
    worths = values.worths(siblings, pages)
    if len(pages) > _RANKED:
        best = np.argpartition(worths, -_RANKED)[-_RANKED:]
        pages, worths = pages[best], worths[best]
    found = zip(worths.tolist(), pages.tolist(), strict=True)
    return sorted(found, key=lambda one: (one[0], -one[1])), is_held

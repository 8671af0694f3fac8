"""The best page by its siblings among the hosts that may be asked now: exact order.

Law: `take` answers with a page of the largest factor * worth among the pages of ready hosts that
wait and are not on lease; see `siblings` for what these are.

A group waits in the queue of its host with the key of its best member, so `by_host` does for groups
what it does for pages. The best member is looked for again when it has been taken. That a factor
changes costs one key, however many members the group has.

held    a group whose waiting members are all on lease
empty   a group without members that wait
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import repeat

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.by_host import ByHost
from minicrawl.opic.ledger import UNREAD
from minicrawl.opic.siblings import Changes, Floats, Numbers, Pages, Siblings

_NOBODY = 0xFFFFFFFF
_WAITING, _EMPTY = 0, 1
_SCALE = 2.0**-12
"""A key is counted in 16ths of atoms: factors are in 65,536ths."""
_MOST = 2.0**62


class ByGroup:
    """Picks pages by what their siblings have shown. All that is posted must be `settled`."""

    __slots__ = ("_best", "_flags", "_groups", "_keys", "_leased", "_queue", "_siblings")

    def __init__(self, siblings: Siblings) -> None:
        self._siblings, self._groups = siblings, siblings.groups
        self._keys, self._flags, self._best = array("q"), bytearray(), array("I")
        self._queue = ByHost(self._keys, self._flags, self._groups.host)
        self._leased: set[int] = set()
        siblings.changes = Changes()
        self._grow()

    def born(self, pages: Iterable[int]) -> None:
        """These pages wait from now on: they are new, or wait again."""
        self._grow()
        hosts = self._siblings.host_of
        for group in {self._groups.of_one(page, hosts[page]) for page in pages}:
            self._look_through(group)

    def settled(self, page: PageId | None = None) -> None:
        """Something was posted; the lease of its page, if there was one, has ended."""
        changes, self._siblings.changes = self._siblings.changes, Changes()
        assert changes is not None  # or nobody would tell this queue anything
        self._grow()
        for links, groups in zip(changes.links, changes.groups, strict=True):
            self._compare(links, groups)
        if page is not None:
            self._leased.discard(page)
            changes.own.add(self._groups.of_one(page, self._siblings.host_of[page]))
        for group in changes.own:
            self._look_through(group)
        if changes.of_all:
            self._key(np.arange(len(self._groups)))
        elif changes.groups or changes.sites:
            of_sites = map(self._groups_of_site, changes.sites)
            self._key(np.unique(np.concatenate((*changes.groups, *of_sites))))

    def take(self) -> int | None:
        """Lease the best page and its host; None if no ready host has a page."""
        group = self._queue.take()
        if group is None:
            return None
        page = self._best[group]
        self._leased.add(page)
        self._look_through(group)
        return page

    def release(self, page: PageId) -> None:
        """The lease of the page has ended. Its host stays as it is."""
        self._leased.discard(page)
        self._look_through(self._groups.of_one(page, self._siblings.host_of[page]))

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        self._queue.resume(host)

    def pause(self, host: int) -> None:
        """The host may not be asked."""
        self._queue.pause(host)

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""
        return self._queue.is_ready(host)

    def key(self, page: PageId) -> int:
        """By what the page is ordered: the cash that it is as good as, in 16ths of atoms."""
        group = self._groups.of_one(page, self._siblings.host_of[page])
        return int(self._keys_of(np.array([group]), np.array([page], dtype=np.uint32))[0])

    def __len__(self) -> int:
        """Entries in all the heaps, the stale ones too."""
        return len(self._queue)

    # ------------------------------------------------------------ groups

    def _grow(self) -> None:
        """Groups that are new have no members that wait, until they are looked through."""
        new = len(self._groups) - len(self._keys)
        self._keys.extend(repeat(0, new))
        self._flags.extend(repeat(_EMPTY, new))
        self._best.extend(repeat(_NOBODY, new))

    def _compare(self, links: Pages, groups: Numbers) -> None:
        """The worths of these have grown: which of them are the best of their groups now?"""
        siblings, leased = self._siblings, self._leased
        waiting = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[links] == UNREAD
        best = np.frombuffer(self._best, dtype=np.uint32)[groups]
        waiting &= (best != links) & (best != _NOBODY)
        links, groups, best = links[waiting], groups[waiting], best[waiting]
        worths = siblings.worths(links)
        worst_first = np.argsort(worths)
        is_better = worths > siblings.worths(best)
        for place in worst_first[is_better[worst_first]].tolist():
            if (link := int(links[place])) not in leased:
                self._best[groups[place]] = link

    def _key(self, groups: Numbers) -> None:
        """The factors of these groups, or the worths of their best members, may have changed."""
        best = np.frombuffer(self._best, dtype=np.uint32)[groups]
        groups, best = groups[best != _NOBODY], best[best != _NOBODY]
        np.frombuffer(self._keys, dtype=np.int64)[groups] = self._keys_of(groups, best)
        self._queue.offer(groups.tolist())

    def _keys_of(self, groups: Numbers, best: Pages) -> Numbers:
        siblings = self._siblings
        keys = siblings.factors(groups) * siblings.worths(best) * _SCALE
        return np.minimum(keys, _MOST).astype(np.int64)

    def _groups_of_site(self, site: int) -> Numbers:
        hosts = self._siblings.budgets.hosts(site)
        return np.concatenate([self._queue.waiting(host) for host in hosts]).astype(np.int64)

    def _look_through(self, group: int) -> None:
        """Find the best member, and have the group wait for as long as there is one."""
        found, has_leased = self._best_member(group)
        self._best[group] = _NOBODY if found is None else found
        was_empty = self._flags[group] == _EMPTY
        self._flags[group] = _EMPTY if found is None and not has_leased else _WAITING
        if found is not None:
            key = self._keys_of(np.array([group]), np.array([found]))
            self._keys[group] = int(key[0])
        if found is None and has_leased:
            self._queue.hold(group)
        elif not was_empty:
            self._queue.release(group)
        elif found is not None:
            self._queue.born((group,))

    def _best_member(self, group: int) -> tuple[int | None, bool]:
        """The best member that may be taken, and whether a better one is on lease."""
        first, worths = self._waiting_members(group)
        has_leased = False
        while len(worths) and worths[place := int(worths.argmax())] >= 0:
            if first + place not in self._leased:
                return first + place, has_leased
            worths[place], has_leased = -1.0, True
        return None, has_leased

    def _waiting_members(self, group: int) -> tuple[int, Floats]:
        """The first possible member, and the worth of each that waits; below 0 for all others."""
        siblings = self._siblings
        first, end = self._groups.span(group, len(siblings.ledger))
        flags = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[first:end]
        hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[first:end]
        is_member = (flags == UNREAD) & (hosts == self._groups.host[group])
        return first, np.where(is_member, siblings.worths(np.arange(first, end, dtype=np.uint32)), -1.0)

"""The best page by its siblings among the hosts that may be asked now: exact order.

Law: `take` answers with a page of the largest factor * worth among the pages of ready hosts that
wait and are not on lease; see `shown` for what these are. They are those of the last *count*: what
was posted is counted after 64 plans, in the beginning after a sixteenth of the plans so far, and
when no page may be taken while a page of a ready host has become known.

A group waits in the queue of its host with the key of its best member, so `by_host` does for groups
what it does for pages. That a factor changes costs one key, however many members the group has.
Which member is the best is looked for only when the group is taken: until then its key is that of a
member worth as much as any may be.

worth    of a group: that of its best member, or a bound for it where the best is not known
held     a group whose waiting members are all on lease
empty    a group without members that wait
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.by_host import ByHost
from minicrawl.opic.ledger import UNREAD, Plan
from minicrawl.opic.siblings.groups import Numbers, OrderChanges, Pages
from minicrawl.opic.siblings.shown import Floats, Siblings
from minicrawl.opic.siblings.shown import worths as worths_of

_NOBODY, _NOT_KNOWN = 0xFFFFFFFF, 0xFFFFFFFE
_WAITING, _EMPTY = 0, 1
_SCALE = 2.0**-12
"""A key is counted in 16ths of atoms: factors are in 65,536ths."""
_MOST = 2.0**62
_GROUPS_AT_ONCE = 1 << 18
MOST_AT_ONCE, PART_AT_ONCE = 64, 16
_LARGE = 64
"""Groups of a host from which on it keeps candidates: their keys fall as often as they grow."""
_RANKED, _MOST_LISTS = 16, 256
"""Members of a large group that are ranked at once, and groups that are remembered so."""
_FEW_MEMBERS = 16
"""Up to so many it is quicker to go one by one."""

Ranked = list[tuple[float, int]]
"""The best members of a group by their worth, the best one last."""


class ByGroup:
    """Picks pages by what their siblings have shown. It has to hear of all that is `posted`."""

    __slots__ = (
        "_best",
        "_count_at",
        "_flags",
        "_groups",
        "_keys",
        "_leased",
        "_posts",
        "_queue",
        "_ranked",
        "_siblings",
        "_worth",
    )

    def __init__(self, siblings: Siblings) -> None:
        self._siblings, self._groups = siblings, siblings.groups
        self._keys, self._flags = array("q"), bytearray()
        self._best, self._worth = array("I"), array("d")
        self._queue = ByHost(self._keys, self._flags, self._groups.host, large=_LARGE)
        self._leased: set[int] = set()
        self._ranked: dict[int, Ranked] = {}
        """The best members of some groups, the best one last: as long as no member has grown."""
        self._posts = self._count_at = 0
        """How often something was posted, and when it is counted."""
        siblings.changes = OrderChanges()

    # ------------------------------------------------------------ pages that wait

    def load(self) -> None:
        """All pages that are known and not read wait from now on."""
        self._siblings.count()
        for first in range(0, len(self._groups), _GROUPS_AT_ONCE):
            self._add(range(first, min(first + _GROUPS_AT_ONCE, len(self._groups))))
        flags = np.frombuffer(self._flags, dtype=np.uint8)
        self._queue.wait([np.flatnonzero(flags == _WAITING).astype(np.uint32)])

    def wait_again(self, pages: Iterable[int]) -> None:
        """These pages had their turn, and wait for another one."""
        for page in pages:
            self._let_wait(page)

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        """Plans were posted, so their pages have no lease; `new` pages were born before, and
        `paid` ones, which were not read, were endowed.
        """
        for plan in plans:
            self._leased.discard(plan.page)
        self._posts += 1
        if paid or self._posts >= self._count_at:
            self.count()
        self.wait_again(set(paid) - self._leased)

    def count(self) -> None:
        """Count what was posted."""
        self._siblings.count()
        self._count_at = self._posts + min(MOST_AT_ONCE, self._posts // PART_AT_ONCE)
        changes, self._siblings.changes = self._siblings.changes, OrderChanges()
        assert changes is not None  # or nobody would tell this queue anything
        self._bear()
        for links, groups in changes.gifts:
            self._compare(links, groups)
        touched = [groups for _, groups in changes.gifts] + changes.groups
        for own in changes.groups:
            for group in own.tolist():
                if self._best[group] == _NOBODY:
                    self._look_through(group)
        if changes.of_all:
            touched.append(self._groups.judged())
        for host in changes.hosts:
            touched.append(self._queue.waiting(host).astype(np.int64))
        if touched:
            self._key_many(np.unique(np.concatenate(touched)))

    def release(self, page: PageId) -> None:
        """The lease of the page has ended, and it waits again. Its host stays as it is."""
        self._leased.discard(page)
        self._let_wait(page)

    def take(self) -> int | None:
        """Lease the best page and its host; None if no ready host has a page."""
        while True:
            group = self._queue.take()
            if group is None:
                if not self._hides_pages():
                    return None
                self.count()
            elif self._best[group] == _NOT_KNOWN:
                self._look_through(group)
                self._queue.resume(self._groups.host[group])
            else:
                return self._lease(group)

    def _hides_pages(self) -> bool:
        """Whether pages of ready hosts became known that this queue has not got yet."""
        counted = self._groups.host[len(self._keys) :]
        return any(map(self._queue.is_ready, {*counted, *self._siblings.hosts_of_posted()}))

    def _lease(self, group: int) -> int:
        page = self._best[group]
        self._leased.add(page)
        if self._groups.members[group] == 1:
            self._best[group] = _NOBODY
            self._queue.hold(group)
        else:
            self._best[group] = _NOT_KNOWN
            self._queue.release(group)
        return page

    # ------------------------------------------------------------ hosts

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        self._queue.resume(host)

    def pause(self, host: int) -> None:
        """The host may not be asked."""
        self._queue.pause(host)

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""
        return self._queue.is_ready(host)

    # ------------------------------------------------------------ what is known

    def key(self, page: PageId) -> int:
        """By what the page is ordered: the cash that it is as good as, in 16ths of atoms."""
        worth = self._siblings.worth(page)
        return _key(self._siblings.factor(self._group_of(page)), worth)

    def _group_of(self, page: PageId) -> int:
        return self._groups.of_one(page, self._siblings.host_of[page])

    # ------------------------------------------------------------ groups that become known

    def _bear(self) -> None:
        """New groups wait."""
        if new := range(len(self._keys), len(self._groups)):
            self._add(new)
            self._queue.born(new)

    def _add(self, new: range) -> None:
        best, worths = _best_members(self._siblings, new)
        keys = _keys(self._siblings.factors(np.arange(new.start, new.stop)), worths)
        flags = np.where(best == _NOBODY, _EMPTY, _WAITING)
        self._flags += flags.astype(np.uint8).tobytes()
        self._best.frombytes(best.tobytes())
        self._worth.frombytes(worths.tobytes())
        self._keys.frombytes(keys.tobytes())

    # ------------------------------------------------------------ the best member

    def _compare(self, pages: Pages, groups: Numbers) -> None:
        """Find which of these pages are the best of their groups now."""
        waits = np.frombuffer(self._siblings.ledger.flags, dtype=np.uint8)[pages] == UNREAD
        pages, groups = pages[waits], groups[waits]
        for group in self._ranked.keys() & set(groups.tolist()) if self._ranked else ():
            del self._ranked[group]
        worths = worths_of(self._siblings, pages)
        is_more = worths > np.frombuffer(self._worth, dtype=np.float64)[groups]
        grown = zip(
            pages[is_more].tolist(), groups[is_more].tolist(), worths[is_more].tolist(), strict=True
        )
        for page, group, worth in grown:
            best = self._best[group]
            if page in self._leased or best == _NOBODY or not (worth > self._worth[group]):
                continue
            if best != _NOT_KNOWN:
                self._best[group] = page
            self._worth[group] = worth

    def _let_wait(self, page: PageId) -> None:
        group, worth = self._group_of(page), self._siblings.worth(page)
        self._ranked.pop(group, None)
        best = self._best[group]
        if best == _NOBODY:
            self._put_first(group, page, worth)
        elif worth > self._worth[group]:
            self._best[group] = best if best == _NOT_KNOWN else page
            self._worth[group] = worth
            self._keys[group] = _key(self._siblings.factor(group), worth)
            self._queue.offer((group,))

    def _look_through(self, group: int) -> None:
        """Find the best member that may be taken; if there is none, the group is held or empty."""
        ranked, is_held = self._ranked.get(group), False
        if not ranked:
            are_few = self._groups.members[group] <= _FEW_MEMBERS
            rank = _rank_few if are_few else _rank_many
            ranked, is_held = rank(self._siblings, group, self._leased)
            if len(self._ranked) >= _MOST_LISTS:
                self._ranked.clear()
            if not are_few:
                self._ranked[group] = ranked
        if ranked:
            worth, page = ranked.pop()
            self._put_first(group, page, worth)
            return
        self._best[group] = _NOBODY
        self._flags[group] = _WAITING if is_held else _EMPTY
        if is_held:
            self._queue.hold(group)
        else:
            self._queue.release(group)

    def _put_first(self, group: int, page: int, worth: float) -> None:
        """The page is the best that the group has."""
        was_empty = self._flags[group] == _EMPTY
        self._best[group], self._worth[group] = page, worth
        self._flags[group] = _WAITING
        self._keys[group] = _key(self._siblings.factor(group), worth)
        if was_empty:
            self._queue.born((group,))
        else:
            self._queue.release(group)

    # ------------------------------------------------------------ keys

    def _key_many(self, groups: Numbers) -> None:
        """The factors of these groups may have changed."""
        groups = groups[np.frombuffer(self._best, dtype=np.uint32)[groups] != _NOBODY]
        keys = np.frombuffer(self._keys, dtype=np.int64)
        worths = np.frombuffer(self._worth, dtype=np.float64)[groups]
        found = _keys(self._siblings.factors(groups), worths)
        moved = np.flatnonzero(found != keys[groups])
        keys[groups] = found
        del keys, worths
        self._queue.offer(groups[moved].tolist())


def _key(factor: float, worth: float) -> int:
    return int(min(factor * worth * _SCALE, _MOST))


def _keys(factors: Floats, worths: Floats) -> Numbers:
    found: Numbers = np.minimum(factors * worths * _SCALE, _MOST).astype(np.int64)
    return found


def _best_members(siblings: Siblings, groups: range) -> tuple[Pages, Floats]:
    """The best members of a range of groups and what they are worth; below 0 if none waits."""
    of, known = siblings.groups, len(siblings.bonus)
    first, end = of.span(groups.start, known)[0], of.span(groups.stop - 1, known)[1]
    pages = np.arange(first, end, dtype=np.uint32)
    group_of = of.of(pages, np.frombuffer(siblings.host_of, dtype=np.uint32)[first:end])
    waits = np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[first:end] == UNREAD
    waits &= (group_of >= groups.start) & (group_of < groups.stop)
    pages, group_of = pages[waits], group_of[waits] - groups.start
    worths, most = worths_of(siblings, pages), np.full(len(groups), -1.0)
    np.maximum.at(most, group_of, worths)
    best = np.full(len(groups), _NOBODY, dtype=np.uint32)
    first_page = np.flatnonzero(worths == most[group_of])[::-1]
    best[group_of[first_page]] = pages[first_page]
    return best, most


def _rank_few(siblings: Siblings, group: int, leased: set[int]) -> tuple[Ranked, bool]:
    """The best member that may be taken, if there is one; and whether others wait."""
    members = siblings.groups.few_members(group, siblings.host_of)
    waiting = [page for page in members if siblings.ledger.flags[page] == UNREAD]
    free = [(siblings.worth(page), -page) for page in waiting if page not in leased]
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
    worths = worths_of(siblings, pages)
    if len(pages) > _RANKED:
        best = np.argpartition(worths, -_RANKED)[-_RANKED:]
        pages, worths = pages[best], worths[best]
    found = zip(worths.tolist(), pages.tolist(), strict=True)
    return sorted(found, key=lambda one: (one[0], -one[1])), is_held

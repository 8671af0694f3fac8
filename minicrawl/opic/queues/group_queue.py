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

from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, repeat
from math import inf

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.ledger.ledger import UNREAD
from minicrawl.opic.queues.by_host import ByHost
from minicrawl.opic.queues.by_site import BySite, ImportanceOfHosts
from minicrawl.opic.queues.eligible_items import EMPTY, LONE, LONE_ITEM, WAITING, EligibleItems
from minicrawl.opic.queues.host_queue import FEW
from minicrawl.opic.queues.sibling_members import FEW_MEMBERS, NOBODY, FreeMembers, best_members
from minicrawl.opic.siblings.groups import NO_GROUP, Numbers, Pages
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import (
    MOST_LIFT,
    Floats,
    best_of,
    factor_of,
    factors_of,
    key_of,
    keys_of,
    lone_key,
    lone_keys,
    worth_of,
    worths_of,
)

_NOT_KNOWN = 0xFFFFFFFE
PAGES_AT_ONCE = 1 << 18
_FEW_GROUPS = 8
"""Up to this number a loop is faster than arrays."""


class GroupQueue:
    """The waiting groups. `hosts` has the queues of their hosts, `members` knows the leases."""

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

    def load(self) -> None:
        """Enqueue all groups and lone pages."""
        for groups in self._siblings.groups.blocks(PAGES_AT_ONCE):
            self._add(groups)
        self.known = self._siblings.known
        flags = np.frombuffer(self._flags, dtype=np.uint8)
        waiting = np.flatnonzero(flags == WAITING).astype(np.uint32)
        self.hosts.enqueue_blocks(chain((waiting,), self._lone_among(range(self.known))))

    def enqueue_new(self) -> None:
        """Enqueue new groups and lone pages."""
        pages = range(self.known, self._siblings.known)
        self.known = pages.stop
        flags = self._siblings.ledger.flags
        waiting = flags.count(UNREAD, pages.start, pages.stop)
        if new := range(len(self._keys), len(self._siblings.groups)):
            if len(new) <= _FEW_GROUPS and waiting == len(pages):
                self._add_few(new, pages)
            elif waiting:
                self._add(new)
            else:
                self._flags += bytes((EMPTY,)) * len(new)
                self._best.extend(repeat(NOBODY, len(new)))
                self._worth.extend(repeat(-1.0, len(new)))
                self._keys.extend(repeat(0, len(new)))
            self.hosts.enqueue([group for group in new if self._flags[group] == WAITING])
        if not waiting:
            return  # as all were refused when they were met
        lone = self._siblings.groups.lone_among(pages)
        self.hosts.enqueue([LONE + page for page in lone if flags[page] == UNREAD])

    def _lone_among(self, known: range) -> Iterator[Pages]:
        """Yield the waiting lone pages among these pages, as items, block by block."""
        flags = np.frombuffer(self._siblings.ledger.flags, dtype=np.uint8)
        for first in range(known.start, known.stop, PAGES_AT_ONCE):
            pages = np.arange(first, min(first + PAGES_AT_ONCE, known.stop), dtype=np.uint32)
            waits = self._siblings.groups.are_lone(pages) & (flags[pages] == UNREAD)
            yield pages[waits] + LONE_ITEM

    def _add_few(self, new: range, pages: range) -> None:
        """Add groups whose members are among `pages`, all of which wait."""
        siblings = self._siblings
        for group in new:
            if siblings.groups.members[group] <= FEW_MEMBERS:
                members = siblings.groups.few_members(group, siblings.host_of)
                worth, page = best_of(siblings, members)
            else:
                # An upper bound, because the best of many members is expensive to find. A bound
                # that is too high is corrected when the group is taken; with one that is too low,
                # the group would be passed over.
                most = max(siblings.keys[pages.start : pages.stop])
                worth, page = most * MOST_LIFT, _NOT_KNOWN
            self._flags.append(WAITING)
            self._best.append(page)
            self._worth.append(worth)
            self._keys.append(key_of(factor_of(siblings, group), worth))

    def _add(self, new: range) -> None:
        best, worths = best_members(self._siblings, new)
        keys = keys_of(factors_of(self._siblings, np.arange(new.start, new.stop)), worths)
        flags = np.where(best == NOBODY, EMPTY, WAITING)
        self._flags += flags.astype(np.uint8).tobytes()
        self._best.frombytes(best.tobytes())
        self._worth.frombytes(worths.tobytes())
        self._keys.frombytes(keys.tobytes())

    def take(self) -> int | None:
        """Lease and return the best page and its host; None if no ready host has a page."""
        while True:
            item = self.hosts.take()
            if item is None:
                return None
            if self._siblings.holds_back:
                host = self._eligible.host_of[item]
                if self._eligible.is_outdated(host):  # the keys of its items are too high
                    self.hosts.release(item)
                    self._key_host(host)
                    self.hosts.resume(host)
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

    def give(self, pages: Pages) -> None:
        """Update lone pages that received cash, and groups in which one has become the best."""
        siblings = self._siblings
        pages = pages[np.frombuffer(siblings.ledger.flags, dtype=np.uint8)[pages] == UNREAD]
        hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
        groups = siblings.groups.of(pages, hosts)
        is_lone = groups == NO_GROUP
        lone = pages[is_lone]
        self.hosts.offer_many(lone + LONE_ITEM, hosts[is_lone], lone_keys(siblings, lone))
        pages, groups = pages[~is_lone], groups[~is_lone]

        worths = worths_of(self._siblings, pages)
        if floors := self.members.floors:
            for page, group, worth in _rows(pages, groups, worths):
                if worth >= floors.get(group, inf):
                    self.members.rank(group, page, worth)
        grown = worths > np.frombuffer(self._worth, dtype=np.float64)[groups]
        # A group without a best member has all its waiting members on lease, and looks for one when
        # a lease ends.
        grown &= np.frombuffer(self._best, dtype=np.uint32)[groups] != NOBODY
        most, leased, changed = self._worth, self.members.leased, set[int]()
        for page, group, worth in _rows(pages[grown], groups[grown], worths[grown]):
            if worth > most[group] and page not in leased:
                self._put_before(group, page, worth)
                changed.add(group)
        self.key_many(np.array(sorted(changed), dtype=np.int64))

    def _put_before(self, group: int, page: int, worth: float) -> None:
        """Make a page the best member in place of one that is worth less."""
        best = self._best[group]
        if best != _NOT_KNOWN:
            self.members.rank(group, best, self._worth[group])
            self._best[group] = page
        self._worth[group] = worth

    def enqueue(self, page: PageId) -> None:
        """Enqueue a page that waits and has no lease. It had no turn since it was taken."""
        group, worth = self._siblings.group_of(page), worth_of(self._siblings, page)
        if group == NO_GROUP:
            self.hosts.offer((LONE + page,))
            return
        if self._siblings.levels is None:
            self.members.rank(group, page, worth)
        else:
            self.members.forget(group)  # its level may have fallen
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
                self.members.forget(self._siblings.group_of(page))  # it was worth more, perhaps
                self.enqueue(page)

    def _look_through(self, group: int) -> None:
        """Find the best available member; without one the group is held or empty."""
        best = self.members.take_best(group)
        if best is None:
            self._best[group] = NOBODY
            self._hold(group)
        else:
            worth, page = best
            self._put_first(group, page, worth)

    def _hold(self, group: int) -> None:
        """Mark the group as held if members are on lease, else as empty."""
        if group in self.members.held:
            self._flags[group] = WAITING
            self._leased_items.add(group)
        else:
            self._flags[group] = EMPTY
            self._leased_items.discard(group)

    def _put_first(self, group: int, page: int, worth: float) -> None:
        was_empty = self._flags[group] == EMPTY
        self._best[group], self._worth[group] = page, worth
        self._flags[group] = WAITING
        self._keys[group] = key_of(factor_of(self._siblings, group), worth)
        if was_empty:
            self.hosts.enqueue((group,))
        else:
            self._offer_again(group)

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
        for items in self._lone_among(range(self.known)):
            pages = items - LONE_ITEM
            self.hosts.offer_many(items, host_of[pages], lone_keys(self._siblings, pages))

    def _key_host(self, host: int) -> None:
        """Update the keys of all items of a host whose multiplier has changed."""
        items = self.hosts.items(host)
        if len(items) > FEW:
            self.key_many(self.key_all_of((host,)))
            return
        self._eligible.note_keyed(host)
        for item in items:
            if item >= LONE:
                self.hosts.offer_one(item, host, lone_key(self._siblings, item - LONE))
            elif self._best[item] != NOBODY:
                self._key(item)

    def key_all_of(self, hosts: Collection[int]) -> Numbers:
        """Update the keys of lone pages of these hosts; return their groups, for the caller."""
        for host in hosts:
            self._eligible.note_keyed(host)
        waiting = [self.hosts.waiting(host) for host in hosts]
        items = np.concatenate(waiting)
        host_of = np.repeat(np.array([*hosts], dtype=np.uint32), [*map(len, waiting)])
        are_lone = items >= LONE
        keys = lone_keys(self._siblings, items[are_lone] - LONE_ITEM)
        self.hosts.offer_many(items[are_lone], host_of[are_lone], keys)
        return items[~are_lone].astype(np.int64)

    def _key(self, group: int) -> None:
        """Update the key of a group whose factor may have changed."""
        key = self._keys[group] = key_of(factor_of(self._siblings, group), self._worth[group])
        self.hosts.offer_one(group, self._siblings.groups.host[group], key)

    def key_many(self, groups: Numbers) -> None:
        groups = groups[np.frombuffer(self._best, dtype=np.uint32)[groups] != NOBODY]
        keys = np.frombuffer(self._keys, dtype=np.int64)
        worths = np.frombuffer(self._worth, dtype=np.float64)[groups]
        new_keys = keys_of(factors_of(self._siblings, groups), worths)
        have_moved = new_keys != keys[groups]
        groups, new_keys = groups[have_moved], new_keys[have_moved]
        keys[groups] = new_keys
        hosts = np.frombuffer(self._siblings.groups.host, dtype=np.uint32)[groups]
        self.hosts.offer_many(groups, hosts, new_keys)


def _rows(pages: Pages, groups: Numbers, worths: Floats) -> Iterator[tuple[int, int, float]]:
    return zip(pages.tolist(), groups.tolist(), worths.tolist(), strict=True)

"""What waits in the queues of hosts: groups, each with its best member, and lone pages.

Law: the key of a lone page is computed when it is asked for, so a lone page that waits takes the
four bytes of its place in the queue and no more.

item    a group, or LONE + a lone page: one whole number, as the queues have for a page
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.by_host import ByHost
from minicrawl.opic.host_queue import PAGE, EligiblePages
from minicrawl.opic.ledger import UNREAD
from minicrawl.opic.siblings import values
from minicrawl.opic.siblings.groups import Numbers, Pages
from minicrawl.opic.siblings.shown import Siblings

LONE = 1 << 31
_LONE = np.uint32(LONE)
PAGES_AT_ONCE = 1 << 18
_LARGE = 8
"""Items of a host from which on it keeps candidates: their keys fall as often as they grow."""
_FEW_PAGES = 32
"""Up to so many it is quicker to go one by one."""
_MANY_HOSTS, _LARGE_OF_MANY = 4096, 256
"""Of so many hosts only larger ones do: candidates take more memory than the items."""


class ItemColumn:
    """A number of each item: that of the group, or that of the lone page."""

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
        """`keys` and `flags` are those of the groups."""
        self._siblings, self._keys, self._flags = siblings, keys, flags
        self._keyed: dict[int, float] = {}
        """Hosts, and by how much they were held back when all of their groups were keyed."""
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
        """Whether the entry of a group is up to date, and that of a lone page not too good.

        A lone page may have been given cash since it was offered last: it is offered anew when
        gifts are looked at, and must not be missing until then.
        """
        item = entry & PAGE
        if not self.is_eligible(item):
            return False
        key, now = (item - entry) >> 32, self.keys[item]
        if key == now if item < LONE else key <= now:
            return True
        return bool(self._siblings.budgets.rounds) and self.is_outdated(self.host_of[item])

    def is_outdated(self, host: int) -> bool:
        """Whether the host is held back more than when its groups were keyed."""
        return self._siblings.budgets.held(host) != self._keyed.get(host, 1.0)

    def note_keyed(self, host: int) -> None:
        """All groups of the host are keyed by what is known now."""
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
    """The lone pages in the queues of hosts. Groups are in the same queues."""

    __slots__ = ("_hosts", "_siblings")

    def __init__(self, siblings: Siblings, hosts: ByHost) -> None:
        self._siblings, self._hosts = siblings, hosts

    def among(self, known: int) -> Iterator[Pages]:
        """The items of all that wait of so many pages, block by block."""
        flags = np.frombuffer(self._siblings.ledger.flags, dtype=np.uint8)
        for first in range(0, known, PAGES_AT_ONCE):
            pages = np.arange(first, min(first + PAGES_AT_ONCE, known), dtype=np.uint32)
            waits = self._siblings.groups.are_lone(pages) & (flags[pages] == UNREAD)
            yield pages[waits] + _LONE

    def bear(self, new: range) -> None:
        """Those of these pages wait from now on."""
        if len(new) <= _FEW_PAGES:
            self._hosts.born([LONE + page for page in self._siblings.groups.lone_among(new)])
            return
        pages = np.arange(new.start, new.stop, dtype=np.uint32)
        self._hosts.born_many(pages[self._siblings.groups.are_lone(pages)] + _LONE)

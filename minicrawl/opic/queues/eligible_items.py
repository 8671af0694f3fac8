"""The items in the queues of hosts: groups of siblings, and lone pages.

The key of a lone page is computed on demand, so a waiting lone page costs the four bytes of its
place in the queue and no more.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.ledger import UNREAD
from minicrawl.opic.queues.host_queue import PAGE, EligiblePages
from minicrawl.opic.siblings.groups import Numbers, Pages
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import lone_key, lone_keys

LONE = 1 << 31
LONE_ITEM = np.uint32(LONE)
WAITING, EMPTY = 0, 1
_LARGE = 8
"""Fewest items for candidates of a host; few, because keys of items fall as often as they grow."""
_MANY_HOSTS, _LARGE_OF_MANY = 4096, 256
"""With many hosts only larger ones keep candidates, which take more memory than items."""


class ItemColumn:
    """Column of numbers of items, from a column of groups and a column of pages."""

    def __init__(self, of_group: array[int] | bytearray, of_page: array[int] | bytearray) -> None:
        self._of_group, self._of_page = of_group, of_page

    def __getitem__(self, item: int) -> int:
        return self._of_group[item] if item < LONE else self._of_page[item - LONE]


class ItemKeys:
    def __init__(self, of_group: array[int], siblings: Siblings) -> None:
        self._of_group, self._siblings = of_group, siblings

    def __getitem__(self, item: int) -> int:
        if item < LONE:
            return self._of_group[item]
        return lone_key(self._siblings, item - LONE)


class EligibleItems(EligiblePages):
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
        return int(np.frombuffer(self._siblings.host_of, dtype=np.uint32).max(initial=0)) + 1

    def is_eligible(self, page: PageId) -> bool:
        # Without the columns: this and `renewed` are called several times a page.
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
                if flags[item] != WAITING:
                    continue
                entry = item - (keys[item] << 32)
            elif flags_of_lone[item - LONE] != UNREAD:
                continue
            else:
                entry = item - (lone_key(siblings, item - LONE) << 32)
            if best is None or entry < best:
                best = entry
        return best

    def renewed(self, entry: int) -> int | None:
        """Return the entry of a group with its present key, or of a lone page with a lower one.

        A lone page may have received cash since it was last offered. It is offered again at the
        next look at gifts, and its old entry must stay in the queue until then.
        """
        item = entry & PAGE
        if not self.is_eligible(item):
            return None
        if item < LONE:
            present = item - (self._keys[item] << 32)
        else:
            present = max(item - (lone_key(self._siblings, item - LONE) << 32), entry)
        if present != entry and self._siblings.holds_back and self.is_outdated(self.host_of[item]):
            return entry
        return present

    def is_outdated(self, host: int) -> bool:
        """Return True if the host's multiplier has changed since its groups were keyed."""
        return self._siblings.held(host) != self._keyed.get(host, 1.0)

    def note_keyed(self, host: int) -> None:
        """Note that all groups of the host have keys from its current multiplier."""
        self._keyed[host] = self._siblings.held(host)

    def keys_of(self, pages: Pages) -> Numbers:
        of_groups = np.frombuffer(self._keys, dtype=np.int64)
        return _of_items(pages, of_groups, lambda lone: lone_keys(self._siblings, lone))

    def are_in_pool(self, pages: Pages) -> NDArray[np.bool_]:
        of_groups = np.frombuffer(self._flags, dtype=np.uint8)
        of_pages = np.frombuffer(self._siblings.ledger.flags, dtype=np.uint8)
        are_eligible: NDArray[np.bool_] = (
            _of_items(pages, of_groups, of_pages.__getitem__) == self.pool
        )
        return are_eligible

    def hosts_of(self, pages: Pages) -> Pages:
        of_groups = np.frombuffer(self._siblings.groups.host, dtype=np.uint32)
        of_pages = np.frombuffer(self._siblings.host_of, dtype=np.uint32)
        return _of_items(pages, of_groups, of_pages.__getitem__)


def _of_items(
    items: Pages, of_groups: NDArray[Any], of_pages: Callable[[Pages], NDArray[Any]]
) -> NDArray[Any]:
    """Return a number for each item, from a column of groups and one of pages."""
    numbers, are_lone = np.empty(len(items), dtype=of_groups.dtype), items >= LONE_ITEM
    numbers[~are_lone] = of_groups[items[~are_lone]]
    numbers[are_lone] = of_pages(items[are_lone] - LONE_ITEM)
    return numbers

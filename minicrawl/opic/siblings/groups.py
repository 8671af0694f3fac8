"""Groups of siblings: pages of one host that one page introduced.

Law: a group has at most a thousand members; a lone page belongs to no group and takes one bit.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId

MOST_MEMBERS = 1000
"""Most pages that are scanned for the best member of a group."""
MANY = 255
NOVELTIES = 254  # even, so that a half is one of the values
NO_GROUP = -1
"""Stands for the group of a lone page."""

_COLUMNS = ("at", "host", "turns", "revealed", "dead")
_HALF, _HOST = 32, (1 << 32) - 1
_HOST_BITS, _FIRST_BITS = np.uint64(_HOST), np.uint64(_HOST << _HALF)

Pages = NDArray[np.uint32]
Numbers = NDArray[np.int64]


class Groups:
    """The groups in flat arrays, sorted by their first possible member and then by host.

    So two binary searches find the group of a page, and two vectorised ones those of many pages.
    """

    def __init__(self) -> None:
        self.at, self.host = array("Q"), array("I")
        """`at` packs the first possible member (high half) and the host (low half)."""
        self.members, self.novelty = bytearray(), bytearray()
        """`members` counts the members, with 255 for more."""
        self.turns, self.revealed, self.dead = array("I"), array("f"), array("I")
        self._lone = bytearray()
        """One bit for each page."""

    def __len__(self) -> int:
        return len(self.at)

    def add(self, first: PageId, hosts: array[int], novelty: float) -> list[int]:
        """Group pages that became known together, from id `first` on; `hosts` has the host of each.

        Return the hosts of the new pages, each once in a block of `MOST_MEMBERS`.
        """
        self._lone += bytes((first + len(hosts) + 7 >> 3) - len(self._lone))
        if len(hosts) == 1:  # as in most calls
            self._lone[first >> 3] |= 1 << (first & 7)
            return [hosts[0]]
        block_hosts: list[int] = []
        for start in range(0, len(hosts), MOST_MEMBERS):
            own = hosts[start : start + MOST_MEMBERS]
            # Most pages introduce pages of a single host.
            alone = own.count(own[0]) == len(own)
            members = {own[0]: len(own)} if alone else Counter(own)
            if 1 in members.values():
                for page, host in enumerate(own, first + start):
                    if members[host] == 1:
                        self._lone[page >> 3] |= 1 << (page & 7)
            in_order = sorted(members)
            for host in in_order:
                if members[host] > 1:
                    self.at.append(first + start << _HALF | host)
                    self.host.append(host)
                    self.members.append(min(members[host], MANY))
                    self.novelty.append(round(novelty * NOVELTIES))
                    self.turns.append(0)
                    self.revealed.append(0.0)
                    self.dead.append(0)
            block_hosts += in_order
        return block_hosts

    def part(self, first: PageId, end: PageId) -> None:
        """Make the newest pages, from `first` to the last one, lone, and drop their groups."""
        while self.at and self.at[-1] >> _HALF >= first:
            columns = *(getattr(self, name) for name in _COLUMNS), self.members, self.novelty
            for column in columns:
                column.pop()
        for page in range(first, end):
            self._lone[page >> 3] |= 1 << (page & 7)

    def state(self) -> dict[str, bytes]:
        return {name: getattr(self, name).tobytes() for name in _COLUMNS} | {
            "members": bytes(self.members),
            "novelty": bytes(self.novelty),
            "lone": bytes(self._lone),
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        for name in _COLUMNS:
            getattr(self, name).frombytes(state[name])
        self.members += state["members"]
        self.novelty += state["novelty"]
        self._lone += state["lone"]

    def judged(self) -> Numbers:
        """Return the groups of which a member had its turn; other groups keep their factors."""
        return np.flatnonzero(np.frombuffer(self.turns, dtype=np.uint32))

    def is_lone(self, page: PageId) -> bool:
        return self._lone[page >> 3] >> (page & 7) & 1 == 1

    def lone_among(self, pages: range) -> list[PageId]:
        bits = self._lone
        return [page for page in pages if bits[page >> 3] >> (page & 7) & 1]

    def are_lone(self, pages: Pages) -> NDArray[np.bool_]:
        bits = np.frombuffer(self._lone, dtype=np.uint8)[pages >> 3]
        is_set: NDArray[np.bool_] = (bits >> (pages & 7).astype(np.uint8) & 1).astype(np.bool_)
        return is_set

    def of(self, pages: Pages, hosts: Pages) -> Numbers:
        """Return the groups of these pages, which are on these hosts."""
        groups = np.full(len(pages), NO_GROUP)
        (grouped,) = (~self.are_lone(pages)).nonzero()
        if not len(grouped):
            return groups
        at, hosts = np.frombuffer(self.at, dtype=np.uint64), hosts[grouped]
        ends = pages[grouped].astype(np.uint64) << _HALF | _HOST_BITS
        places = at.searchsorted(ends, side="right") - 1
        # A page may introduce one group for each of several hosts. The first search finds the last
        # of them; the second one finds that of the page's host.
        (wrong,) = (np.frombuffer(self.host, dtype=np.uint32)[places] != hosts).nonzero()
        if len(wrong):
            places[wrong] = at.searchsorted(at[places[wrong]] & _FIRST_BITS | hosts[wrong])
        groups[grouped] = places
        return groups

    def of_one(self, page: PageId, host: int) -> int:
        if self._lone[page >> 3] >> (page & 7) & 1:
            return NO_GROUP
        last = bisect_right(self.at, page << _HALF | _HOST) - 1
        if self.host[last] == host:
            return last
        return bisect_left(self.at, self.at[last] & ~_HOST | host, 0, last + 1)

    def few_members(self, group: int, host_of: array[int]) -> Sequence[PageId]:
        """Return the members of a group with fewer than `MANY`; a range if they are consecutive."""
        host, page = self.host[group], (self.at[group] >> _HALF) - 1
        end = page + 1 + self.members[group]
        if host_of[page + 1 : end].count(host) == self.members[group]:  # as in most groups
            return range(page + 1, end)
        members = []
        for _ in range(self.members[group]):
            page = host_of.index(host, page + 1)
            members.append(page)
        return members

    def span(self, group: int, pages: int) -> tuple[int, int]:
        """Return the range of pages that contains the members, among other pages."""
        at = self.at[group]
        first, after = at >> _HALF, bisect_right(self.at, at | _HOST, group)
        end = self.at[after] >> _HALF if after < len(self.at) else pages
        return first, min(end, first + MOST_MEMBERS)

    def blocks(self, pages: int) -> Iterator[range]:
        """Yield all groups as ranges that span about this number of pages each."""
        first = 0
        while first < len(self):
            end = (self.at[first] >> _HALF) + pages << _HALF
            stop = max(first + 1, bisect_left(self.at, end, first))
            yield range(first, stop)
            first = stop


class OrderChanges:
    """Changes of factors that the queue has not yet applied to its keys."""

    def __init__(self) -> None:
        self.hosts: set[int] = set()
        """Hosts whose multiplier has grown."""
        self.of_all = False
        """True if the means have moved."""
        self.of_worths = False

"""The groups of siblings: pages of one host that one page introduced, in flat arrays.

Law: a group is known by its first possible member and its host, and groups are in that order. So
that of a page is found by two searches, or for many pages by two searches of all at once.

lone    A page that was introduced as the only one of its host. It is of no group, and takes a bit
        and no record: far most pages of a broad crawl are lone.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId

MOST_MEMBERS = 1000
"""Pages that are looked through for the best member of a group."""
MANY = 255
NOVELTIES = 254  # an even number, so that a half is one of them
NO_GROUP = -1
"""In place of the group of a lone page."""

_COLUMNS = ("at", "host", "turns", "revealed")
_HALF, _HOST = 32, (1 << 32) - 1
_HOST_BITS, _FIRST_BITS = np.uint64(_HOST), np.uint64(_HOST << _HALF)

Pages = NDArray[np.uint32]
Numbers = NDArray[np.int64]


class Groups:
    """All groups, in the order of their first possible members, and then by host."""

    __slots__ = ("_lone", "at", "host", "members", "novelty", "revealed", "turns")

    def __init__(self) -> None:
        self.at, self.host = array("Q"), array("I")
        """`at` has the first possible member, and in its low half the host."""
        self.members, self.novelty = bytearray(), bytearray()
        """`members` has their number, or 255 for more."""
        self.turns, self.revealed = array("I"), array("f")
        self._lone = bytearray()
        """A bit for each page."""

    def __len__(self) -> int:
        return len(self.at)

    def add(self, first: PageId, hosts: array[int], novelty: float) -> list[int]:
        """Pages of these hosts became known together, from the first one on. Answers with the
        hosts of their groups.
        """
        self._lone += bytes((first + len(hosts) + 7 >> 3) - len(self._lone))
        if len(hosts) == 1:  # so are most
            self._lone[first >> 3] |= 1 << (first & 7)
            return [hosts[0]]
        found: list[int] = []
        for start in range(0, len(hosts), MOST_MEMBERS):
            own = hosts[start : start + MOST_MEMBERS]
            members = _members(own)
            if 1 in members.values():
                _mark_lone(self._lone, first + start, own, members)
            in_order = sorted(members)
            self._add(first + start, in_order, members, novelty)
            found += in_order
        return found

    def _add(
        self, first: PageId, hosts: Iterable[int], members: Mapping[int, int], novelty: float
    ) -> None:
        for host in hosts:
            if members[host] > 1:
                self.at.append(first << _HALF | host)
                self.host.append(host)
                self.members.append(min(members[host], MANY))
                self.novelty.append(round(novelty * NOVELTIES))
                self.turns.append(0)
                self.revealed.append(0.0)

    def state(self) -> dict[str, bytes]:
        """All columns, by their names."""
        return {name: getattr(self, name).tobytes() for name in _COLUMNS} | {
            "members": bytes(self.members),
            "novelty": bytes(self.novelty),
            "lone": bytes(self._lone),
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from saved columns."""
        for name in _COLUMNS:
            getattr(self, name).frombytes(state[name])
        self.members += state["members"]
        self.novelty += state["novelty"]
        self._lone += state["lone"]

    def judged(self) -> Numbers:
        """Those of which a member has had its turn: the factors of others are fixed."""
        return np.flatnonzero(np.frombuffer(self.turns, dtype=np.uint32))

    def count_turn(self, group: int, revealed: float) -> None:
        """A member had its turn, which revealed so much."""
        self.turns[group] += 1
        self.revealed[group] += revealed

    def is_lone(self, page: PageId) -> bool:
        """Whether the page has no siblings."""
        return self._lone[page >> 3] >> (page & 7) & 1 == 1

    def lone_among(self, pages: range) -> list[PageId]:
        """Those of these pages that have no siblings."""
        bits = self._lone
        return [page for page in pages if bits[page >> 3] >> (page & 7) & 1]

    def are_lone(self, pages: Pages) -> NDArray[np.bool_]:
        """The same for many pages."""
        bits = np.frombuffer(self._lone, dtype=np.uint8)[pages >> 3]
        found: NDArray[np.bool_] = (bits >> (pages & 7).astype(np.uint8) & 1).astype(np.bool_)
        return found

    def of(self, pages: Pages, hosts: Pages) -> Numbers:
        """The groups of pages of these hosts."""
        found = np.full(len(pages), NO_GROUP)
        (judged,) = (~self.are_lone(pages)).nonzero()
        if len(judged):
            found[judged] = self._search(pages[judged], hosts[judged])
        return found

    def _search(self, pages: Pages, hosts: Pages) -> Numbers:
        at = np.frombuffer(self.at, dtype=np.uint64)
        found = at.searchsorted(pages.astype(np.uint64) << _HALF | _HOST_BITS, side="right") - 1
        (wrong,) = (np.frombuffer(self.host, dtype=np.uint32)[found] != hosts).nonzero()
        if len(wrong):
            found[wrong] = at.searchsorted(at[found[wrong]] & _FIRST_BITS | hosts[wrong])
        return found

    def of_one(self, page: PageId, host: int) -> int:
        """The group of one page."""
        if self.is_lone(page):
            return NO_GROUP
        last = bisect_right(self.at, page << _HALF | _HOST) - 1
        if self.host[last] == host:
            return last
        return bisect_left(self.at, self.at[last] & ~_HOST | host, 0, last + 1)

    def few_members(self, group: int, host_of: array[int]) -> Sequence[PageId]:
        """Its members, if they are fewer than `MANY`; a range if they follow each other."""
        host, page = self.host[group], (self.at[group] >> _HALF) - 1
        end = page + 1 + self.members[group]
        if host_of[page + 1 : end].count(host) == self.members[group]:  # so are most
            return range(page + 1, end)
        found = []
        for _ in range(self.members[group]):
            page = host_of.index(host, page + 1)
            found.append(page)
        return found

    def firsts(self, groups: range) -> Numbers:
        """Their first possible members."""
        at = np.array(self.at[groups.start : groups.stop], dtype=np.uint64)
        return (at >> np.uint64(_HALF)).astype(np.int64)

    def span(self, group: int, pages: int) -> tuple[int, int]:
        """Where its members are, of so many pages. Others there are of other hosts, or lone."""
        at = self.at[group]
        first, after = at >> _HALF, bisect_right(self.at, at | _HOST, group)
        end = self.at[after] >> _HALF if after < len(self.at) else pages
        return first, min(end, first + MOST_MEMBERS)

    def until(self, group: int, pages: int) -> int:
        """The group at which to stop, so that from this one on they span about so many pages."""
        end = (self.at[group] >> _HALF) + pages << _HALF
        return max(group + 1, bisect_left(self.at, end, group))


def _members(hosts: array[int]) -> Mapping[int, int]:
    """How many pages each host has. Most pages make known those of one host only."""
    count, host = len(hosts), hosts[0]
    if hosts.count(host) == count:
        return {host: count}
    found: dict[int, int] = {}
    for host in hosts:
        found[host] = found.get(host, 0) + 1
    return found


def _mark_lone(
    lone: bytearray, first: PageId, hosts: array[int], members: Mapping[int, int]
) -> None:
    for page in [page for page, host in enumerate(hosts, first) if members[host] == 1]:
        lone[page >> 3] |= 1 << (page & 7)


class OrderChanges:
    """What has changed since it was asked last."""

    __slots__ = ("hosts", "of_all")

    def __init__(self) -> None:
        self.hosts: set[int] = set()
        """Those that are held back less than before."""
        self.of_all = False
        """The means have moved."""

    def __bool__(self) -> bool:
        return self.of_all or bool(self.hosts)

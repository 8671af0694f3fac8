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
from itertools import chain
from math import inf, log1p
from operator import mul

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import PARTS
from minicrawl.opic.siblings.families import NOBODY, FamilyBudgets, Means, PostedGifts, Sites

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


# ================================================================ shown
#
# What siblings have shown: pages first seen on one page mostly share a template and a worth.
#
# Laws: it is an order and no ledger: cash is read, never moved. All of it is a fold over what was
# posted, so the same steps in the same order make the same values to the bit. What depends on sums
# over all pages, or over all pages of a site, is looked up in *rounds* (`rounds`), so that one step
# changes the factors of a few groups only.
#
# group     the pages of one host that one page introduced, at most a thousand. Pages that no link
#           introduced are a group for each host and each step that bore them. A page that is the
#           only one is lone: it has no siblings, and is of no group.
# u         how many pages of its host a page made known when it was read. Pages of other hosts
#           do not count: they may be out of the scope, and a page that lists them says little of
#           its siblings
# F, S      of a group: its members' turns, and the sum of ln(1 + u) over them
# novelty   new links / links of a page; of one that is no ordinary page with links it is unknown
#
# What a page is worth by all that is in `values`.

UNKNOWN_NOVELTY = 0.5
"""Half: neither good nor bad."""

_MOST_POSTED = 1024
"""Plans: more of them are counted at once, so that they take no memory."""


class Siblings:
    """The groups of all pages, and what their members have shown so far."""

    def __init__(self, ledger: Ledger, host_of: array[int], sites: Sites) -> None:
        self.groups = Groups()
        self.known = 0
        """How many pages were introduced."""
        self.means = Means()
        self.budgets = FamilyBudgets(sites)
        self.host_of = host_of
        self.ledger = ledger
        self.changes: OrderChanges | None = None
        """What a queue has to hear of, if there is one."""
        self.seeds: set[int] = set()
        self._foretold: dict[int, list[range]] = {}
        self._posted = PostedGifts()

    # ------------------------------------------------------------ the fold

    def introduce(
        self, pages: range, novelty: float = UNKNOWN_NOVELTY, by: PageId | None = None
    ) -> None:
        """These pages were born, by links of a page or by nobody's."""
        self.known = pages.stop
        hosts = self.host_of[pages.start : pages.stop]
        found = self.groups.add(pages.start, hosts, novelty)
        self.budgets.introduce(found, NOBODY if by is None else self.host_of[by])

    def foretell(self, page: PageId, pages: range) -> None:
        """A page whose turn has not ended yet makes these pages known, among others."""
        self._foretold.setdefault(page, []).append(pages)

    def end_turn(self, plan: Plan, new: range, *, leads_on: bool = True) -> None:
        """A page that had not been read spent its cash, and `new` pages were born by that.

        `leads_on` says that its links are those of the plan. Those of a redirect are not: the page
        stands for the one that the plan leads to.
        """
        host = self.host_of[plan.page]
        told = self._foretold.pop(plan.page, ()) if self._foretold else ()
        revealed, own = len(new), self._of_host(host, new)
        for pages in told:
            revealed += len(pages)
            own += self._of_host(host, pages)
        if new:
            links = len(plan.links) + len(plan.extras)
            is_known = leads_on and links
            novelty = min(revealed / links, 1.0) if is_known else UNKNOWN_NOVELTY
            self.introduce(new, novelty, plan.page)
        self.spend_again(plan)
        shown = log1p(own)
        if (group := self.groups.of_one(plan.page, host)) != NO_GROUP:
            self.groups.count_turn(group, shown)
        if self.means.count(shown) and self.changes is not None:
            self.changes.of_all = True
        if self.budgets.read(host, self.means.turns):
            self._look_at_budgets()

    def _of_host(self, host: int, pages: range) -> int:
        return self.host_of[pages.start : pages.stop].count(host)

    def spend_again(self, plan: Plan) -> None:
        """A page spent its cash, which tells of families alone."""
        if self.budgets.has_families:
            self._posted.post(plan)
            if len(self._posted) >= _MOST_POSTED:
                self.count_gifts()

    def vouch(self, pages: Sequence[PageId]) -> None:
        """The user named these pages, or pages that redirect to them: they have no budget."""
        self.seeds.update(pages)
        self._note_hosts(self.budgets.vouch([self.host_of[page] for page in pages]))

    def group_of(self, page: PageId) -> int:
        """The group of a page; a lone one has none."""
        return self.groups.of_one(page, self.host_of[page])

    # ------------------------------------------------------------ budgets

    def _look_at_budgets(self) -> None:
        self.count_gifts()
        ended = self.budgets.look()
        self._note_hosts(self.budgets.hosts([one for one, is_more in ended.items() if is_more]))

    def count_gifts(self) -> None:
        """Let families have what was posted for them."""
        posted, self._posted = self._posted, PostedGifts()
        if len(posted):
            host_of = np.frombuffer(self.host_of, dtype=np.uint32)
            self.budgets.incomes.earn(*posted.between_hosts(host_of))

    def _note_hosts(self, hosts: Iterable[int]) -> None:
        if self.changes is not None:
            self.changes.hosts.update(hosts)

    # ------------------------------------------------------------ what a checkpoint has

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
        self.count_gifts()
        foretold = [
            (page, pages.start, pages.stop)
            for page, told in self._foretold.items()
            for pages in told
        ]
        return {
            "foretold": array("I", chain.from_iterable(foretold)).tobytes(),
            "seeds": array("I", sorted(self.seeds)).tobytes(),
            **self.groups.state(),
            **self.means.state(),
            **self.budgets.state(),
        }

    def restore(self, state: Mapping[str, bytes], pages: int) -> None:
        """Go on from a saved state with so many pages; nothing was introduced before."""
        self.known = pages
        numbers = array("I", state["foretold"])
        for page, start, stop in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            self.foretell(page, range(start, stop))
        self.seeds.update(array("I", state["seeds"]))
        # A store of before has no lone pages: those without siblings are groups of one.
        nobody = bytes(pages + 7 >> 3)
        self.groups.restore({"lone": nobody, **state})
        self.means.restore(state)
        self.budgets.restore(state)


# ================================================================ values
#
# The order by siblings: by factor * worth.
#
# Laws: nothing is kept here; all is made of what the siblings have shown. One by one and many at
# once it comes to the same to the bit: the hash of a page is that of the last 16 bits of its
# number, its powers are in a table, and a factor is counted in 65,536ths.
#
# worth     of a page: its key * hash^-.03
# factor    of a group: ((3 m + S) / ((3 + F) m))^(.2 r) * exp(.1 (novelty of the introducing page -
#           .5)); F, S and novelty are those of `shown`, m is S a turn, over all pages, and r is the
#           relevance of `rounds`. That of a lone page is 1. A site without a seed has a budget on
#           top
#           of that.

Floats = NDArray[np.float64]

PRIOR = 3
"""A group begins as if so many of its members had been average."""
REVEALED, NOVELTY, CHANCE = 0.2, 0.1, -0.03
"""The exponents; what is revealed counts that much where it is relevant."""

_HASHED = (1 << 16) - 1


def _lifts() -> Floats:
    """hash^-.03 of all numbers of 16 bits, the same in every run."""
    mixed = np.arange(_HASHED + 1, dtype=np.uint32) * np.uint32(0x9E3779B1)
    mixed ^= mixed >> 16
    mixed *= np.uint32(0x85EBCA6B)
    found: Floats = np.power(((mixed >> 16) + 1.0) / (_HASHED + 1), CHANCE)
    return found


_LIFTS = _lifts()
_LIFT: list[float] = [*_LIFTS.tolist(), *_LIFTS[:MOST_MEMBERS].tolist()]
"""With as many more as a group may have members, so that those of a group are a slice."""
MOST_LIFT = max(_LIFT)
_NOVELTY_FACTORS = np.exp(NOVELTY * (np.arange(NOVELTIES + 1) / NOVELTIES - 0.5))
_NOVELTY_FACTOR: list[float] = _NOVELTY_FACTORS.tolist()


# ---------------------------------------------------------------- worth


def worth(siblings: Siblings, page: PageId) -> float:
    """What one page is worth."""
    return siblings.ledger.key[page] * _LIFT[page & _HASHED]


def best(siblings: Siblings, pages: Sequence[PageId]) -> tuple[float, PageId]:
    """The worth of the best of a few pages, and the page; of equals it is the first."""
    keys, most, found = siblings.ledger.key, -inf, pages[0]
    for page in pages:
        own = keys[page] * _LIFT[page & _HASHED]
        if own > most:
            most, found = own, page
    return most, found


def best_in_a_row(siblings: Siblings, pages: range) -> tuple[float, PageId]:
    """The same of pages that follow each other, at most as many as a group has members."""
    first = pages.start & _HASHED
    found = list(
        map(mul, siblings.ledger.key[pages.start : pages.stop], _LIFT[first : first + len(pages)])
    )
    most = max(found)
    return most, pages.start + found.index(most)


def worths(siblings: Siblings, pages: Pages) -> Floats:
    """What many pages are worth."""
    keys = np.frombuffer(siblings.ledger.key, dtype=np.int64)[pages]
    found: Floats = keys * _LIFTS[pages & _HASHED]
    return found


# ---------------------------------------------------------------- factor


def factor(siblings: Siblings, group: int) -> float:
    """What the siblings of its members have shown, in 65,536ths."""
    of, means = siblings.groups, siblings.means
    weight = of.turns[group] + PRIOR
    found = _NOVELTY_FACTOR[of.novelty[group]]
    if means.mean_revealed:
        found *= ((PRIOR + of.revealed[group] / means.mean_revealed) / weight) ** (
            REVEALED * means.relevance
        )
    return _in_parts(siblings.budgets.hold_back(of.host[group], found))


def factors(siblings: Siblings, groups: Numbers) -> Floats:
    """The same for many groups."""
    of, means = siblings.groups, siblings.means
    weight = np.frombuffer(of.turns, dtype=np.uint32)[groups] + float(PRIOR)
    found = _NOVELTY_FACTORS[np.frombuffer(of.novelty, dtype=np.uint8)[groups]]
    if means.mean_revealed:
        revealed = np.frombuffer(of.revealed, dtype=np.float32)[groups].astype(np.float64)
        found *= ((PRIOR + revealed / means.mean_revealed) / weight) ** (REVEALED * means.relevance)
    hosts = np.frombuffer(of.host, dtype=np.uint32)[groups]
    found = siblings.budgets.hold_back_many(hosts, found)
    parts: Floats = np.rint(found * PARTS)
    return parts


def lone_factor(siblings: Siblings, host: int) -> float:
    """The factor of lone pages of a host."""
    return _in_parts(siblings.budgets.hold_back(host, 1.0))


def lone_factors(siblings: Siblings, hosts: Pages) -> Floats:
    """The same for many hosts."""
    parts: Floats = np.rint(siblings.budgets.hold_back_many(hosts, np.ones(len(hosts))) * PARTS)
    return parts


def _in_parts(factor: float) -> float:
    return float(round(factor * PARTS))


# ---------------------------------------------------------------- both

_SCALE = 2.0**-12
"""A key is counted in 16ths of atoms: factors are in 65,536ths."""
_MOST = 2.0**62


def key_of(factor: float, worth: float) -> int:
    """The key of a page, or of a group by its best member."""
    return int(min(factor * worth * _SCALE, _MOST))


def keys_of(factors: Floats | float, worths: Floats) -> Numbers:
    """The same for many."""
    found: Numbers = np.minimum(factors * worths * _SCALE, _MOST).astype(np.int64)
    return found


def key(siblings: Siblings, page: PageId) -> int:
    """By what the page is ordered: the cash that it is as good as, in 16ths of atoms."""
    group = siblings.group_of(page)
    if group == NO_GROUP:
        return lone_key(siblings, page)
    return key_of(factor(siblings, group), worth(siblings, page))


def lone_key(siblings: Siblings, page: PageId) -> int:
    """The same of a page that is known to be lone."""
    if not siblings.budgets.rounds:  # then all lone pages have the factor 1
        own = siblings.ledger.key[page] * _LIFT[page & _HASHED]
        return int(min(own * (PARTS * _SCALE), _MOST))
    return key_of(lone_factor(siblings, siblings.host_of[page]), worth(siblings, page))


def lone_keys(siblings: Siblings, pages: Pages) -> Numbers:
    """The same for many lone pages."""
    found = worths(siblings, pages)
    if not siblings.budgets.rounds:
        return keys_of(PARTS, found)
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    return keys_of(lone_factors(siblings, hosts), found)


def urgency(siblings: Siblings, pages: Pages) -> Floats:
    """The cash that these pages are as good as, in atoms: the one with the most comes first."""
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    groups, found = siblings.groups.of(pages, hosts), lone_factors(siblings, hosts)
    (judged,) = (groups != NO_GROUP).nonzero()
    found[judged] = factors(siblings, groups[judged])
    return found * worths(siblings, pages) / PARTS

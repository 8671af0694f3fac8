"""The sibling order: a page is ranked by what pages discovered together with it have revealed.

Cash says how much is known to point at a page, and so does the estimate that stands in for it while
few pages are read (see `early_rank`). Neither says what the page will reveal. Siblings do: pages
first seen on the same page mostly share a template and a place in the site. So the waiting pages of
a group rise together when members that were read revealed many new pages.

Example: a page of host h introduced the group X, another one the group Y, both with half of their
links new. One page of X was read and introduced 3 pages of h, one page of Y was read and introduced
none. So S is ln 4 = 1.39 for X and 0 for Y, and the mean of a turn is m = 0.69. A group starts with
3 average turns, which gives the factors

    X    ((3 m + 1.39) / (4 m))^.2 = 1.25^.2 = 1.05
    Y    ((3 m + 0) / (4 m))^.2    =  .75^.2 = 0.94

A page of X that holds 1 unit comes before a page of Y that holds 1.1, and after one that holds 1.2.
If h belonged to a family of sites that has read twice its budget, both factors would be at most 1,
times (1/2)^4 (see `families`).

This is an order, not a ledger: cash is read, never moved. The statistics are a fold over the posted
plans, so the same steps in the same order give bit-identical values. Sums over all pages, or over
all pages of a site, take effect in *rounds* (see `families`), so that a step changes the factors of
a few groups only.

group     pages of one host that one page introduced, at most a thousand. Pages that no link
          introduced form a group for each host and step
lone      page that was introduced as the only one of its host. It belongs to no group and takes a
          bit instead of a record: most pages of a broad crawl are lone
u         number of pages of its own host that a page introduced when it was read. Pages of other
          hosts do not count: they may be out of scope, and a page that lists them says little
          about its siblings
F, S      turns of a group's members, and the sum of ln(1 + u) over them
novelty   new links / links of the introducing page; unknown for a page without ordinary links
worth     key * hash^-.03 of a page: siblings with equal cash are not all read in a row. A queue
          by value multiplies it by the factor of the page's level (see `expected_value`)
factor    ((3 m + S) / ((3 + F) m))^(.2 r) * exp(.1 (novelty of the introducing page - .5)) of a
          group; m is the mean of S for a turn over all pages, and r the relevance. It is 1 for a
          lone page. A family budget limits both
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf, log1p
from operator import mul

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId, State
from minicrawl.opic.early_rank import EarlyRank
from minicrawl.opic.families import NOBODY, FamilyBudgets, Means, PostedGifts, Sites
from minicrawl.opic.ledger import Ledger, Plan, Step, StepKind
from minicrawl.opic.money import PARTS

MOST_MEMBERS = 1000
"""Most pages that are scanned for the best member of a group."""
MANY = 255
NOVELTIES = 254  # even, so that a half is one of the values
NO_GROUP = -1
"""Stands for the group of a lone page."""

_COLUMNS = ("at", "host", "turns", "revealed")
_HALF, _HOST = 32, (1 << 32) - 1
_HOST_BITS, _FIRST_BITS = np.uint64(_HOST), np.uint64(_HOST << _HALF)

Pages = NDArray[np.uint32]
Numbers = NDArray[np.int64]


class Groups:
    """The groups in flat arrays, sorted by their first possible member and then by host.

    So two binary searches find the group of a page, and two vectorised ones those of many pages.
    """

    __slots__ = ("_lone", "at", "host", "members", "novelty", "revealed", "turns")

    def __init__(self) -> None:
        self.at, self.host = array("Q"), array("I")
        """`at` packs the first possible member (high half) and the host (low half)."""
        self.members, self.novelty = bytearray(), bytearray()
        """`members` counts the members, with 255 for more."""
        self.turns, self.revealed = array("I"), array("f")
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
        found: list[int] = []
        for start in range(0, len(hosts), MOST_MEMBERS):
            own = hosts[start : start + MOST_MEMBERS]
            members = _members(own)
            if 1 in members.values():
                for page, host in enumerate(own, first + start):
                    if members[host] == 1:
                        self._lone[page >> 3] |= 1 << (page & 7)
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

    def part(self, first: PageId, end: PageId) -> None:
        """Make the newest pages, from `first` to the last one, lone, and drop their groups."""
        while self.at and self.at[-1] >> _HALF >= first:
            columns = *(getattr(self, name) for name in _COLUMNS), self.members, self.novelty
            for column in columns:
                column.pop()
        for page in range(first, end):
            self._lone[page >> 3] |= 1 << (page & 7)

    def state(self) -> dict[str, bytes]:
        """Return the columns by name."""
        return {name: getattr(self, name).tobytes() for name in _COLUMNS} | {
            "members": bytes(self.members),
            "novelty": bytes(self.novelty),
            "lone": bytes(self._lone),
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Continue from saved columns."""
        for name in _COLUMNS:
            getattr(self, name).frombytes(state[name])
        self.members += state["members"]
        self.novelty += state["novelty"]
        self._lone += state["lone"]

    def judged(self) -> Numbers:
        """Return the groups of which a member had its turn; other groups keep their factors."""
        return np.flatnonzero(np.frombuffer(self.turns, dtype=np.uint32))

    def is_lone(self, page: PageId) -> bool:
        """Return True if the page has no siblings."""
        return self._lone[page >> 3] >> (page & 7) & 1 == 1

    def lone_among(self, pages: range) -> list[PageId]:
        """Return the pages without siblings among these."""
        bits = self._lone
        return [page for page in pages if bits[page >> 3] >> (page & 7) & 1]

    def are_lone(self, pages: Pages) -> NDArray[np.bool_]:
        """Vectorised `is_lone`."""
        bits = np.frombuffer(self._lone, dtype=np.uint8)[pages >> 3]
        found: NDArray[np.bool_] = (bits >> (pages & 7).astype(np.uint8) & 1).astype(np.bool_)
        return found

    def of(self, pages: Pages, hosts: Pages) -> Numbers:
        """Return the groups of these pages, which are on these hosts."""
        found = np.full(len(pages), NO_GROUP)
        (grouped,) = (~self.are_lone(pages)).nonzero()
        if len(grouped):
            found[grouped] = self._search(pages[grouped], hosts[grouped])
        return found

    def _search(self, pages: Pages, hosts: Pages) -> Numbers:
        at = np.frombuffer(self.at, dtype=np.uint64)
        found = at.searchsorted(pages.astype(np.uint64) << _HALF | _HOST_BITS, side="right") - 1
        # A page may introduce one group for each of several hosts. The first search finds the last
        # of them; the second one finds that of the page's host.
        (wrong,) = (np.frombuffer(self.host, dtype=np.uint32)[found] != hosts).nonzero()
        if len(wrong):
            found[wrong] = at.searchsorted(at[found[wrong]] & _FIRST_BITS | hosts[wrong])
        return found

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
        found = []
        for _ in range(self.members[group]):
            page = host_of.index(host, page + 1)
            found.append(page)
        return found

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


def _members(hosts: array[int]) -> Mapping[int, int]:
    """Count the pages of each host. Most pages introduce pages of a single host."""
    count, host = len(hosts), hosts[0]
    if hosts.count(host) == count:
        return {host: count}
    found: dict[int, int] = {}
    for host in hosts:
        found[host] = found.get(host, 0) + 1
    return found


class OrderChanges:
    """Changes of factors that the queue has not yet applied to its keys."""

    __slots__ = ("hosts", "of_all", "of_worths")

    def __init__(self) -> None:
        self.hosts: set[int] = set()
        """Hosts whose multiplier has grown."""
        self.of_all = False
        """True if the means have moved."""
        self.of_worths = False
        """True if the worths of all pages have changed."""

    def __bool__(self) -> bool:
        return self.of_all or self.of_worths or bool(self.hosts)


# ================================================================ what siblings revealed

UNKNOWN_NOVELTY = 0.5
"""A half: neither raises nor lowers a factor."""

_NOT_ASKED = frozenset(
    (
        State.TWIN,
        State.ROBOTS,
        State.SCOPE,
        State.DEPTH,
        State.HOST_BUDGET,
        State.FOCUS,
        State.ADDRESS,
        State.TRAP,
        State.ALLOWANCE,
    )
)
"""States of pages that were closed without a request."""

_MOST_POSTED = 1024
"""Number of plans that are buffered before their gifts are counted, to bound memory."""


class Siblings:
    """The groups of all pages, and what their members have revealed."""

    def __init__(self, ledger: Ledger, host_of: array[int], sites: Sites) -> None:
        self.groups = Groups()
        self.known = 0
        """Number of pages that were introduced."""
        self.means = Means()
        self.budgets = FamilyBudgets(sites)
        self.host_of = host_of
        self.ledger = ledger
        self.keys = ledger.key
        """Cash of each page, or early in a crawl its estimate."""
        self.early: EarlyRank | None = EarlyRank()
        self.changes: OrderChanges | None = None
        """Changes for the attached queue, or None without a queue."""
        self.seeds: set[int] = set()
        self.levels: bytearray | None = None
        """Level of each page by its expected value, if the attached queue uses values."""
        self._foretold: dict[int, list[range]] = {}
        self._posted = PostedGifts()

    # ------------------------------------------------------------ the fold

    def apply(self, step: Step, state: int, plans: Sequence[Plan], *, waited: bool) -> None:
        """Apply one more step with its plans. `waited`: its page was waiting.

        A turn counts for its group if the page was waiting and its host was asked. A page that is
        closed without a request says nothing about its siblings; neither does a page that is read
        again, whose links count only as cash.
        """
        known = len(self.ledger.key)
        new = range(known - step.born, known)
        match step.kind:
            case StepKind.VISIT | StepKind.FORWARD | StepKind.DEAD_END:
                # The user meant the page that the seed leads to.
                if state == State.MOVED and step.page in self.seeds:
                    self.vouch(step.spending.links)
                if waited and state not in _NOT_ASKED:
                    self.end_turn(plans[0], new, leads_on=step.kind is not StepKind.FORWARD)
                    return
                if new:
                    self.introduce(new, UNKNOWN_NOVELTY, step.page)
                self.spend_again(plans[0])
            case StepKind.REPLAY:
                for plan in plans:
                    self.spend_again(plan)
            case StepKind.ENDOWED:
                self.vouch(step.spending.links)
                if self.early is not None:
                    self.early.hurry(self.means.turns)
            case StepKind.BORN if step.amount:
                self.introduce(new, min(step.born / step.amount, 1.0), step.page)
                self.foretell(step.page, new)
            case StepKind.BORN if new:
                self.introduce(new)
            case StepKind.FOREIGN | StepKind.RECEIVE:
                self._trade(step, known, new)

    def _trade(self, step: Step, known: int, new: range) -> None:
        """Register new pages of other shards, or new pages that another shard made known.

        Both are lone, because their siblings are not known here.
        """
        self.end_early_rank()  # links between shards are unknown here
        if step.kind is StepKind.FOREIGN:
            self.groups.part(step.spending.links[0], known)
        for page in new:
            self.introduce(range(page, page + 1))

    def introduce(
        self, pages: range, novelty: float = UNKNOWN_NOVELTY, by: PageId | None = None
    ) -> None:
        """Register newborn pages, introduced by the links of page `by` or by none."""
        self.known = pages.stop
        if self.early is not None:
            self.early.grow(self.known)
        hosts = self.host_of[pages.start : pages.stop]
        found = self.groups.add(pages.start, hosts, novelty)
        self.budgets.introduce(found, NOBODY if by is None else self.host_of[by])

    def foretell(self, page: PageId, pages: range) -> None:
        """Register pages that `page` introduces before its turn ends."""
        self._foretold.setdefault(page, []).append(pages)

    def end_turn(self, plan: Plan, new: range, *, leads_on: bool = True) -> None:
        """Count the first turn of a page that spent its cash by `plan` and introduced `new`.

        `leads_on` is True if the plan has the page's own links, and False for a redirect, whose
        plan leads to the target.
        """
        host = self.host_of[plan.page]
        told = self._foretold.pop(plan.page, ()) if self._foretold else ()
        revealed = own = 0
        # Pages that became known before the end of the turn are in groups already, but the turn
        # revealed them all the same.
        for pages in (new, *told):
            revealed += len(pages)
            own += self.host_of[pages.start : pages.stop].count(host)
        if new:
            links = len(plan.links) + len(plan.extras)
            is_known = leads_on and links
            novelty = min(revealed / links, 1.0) if is_known else UNKNOWN_NOVELTY
            self.introduce(new, novelty, plan.page)
        if self.budgets.has_families:
            self.spend_again(plan)
        if self.early is not None:
            self._rank_early(self.early, plan)
        shown = log1p(own)
        if (group := self.groups.of_one(plan.page, host)) != NO_GROUP:
            self.groups.turns[group] += 1
            self.groups.revealed[group] += shown
        if self.means.count(shown) and self.changes is not None:
            self.changes.of_all = True
        if self.budgets.read(host, self.means.turns):
            self.count_gifts()
            ended = self.budgets.look()
            grown = [family for family, has_grown in ended.items() if has_grown]
            self._note_hosts(self.budgets.hosts(grown))

    def _rank_early(self, early: EarlyRank, plan: Plan) -> None:
        early.read(plan.page, [*plan.links, *(page for page, _ in plan.extras)])
        turns = self.means.turns + 1
        if early.is_over(turns):
            self.end_early_rank()
        elif early.is_due(turns):
            early.compute(turns, self.ledger)
            self._rank_by(early.estimates)

    @property
    def has_estimates(self) -> bool:
        """True if estimates stand in for the cash of pages."""
        return self.keys is not self.ledger.key

    def end_early_rank(self) -> None:
        """Rank pages by their cash from now on."""
        if self.early is not None:
            self.early = None
            self._rank_by(self.ledger.key)

    def _rank_by(self, keys: array[int]) -> None:
        self.keys = keys
        if self.changes is not None:
            self.changes.of_worths = True

    def spend_again(self, plan: Plan) -> None:
        """Register the gifts of a page that spent its cash. Only families need them."""
        if self.budgets.has_families:
            self._posted.post(plan)
            if len(self._posted) >= _MOST_POSTED:
                self.count_gifts()

    def vouch(self, pages: Sequence[PageId]) -> None:
        """Exempt pages that the user named, and pages that redirect to them, from budgets."""
        self.seeds.update(pages)
        self._note_hosts(self.budgets.vouch([self.host_of[page] for page in pages]))

    def group_of(self, page: PageId) -> int:
        """Return the group of a page, `NO_GROUP` if it is lone."""
        return self.groups.of_one(page, self.host_of[page])

    # ------------------------------------------------------------ budgets

    def count_gifts(self) -> None:
        """Credit the posted gifts to families."""
        posted, self._posted = self._posted, PostedGifts()
        if len(posted):
            host_of = np.frombuffer(self.host_of, dtype=np.uint32)
            self.budgets.incomes.earn(*posted.between_hosts(host_of))

    def _note_hosts(self, hosts: Iterable[int]) -> None:
        if self.changes is not None:
            self.changes.hosts.update(hosts)

    # ------------------------------------------------------------ checkpoint

    def state(self) -> dict[str, bytes]:
        """Return the state by name."""
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
            **({} if self.early is None else self.early.state()),
        }

    def restore(self, state: Mapping[str, bytes], pages: int) -> None:
        """Continue from a saved state with `pages` pages; nothing was introduced before."""
        self.known = pages
        numbers = array("I", state["foretold"])
        for page, start, stop in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            self.foretell(page, range(start, stop))
        self.seeds.update(array("I", state["seeds"]))
        # Older stores have no lone pages: pages without siblings are groups of one there.
        nobody = bytes(pages + 7 >> 3)
        self.groups.restore({"lone": nobody, **state})
        self.means.restore(state)
        self.budgets.restore(state)
        if self.early is None or "early.due" not in state:
            self.end_early_rank()
        else:
            self.early.restore(state)
            self.keys = self.early.estimates or self.ledger.key


# ================================================================ values
#
# No state is kept here: values are computed from what siblings revealed. The scalar and vectorised
# versions agree to the bit, because the hash of a page uses the last 16 bits of its id, the powers
# of hashes are in a table, and factors are rounded to 65,536ths.

Floats = NDArray[np.float64]

PRIOR = 3
"""Number of average turns that a group starts with."""
REVEALED, NOVELTY, CHANCE = 0.2, 0.1, -0.03
"""Exponents; that of what was revealed is multiplied by the relevance."""

_HASHED = (1 << 16) - 1


def _lifts() -> Floats:
    """Return hash^-.03 for all 16-bit numbers, the same in every run."""
    mixed = np.arange(_HASHED + 1, dtype=np.uint32) * np.uint32(0x9E3779B1)
    mixed ^= mixed >> 16
    mixed *= np.uint32(0x85EBCA6B)
    found: Floats = np.power(((mixed >> 16) + 1.0) / (_HASHED + 1), CHANCE)
    return found


_LIFTS = _lifts()
_LIFT: list[float] = [*_LIFTS.tolist(), *_LIFTS[:MOST_MEMBERS].tolist()]
"""Table with its beginning repeated, so that consecutive pages are one slice."""
MOST_LIFT = max(_LIFT)
LEVELS_A_FACTOR, MOST_LEVEL = 16, 255
"""Number of levels that divide a worth by e; the largest level."""
LEVEL_FACTORS: Floats = np.exp(-np.arange(MOST_LEVEL + 1) / LEVELS_A_FACTOR)
_FACTOR: list[float] = LEVEL_FACTORS.tolist()
_NOVELTY_FACTORS = np.exp(NOVELTY * (np.arange(NOVELTIES + 1) / NOVELTIES - 0.5))
_NOVELTY_FACTOR: list[float] = _NOVELTY_FACTORS.tolist()


# ---------------------------------------------------------------- worth


def worth_of(siblings: Siblings, page: PageId) -> float:
    own = siblings.keys[page] * _LIFT[page & _HASHED]
    return own if siblings.levels is None else own * _FACTOR[siblings.levels[page]]


def best_of(siblings: Siblings, pages: Sequence[PageId]) -> tuple[float, PageId]:
    """Return the best of a few pages with its worth; ties go to the first."""
    if siblings.levels is not None:
        most, before = max((worth_of(siblings, page), -page) for page in pages)
        return most, -before
    keys, most, found = siblings.keys, -inf, pages[0]
    for page in pages:
        own = keys[page] * _LIFT[page & _HASHED]
        if own > most:
            most, found = own, page
    return most, found


def best_in_a_row(siblings: Siblings, pages: range) -> tuple[float, PageId]:
    """Return the best of consecutive pages with its worth; at most `MOST_MEMBERS` pages."""
    if siblings.levels is not None:
        return best_of(siblings, pages)
    first = pages.start & _HASHED
    found = list(
        map(mul, siblings.keys[pages.start : pages.stop], _LIFT[first : first + len(pages)])
    )
    most = max(found)
    return most, pages.start + found.index(most)


def worths_of(siblings: Siblings, pages: Pages) -> Floats:
    """Vectorised `worth_of`."""
    keys = np.frombuffer(siblings.keys, dtype=np.int64)[pages]
    found: Floats = keys * _LIFTS[pages & _HASHED]
    if siblings.levels is not None:
        found *= LEVEL_FACTORS[np.frombuffer(siblings.levels, dtype=np.uint8)[pages]]
    return found


# ---------------------------------------------------------------- factor


def factor_of(siblings: Siblings, group: int) -> float:
    """Return the factor of a group, in 65,536ths."""
    of, means = siblings.groups, siblings.means
    weight = of.turns[group] + PRIOR
    found = _NOVELTY_FACTOR[of.novelty[group]]
    if means.mean_revealed:
        found *= ((PRIOR + of.revealed[group] / means.mean_revealed) / weight) ** (
            REVEALED * means.relevance
        )
    return _in_parts(siblings.budgets.hold_back(of.host[group], found))


def factors_of(siblings: Siblings, groups: Numbers) -> Floats:
    """Vectorised `factor_of`."""
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
    """Return the factor of the lone pages of a host."""
    return _in_parts(siblings.budgets.hold_back(host, 1.0))


def lone_factors(siblings: Siblings, hosts: Pages) -> Floats:
    """Vectorised `lone_factor`."""
    parts: Floats = np.rint(siblings.budgets.hold_back_many(hosts, np.ones(len(hosts))) * PARTS)
    return parts


def _in_parts(factor: float) -> float:
    return float(round(factor * PARTS))


# ---------------------------------------------------------------- both

_SCALE = 2.0**-12
"""Keys are in 16ths of atoms, factors in 65,536ths."""
_MOST = 2.0**62


def key_of(factor: float, worth: float) -> int:
    """Return the key of a page, or of a group from its best member."""
    return int(min(factor * worth * _SCALE, _MOST))


def keys_of(factors: Floats | float, worths: Floats) -> Numbers:
    """Vectorised `key_of`."""
    found: Numbers = np.minimum(factors * worths * _SCALE, _MOST).astype(np.int64)
    return found


def page_key(siblings: Siblings, page: PageId) -> int:
    """Return the sort key of a page: its worth times the sibling factor, in 1/16 atom."""
    group = siblings.group_of(page)
    if group == NO_GROUP:
        return lone_key(siblings, page)
    return key_of(factor_of(siblings, group), worth_of(siblings, page))


def lone_key(siblings: Siblings, page: PageId) -> int:
    """Return the sort key of a page that is known to be lone."""
    if siblings.levels is None and not siblings.budgets.rounds:  # all lone pages have factor 1
        return int(min(siblings.keys[page] * _LIFT[page & _HASHED] * (PARTS * _SCALE), _MOST))
    return key_of(lone_factor(siblings, siblings.host_of[page]), worth_of(siblings, page))


def lone_keys(siblings: Siblings, pages: Pages) -> Numbers:
    """Vectorised `lone_key`."""
    found = worths_of(siblings, pages)
    if not siblings.budgets.rounds:
        return keys_of(PARTS, found)
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    return keys_of(lone_factors(siblings, hosts), found)


def urgency(siblings: Siblings, pages: Pages) -> Floats:
    """Return factor * worth of these pages, in atoms: the page with the most comes first."""
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    groups, found = siblings.groups.of(pages, hosts), lone_factors(siblings, hosts)
    (grouped,) = (groups != NO_GROUP).nonzero()
    found[grouped] = factors_of(siblings, groups[grouped])
    return found * worths_of(siblings, pages) / PARTS

"""Budgets: how much a family of sites may have read that the user did not name.

Laws: a farm that links to itself earns nothing, on however many domains it is. What the order uses
is the budget as of the last *round*, which ends when reads or budget have grown by a thirty-second.
Rounds end together: gifts are added up when they end, once for all of them. A round is told by the
steps alone, so the same steps make the same rounds.

site      the hosts of one registrable domain
family    the sites that a site has led to, and it itself. A site that pages of a site with a seed
          have led to begins one. Sites with a seed are of no family and have no budget, and neither
          have those that were known before there was any seed, as in a store of web archives.
reads     turns of a family's pages
income    units that came to a family along links from others, and from sites with a seed. What a
          family gives counts up to half of its own income: so families that feed each other have
          twice what others gave them, at most.
budget    10 turns, and one more for each thousand of all turns, up to 200; and 60 for each unit of
          income. Past that all groups of the family have at most factor 1, times
          (budget / reads)^4.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT

# ================================================================ posted
#
# Gifts that were posted and are not counted yet, in the order in which they were posted.
#
# Law: when they are counted changes nothing of what they come to. So those of many plans are
# counted at a time, by a few operations on arrays.

Hosts = NDArray[np.uint32]


class Gifts(NamedTuple):
    """What pages gave to pages of other hosts, in units: hosts that took it, and that gave it."""

    takers: Hosts
    givers: Hosts
    units: NDArray[np.float64]


class PostedGifts:
    """The links of plans that are not counted yet."""

    __slots__ = ("_extras", "_givers", "_links", "_shares", "_sizes")

    def __init__(self) -> None:
        self._givers, self._sizes, self._shares = array("I"), array("I"), array("d")
        """Of each plan; a sum of atoms is rounded to 53 bits, as all that comes of it is."""
        self._links = array("I")
        self._extras: list[tuple[int, Sequence[tuple[int, int]]]] = []
        """Links that get sums of their own, and the place of the first of them."""

    def __len__(self) -> int:
        """How many plans it has."""
        return len(self._givers)

    def post(self, plan: Plan) -> None:
        """A page spent."""
        self._givers.append(plan.page)
        self._sizes.append(len(plan.links) + len(plan.extras))
        self._shares.append(plan.share)
        self._links.extend(plan.links)
        if plan.extras:
            self._extras.append((len(self._links), plan.extras))
            self._links.extend([link for link, _ in plan.extras])

    def between_hosts(self, host_of: Hosts) -> Gifts:
        """All gifts to pages of other hosts."""
        sizes = np.frombuffer(self._sizes, dtype=np.uint32)
        givers = host_of[np.frombuffer(self._givers, dtype=np.uint32)].repeat(sizes)
        takers = host_of[np.frombuffer(self._links, dtype=np.uint32)]
        atoms = np.frombuffer(self._shares).repeat(sizes)
        for place, extras in self._extras:
            atoms[place : place + len(extras)] = [atoms for _, atoms in extras]
        (away,) = (takers != givers).nonzero()
        return Gifts(takers[away], givers[away], atoms[away] / UNIT)


# ================================================================ rounds
#
# What a turn brings, as the order by siblings looks it up: means over all turns.
#
# Law: a sum that moves with every step would change all keys with every step. So what the order
# uses is the sum as of the last *round*. A round ends when a mean has moved by a thirty-second, or
# the relevance by a sixteenth; then all groups are keyed anew. Means settle, so rounds become rare.
# A round is told by sums alone, so the same steps make the same rounds.
#
# late       what a turn revealed of late: a mean in which a turn counts until ten times as many
#         have
#            followed
# relevance  of what siblings have revealed: .25 + .75 late / the mean over all turns, at most 1.
#         When
#            next to nothing is left to reveal, pages without links are worth nearly as much as
#            others. It stays .25, as there may be more that is hidden

AT_ONCE, MOST_AT_ONCE, PART_AT_ONCE = 32, 64, 8192
FEWEST_TURNS = 1000
"""Before that many, what was revealed of late says little. A wiki tells of most of its pages at
once: there what siblings have shown is of use though nothing is left to reveal.
"""
_LATE = 10
_LEAST_RELEVANCE = 0.25
_SMALL, _SMALL_RELEVANCE = 1 / 32, 1 / 16
_SUMS = ("mean_revealed", "revealed", "turns")


def at_once(turns: int) -> int:
    """So many turns are looked at together, of so many so far: a few, and more in a large crawl."""
    return max(AT_ONCE, min(turns // PART_AT_ONCE, MOST_AT_ONCE))


class Means:
    """What a turn brings: the means over all turns, as of the last round."""

    __slots__ = (*_SUMS, "late", "relevance")

    def __init__(self) -> None:
        self.turns = 0
        self.revealed = self.mean_revealed = self.late = 0.0
        self.relevance = 1.0

    def count(self, revealed: float) -> bool:
        """One more turn; whether a round ends."""
        self.turns += 1
        self.revealed += revealed
        self.late += (revealed - self.late) * _LATE / (self.turns + _LATE - 1)
        mean = self.revealed / self.turns
        relevance = self._relevance(mean)
        if (
            abs(mean - self.mean_revealed) <= self.mean_revealed * _SMALL
            and abs(relevance - self.relevance) <= _SMALL_RELEVANCE
        ):
            return False
        self.mean_revealed, self.relevance = mean, relevance
        return True

    def _relevance(self, mean: float) -> float:
        if self.turns <= FEWEST_TURNS or self.late >= mean:
            return 1.0
        return _LEAST_RELEVANCE + (1 - _LEAST_RELEVANCE) * self.late / mean

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
        sums = array("d", [getattr(self, name) for name in _SUMS])
        late = array("d", [self.late, self.relevance])
        return {"means": sums.tobytes(), "late": late.tobytes()}

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from what was saved. Stores of before have sums of links as well, which come first,
        and may have nothing of late.
        """
        for name, value in zip(_SUMS, array("d", state["means"])[-len(_SUMS) :], strict=True):
            setattr(self, name, type(getattr(self, name))(value))
        self.late = self.mean_revealed
        if "late" in state:
            self.late, self.relevance = array("d", state["late"])


# ================================================================ families

Floats = NDArray[np.float64]

FREE_READS, FREE_AT_FIRST, TURNS_A_READ = 200, 10, 1000
READS_A_UNIT = 60
PASSED_ON = 0.5
HOLD_BACK = 4.0
LOOK_EVERY, PATIENCE = 64, 16
"""Turns after which incomes are looked at, so many times as many where no family has had its free
turns yet.
"""
_GROWTH = 1 + 1 / 32
MANY_GIFTS = 1 << 16
"""So many gifts that wait are joined: no round ends once nothing is left unread."""
NOBODY = (1 << 32) - 1
"""In place of the host that made another one known."""
_SEEDED, _UNKNOWN = (1 << 32) - 1, (1 << 32) - 2
"""In place of a family: the site has a seed; no page of the host is known."""


class Sites(Protocol):
    """Which hosts are of one site. A site has any number, which may be another in the next run."""

    def site(self, host: int) -> int:
        """The site of a host."""


class Round(NamedTuple):
    """A family as it was when its budget was looked at last."""

    reads: int
    budget: float


class FamilyIncomes:
    """What families were given by others, in units. Gifts wait until they are added up."""

    __slots__ = ("_gifts", "_given", "_joined", "of")

    def __init__(self) -> None:
        self.of, self._given = array("d"), array("d")
        self._gifts = _no_gifts()
        """Hosts that were given something, by which hosts, and units."""
        self._joined = 0  # how many were left when gifts were joined last

    def grow(self, families: int) -> None:
        """There are so many more."""
        self.of.extend(repeat(0.0, families))
        self._given.extend(repeat(0.0, families))

    def earn(self, takers: Hosts, givers: Hosts, units: Floats) -> None:
        """Pages of these hosts were given units by pages of others."""
        self._gifts[0].frombytes(takers.tobytes())
        self._gifts[1].frombytes(givers.tobytes())
        self._gifts[2].frombytes(units.tobytes())
        if len(self._gifts[0]) > MANY_GIFTS + 2 * self._joined:
            self._join_gifts()

    def _join_gifts(self) -> None:
        """Keep one gift for each pair of hosts."""
        takers, givers, units = (np.array(column) for column in self._gifts)
        pairs, places = np.unique(takers.astype(np.uint64) << 32 | givers, return_inverse=True)
        self._gifts, self._joined = _no_gifts(), len(pairs)
        self._gifts[0].frombytes((pairs >> 32).astype(np.uint32).tobytes())
        self._gifts[1].frombytes(pairs.astype(np.uint32).tobytes())
        self._gifts[2].frombytes(np.bincount(places, weights=units).tobytes())

    def add_up(self, family_of: Hosts) -> set[int]:
        """Add up the gifts that wait; `family_of` has the family of each host. Answers with the
        families that were given something.
        """
        self._join_gifts()  # so the sums are the same to the bit, whenever gifts were joined before
        takers, givers, units = (np.array(column) for column in self._gifts)
        self._gifts, self._joined = _no_gifts(), 0
        takers, givers = family_of[takers], family_of[givers]
        counts = (takers != givers) & (takers != _SEEDED)
        takers, givers, units = takers[counts], givers[counts], units[counts]
        income = np.frombuffer(self.of, dtype=np.float64)
        has_limit = givers != _SEEDED
        units[has_limit] *= self._shares_that_count(givers[has_limit], units[has_limit], income)
        np.add.at(income, takers, units)
        return set(takers.tolist())

    def _shares_that_count(self, givers: Hosts, units: Floats, income: Floats) -> Floats:
        """Of what each of these families gave."""
        families, places = np.unique(givers, return_inverse=True)
        sums = np.bincount(places, weights=units, minlength=len(families))
        given = np.frombuffer(self._given, dtype=np.float64)
        left = np.maximum(PASSED_ON * income[families] - given[families], 0.0)
        counted = np.minimum(sums, left)
        given[families] += counted
        shares: Floats = (counted / np.maximum(sums, 1e-300))[places]
        return shares

    def columns(self) -> dict[str, array[int] | array[float]]:
        """All of it, by names."""
        takers, givers, units = self._gifts
        return {
            "income": self.of,
            "given": self._given,
            "takers": takers,
            "givers": givers,
            "units": units,
        }


class VouchedSites:
    """The sites with a seed: they are of no family."""

    __slots__ = ("_names", "_sites", "hosts")

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self.hosts, self._names = array("I"), set[int]()
        """A host of each of them; the number of a site may be another in the next run."""

    def add(self, hosts: Iterable[int]) -> bool:
        """The sites of these hosts have a seed; whether that is new of one."""
        new = [host for host in hosts if not self.has(host)]
        self.hosts += array("I", new)
        self.restore(new)
        return bool(new)

    def has(self, host: int) -> bool:
        """Whether the host is of a site with a seed."""
        return self._sites.site(host) in self._names

    def restore(self, hosts: Iterable[int]) -> None:
        """Know the sites of these hosts."""
        self._names.update(map(self._sites.site, hosts))


class FamilyBudgets:
    """Turns and incomes of families. A family has the number of its first host."""

    __slots__ = (
        "_due",
        "_first_hosts",
        "_free",
        "_free_then",
        "_held",
        "_sites",
        "_vouched",
        "family_of",
        "has_families",
        "incomes",
        "reads",
        "rounds",
    )

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self.family_of = array("I")
        """Of each host."""
        self.reads, self.incomes = array("I"), FamilyIncomes()
        self._held = array("d")
        """What the factors of a family are multiplied by, if that is less than 1."""
        self.rounds: dict[int, Round] = {}
        """Those of families that have had their free turns."""
        self._first_hosts = dict[int, int]()
        """Of the sites that began a family."""
        self._vouched = VouchedSites(sites)
        self._due, self._free = set[int](), FREE_AT_FIRST
        self.has_families = False
        """Whether there are sites without a seed."""
        self._free_then = 0
        """What was free when budgets were looked at last; 0 if that is not known."""

    # ------------------------------------------------------------ what happens

    def introduce(self, hosts: Sequence[int], by: int) -> None:
        """Pages of these hosts became known by the links of this one, or by NOBODY's."""
        family_of = self.family_of
        for host in hosts:
            if host >= len(family_of):
                self._grow(host + 1)
            if family_of[host] == _UNKNOWN:
                family_of[host] = self._family(host, by)

    def _family(self, host: int, by: int) -> int:
        if not self._vouched.hosts or self._vouched.has(host):
            return _SEEDED
        self.has_families = True
        family = _SEEDED if by == NOBODY else self.family_of[by]
        site = self._sites.site(host)
        return self._first_hosts.setdefault(site, host) if family >= _UNKNOWN else family

    def _grow(self, hosts: int) -> None:
        missing = hosts - len(self.family_of)
        self.family_of.extend(repeat(_UNKNOWN, missing))
        self.reads.extend(repeat(0, missing))
        self.incomes.grow(missing)
        self._held.extend(repeat(1.0, missing))

    def knows(self, host: int) -> bool:
        """Whether a page of the host is known."""
        return host < len(self.family_of) and self.family_of[host] != _UNKNOWN

    def vouch(self, hosts: Iterable[int]) -> list[int]:
        """The user named pages of these: their sites are of no family. Answers with all hosts of
        such sites, if that is new of one.
        """
        if not self._vouched.add(hosts):
            return []
        known = filter(self.knows, range(len(self.family_of)))
        found = list(filter(self._vouched.has, known))
        for host in found:
            self.family_of[host] = _SEEDED
        self.has_families = self._are_families()
        return found

    def _are_families(self) -> bool:
        return any(family < _UNKNOWN for family in self.family_of)

    def read(self, host: int, turns: int) -> bool:
        """A page of the host had its turn, the last of so many. Whether it is time to `look`."""
        self._free = min(FREE_READS, FREE_AT_FIRST + turns // TURNS_A_READ)
        family = self.family_of[host]
        if family != _SEEDED:
            reads = self.reads[family] = self.reads[family] + 1
            last = self.rounds.get(family)
            if reads > self._free if last is None else reads >= last.reads * _GROWTH:
                self._due.add(family)
        if not self.has_families:
            return False
        if self._due:
            return not turns % at_once(turns)
        return not turns % (LOOK_EVERY * (1 if self.rounds else PATIENCE))

    def look(self) -> dict[int, bool]:
        """Add up the gifts that wait. Answers with the families whose rounds end, and whether their
        groups count for more than before.
        """
        given = self.incomes.add_up(np.frombuffer(self.family_of, dtype=np.uint32))
        rounds = self.rounds
        may_have_grown = given & rounds.keys() if self._free == self._free_then else rounds.keys()
        grown = {
            family
            for family in may_have_grown
            if self._budget(family) >= rounds[family].budget * _GROWTH
        }
        ended, self._due, self._free_then = sorted(self._due | grown), set(), self._free
        return {
            family: self._end_round(family, Round(self.reads[family], self._budget(family)))
            for family in ended
        }

    def _end_round(self, family: int, now: Round) -> bool:
        last = self._held[family]
        self.rounds[family] = now
        self._held[family] = min(1.0, (now.budget / now.reads) ** HOLD_BACK)
        return self._held[family] > last

    def _budget(self, family: int) -> float:
        return self._free + READS_A_UNIT * self.incomes.of[family]

    # ------------------------------------------------------------ what is asked

    def hosts(self, families: Collection[int]) -> list[int]:
        """The hosts of some families."""
        if not families:
            return []
        family_of = np.frombuffer(self.family_of, dtype=np.uint32)
        found: list[int] = np.flatnonzero(np.isin(family_of, list(families))).tolist()
        return found

    def held(self, host: int) -> float:
        """What the factors of groups of the host are multiplied by, if that is less than 1."""
        family = self.family_of[host]
        return 1.0 if family == _SEEDED else self._held[family]

    def hold_back(self, host: int, factor: float) -> float:
        """The factor of a group of the host, by the budget of its family."""
        family = self.family_of[host]
        if not self.rounds or family == _SEEDED or self._held[family] == 1:
            return factor
        return min(factor, 1.0) * self._held[family]

    def hold_back_many(self, hosts: Hosts, factors: Floats) -> Floats:
        """The same for many groups."""
        if not self.rounds:
            return factors
        families = np.frombuffer(self.family_of, dtype=np.uint32)[hosts]
        places = np.flatnonzero(families != _SEEDED)
        held = np.frombuffer(self._held, dtype=np.float64)[families[places]]
        places, held = places[held < 1], held[held < 1]
        factors[places] = np.minimum(factors[places], 1.0) * held
        return factors

    # ------------------------------------------------------------ what a checkpoint has

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
        rounds = [(family, *self.rounds[family]) for family in sorted(self.rounds)]
        return {
            "rounds": array("d", chain.from_iterable(rounds)).tobytes(),
            "free": array("I", [self._free]).tobytes(),
            "due": array("I", sorted(self._due)).tobytes(),
            **{name: column.tobytes() for name, column in self._columns().items()},
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from what was saved."""
        for name, column in self._columns().items():
            column.frombytes(state[name])
        (self._free,) = array("I", state["free"])
        self._due.update(array("I", state.get("due", b"")))  # stores of before have none
        self._held.extend(repeat(1.0, len(self.family_of)))
        rounds = array("d", state["rounds"])
        for family, reads, budget in zip(rounds[::3], rounds[1::3], rounds[2::3], strict=True):
            self._end_round(int(family), Round(int(reads), budget))
        self._vouched.restore(self._vouched.hosts)
        self.has_families = self._are_families()
        for host, family in enumerate(self.family_of):
            if family == host:
                self._first_hosts[self._sites.site(host)] = host

    def _columns(self) -> dict[str, array[int] | array[float]]:
        return {
            "families": self.family_of,
            "reads": self.reads,
            "vouched": self._vouched.hosts,
            **self.incomes.columns(),
        }


def _no_gifts() -> tuple[array[int], array[int], array[float]]:
    return array("I"), array("I"), array("d")

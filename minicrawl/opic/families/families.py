"""Read budgets: how many pages a crawl reads from sites that the user did not name.

Link farms are the reason. A farm can spread over any number of domains and link to itself as often
as it likes, so neither a limit per site nor the cash inside the farm says anything. What a farm
cannot fake is cash from elsewhere. So sites are joined to *families* by who introduced whom, and
only cash that comes from outside a family counts as its *income*. A family has a budget of reads:

    budget = free turns (10, plus 1 per 1,000 turns of the crawl, at most 200) + 60 * income

Past its budget, all groups of the family get a factor of at most 1, times (budget / reads)^4.

Example: seed.org has a seed. Its page links to a.com and d.com, and a.com's pages introduce b.com
and c.com. So a.com, b.com and c.com are one family, d.com is another. seed.org gives a.com 0.5
units, and a.com gives b.com 9. The income of the first family is 0.5, since the 9 units stay inside
it, and its budget is 10 + 60 * 0.5 = 40 turns. After 80 turns of its pages the factor is multiplied
by (40 / 80)^4 = 1/16, and a.com's pages wait until others have been read.

Families could also feed each other. So of the cash that a family gives to others, only up to half
of its own income counts, as of the last time that gifts were added up: together they earn at most
twice what others gave them.

The order uses budgets as of the last *round* of a family, which ends when its reads or its budget
have grown by 1/32. Otherwise each turn would change the keys of whole sites. Rounds end together,
so that gifts are added up once for all of them; when depends on the steps alone, so that a restored
crawl makes the same rounds.

site      the hosts of one registrable domain
family    a site introduced by a page of a site with a seed, and all sites that the family's pages
          introduced. Sites with a seed belong to no family and have no budget, nor have sites
          known before any seed, as in a store made from web archives.
reads     turns of a family's pages
income    units that other families and seeded sites gave to the family, as far as they count
seed      of a host: the host of the seed whose pages led to it, however far. Hosts of one seed
          share request slots (`crawl.hosts.slots`). What a sitemap alone made known has none

The result does not depend on when gifts are counted, so those of many plans are counted together
by a few array operations.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.families.rounds import at_once
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT

Hosts = NDArray[np.uint32]


class PostedGifts:
    """The links of plans whose gifts are not yet counted."""

    def __init__(self) -> None:
        self._givers, self._sizes, self._shares = array("I"), array("I"), array("d")
        """Columns with a row for each plan. Shares are floats, as their sums will be."""
        self._links = array("I")
        self._extras: list[tuple[int, Sequence[tuple[int, int]]]] = []
        """Links with individual amounts: for each plan that has any, the index of the first one."""

    def __len__(self) -> int:
        return len(self._givers)

    def post(self, plan: Plan) -> None:
        self._givers.append(plan.page)
        self._sizes.append(len(plan.links) + len(plan.extras))
        self._shares.append(plan.share)
        self._links.extend(plan.links)
        if plan.extras:
            self._extras.append((len(self._links), plan.extras))
            self._links.extend([link for link, _ in plan.extras])

    def between_hosts(self, host_of: Hosts) -> tuple[Hosts, Hosts, NDArray[np.float64]]:
        """Return the gifts to pages of other hosts: takers, givers, and units of cash."""
        sizes = np.frombuffer(self._sizes, dtype=np.uint32)
        givers = host_of[np.frombuffer(self._givers, dtype=np.uint32)].repeat(sizes)
        takers = host_of[np.frombuffer(self._links, dtype=np.uint32)]
        atoms = np.frombuffer(self._shares).repeat(sizes)
        for place, extras in self._extras:
            atoms[place : place + len(extras)] = [atoms for _, atoms in extras]
        (away,) = (takers != givers).nonzero()
        return takers[away], givers[away], atoms[away] / UNIT


Floats = NDArray[np.float64]

FREE_READS, FREE_AT_FIRST, TURNS_A_READ = 200, 10, 1000
READS_A_UNIT = 60
PASSED_ON = 0.5
HOLD_BACK = 4.0
LOOK_EVERY, PATIENCE = 64, 16
"""Number of turns between two looks at incomes, and a factor while all families have free turns."""
_GROWTH = 1 + 1 / 32
MANY_GIFTS = 1 << 16
"""Most waiting gifts before they are joined, even if no round ends that would count them."""
NOBODY = (1 << 32) - 1
"""Introducing host of a host that no page introduced."""
SEEDED, _UNKNOWN = (1 << 32) - 1, (1 << 32) - 2
"""Values in place of a family: the site has a seed, or no page of the host is known."""


class Sites(Protocol):
    """Maps hosts to sites. The number of a site may differ between runs."""

    def site(self, host: int) -> int:
        """Return the site of a host."""


class Round(NamedTuple):
    """Reads and budget of a family at the end of its last round."""

    reads: int
    budget: float


class FamilyIncomes:
    """Income of each family, in units. Gifts between hosts wait until they are added up."""

    def __init__(self) -> None:
        self.of, self._given = array("d"), array("d")
        self._gifts = _no_gifts()
        """Waiting gifts: receiving hosts, giving hosts, units."""
        self._joined = 0  # number of gifts left by the last join

    def grow(self, families: int) -> None:
        self.of.extend(repeat(0.0, families))
        self._given.extend(repeat(0.0, families))

    def earn(self, takers: Hosts, givers: Hosts, units: Floats) -> None:
        """Add gifts: pages of `givers` gave units to pages of `takers`."""
        self._gifts[0].frombytes(takers.tobytes())
        self._gifts[1].frombytes(givers.tobytes())
        self._gifts[2].frombytes(units.tobytes())
        if len(self._gifts[0]) > MANY_GIFTS + 2 * self._joined:
            self._join_gifts()

    def _join_gifts(self) -> None:
        """Merge the waiting gifts into one for each pair of hosts."""
        takers, givers, units = (np.array(column) for column in self._gifts)
        pairs, places = np.unique(takers.astype(np.uint64) << 32 | givers, return_inverse=True)
        self._gifts, self._joined = _no_gifts(), len(pairs)
        self._gifts[0].frombytes((pairs >> 32).astype(np.uint32).tobytes())
        self._gifts[1].frombytes(pairs.astype(np.uint32).tobytes())
        self._gifts[2].frombytes(np.bincount(places, weights=units).tobytes())

    def add_up(self, family_of: Hosts) -> set[int]:
        """Add up the waiting gifts; `family_of` maps hosts to families.

        Return the families that received something.
        """
        self._join_gifts()  # makes sums bit-identical, whenever gifts were joined before
        takers, givers, units = (np.array(column) for column in self._gifts)
        self._gifts, self._joined = _no_gifts(), 0
        takers, givers = family_of[takers], family_of[givers]
        counts = (takers != givers) & (takers != SEEDED)
        takers, givers, units = takers[counts], givers[counts], units[counts]
        income = np.frombuffer(self.of, dtype=np.float64)
        has_limit = givers != SEEDED
        families, places = np.unique(givers[has_limit], return_inverse=True)
        sums = np.bincount(places, weights=units[has_limit], minlength=len(families))
        given = np.frombuffer(self._given, dtype=np.float64)
        counted = np.minimum(sums, np.maximum(PASSED_ON * income[families] - given[families], 0.0))
        given[families] += counted
        units[has_limit] *= (counted / np.maximum(sums, 1e-300))[places]
        np.add.at(income, takers, units)
        return set(takers.tolist())

    def columns(self) -> dict[str, array[int] | array[float]]:
        takers, givers, units = self._gifts
        return {
            "income": self.of,
            "given": self._given,
            "takers": takers,
            "givers": givers,
            "units": units,
        }


class FamilyBudgets:
    """Reads, incomes and budgets of families. A family has the number of its first host."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self.family_of = array("I")
        self.seed_of = array("I")
        """Host of the seed whose pages led to each host, or NOBODY if no page has led to it."""
        self.reads, self.incomes = array("I"), FamilyIncomes()
        self._held = array("d")
        """Multiplier of the factors of each family: 1, or less past the budget."""
        self.rounds: dict[int, Round] = {}
        """Last round of each family that has used up its free turns."""
        self._first_hosts = array("I")
        """First host of each site that founded a family, or NOBODY."""
        self._vouched, self._seeded_sites = array("I"), set[int]()
        """Sites with a seed, which belong to no family; one host of each, as its number may differ
        in the next run."""
        self._due, self._free = set[int](), FREE_AT_FIRST
        self.has_families = False
        """True if there are sites without a seed."""
        self._free_then = 0
        """Free turns at the last look at the budgets; 0 if unknown."""

    def introduce(self, hosts: Sequence[int], by: int) -> None:
        """Register hosts whose pages became known through links of host `by`, or of NOBODY."""
        family_of = self.family_of
        for host in hosts:
            if host >= len(family_of):
                missing = (host + 1) - len(self.family_of)
                self.family_of.extend(repeat(_UNKNOWN, missing))
                self.seed_of.extend(repeat(NOBODY, missing))
                self.reads.extend(repeat(0, missing))
                self.incomes.grow(missing)
                self._held.extend(repeat(1.0, missing))
            if family_of[host] == _UNKNOWN:
                family_of[host] = self._family(host, by)
                self.seed_of[host] = NOBODY if by == NOBODY else self.seed_of[by]

    def _family(self, host: int, by: int) -> int:
        if not self._vouched or self._sites.site(host) in self._seeded_sites:
            return SEEDED
        self.has_families = True
        family = SEEDED if by == NOBODY else self.family_of[by]
        site = self._sites.site(host)
        # A site that a seeded site introduced founds a family; any other site joins the family of
        # the page that introduced it. So a farm gets no new budget with a fresh domain.
        return self._founded(site, host) if family >= _UNKNOWN else family

    def _founded(self, site: int, host: int) -> int:
        """Return the first host of the site that founded a family: this host, if there is none."""
        first_hosts = self._first_hosts
        first_hosts.extend(repeat(NOBODY, site + 1 - len(first_hosts)))
        if first_hosts[site] == NOBODY:
            first_hosts[site] = host
        return first_hosts[site]

    def knows(self, host: int) -> bool:
        return host < len(self.family_of) and self.family_of[host] != _UNKNOWN

    def vouch(self, hosts: Iterable[int]) -> list[int]:
        """Take the sites of these hosts, which the user named, out of all families.

        Return all hosts of such sites if any site is new, else an empty list.
        """
        hosts = list(hosts)
        for host in filter(self.knows, hosts):
            if self.seed_of[host] == NOBODY:
                self.seed_of[host] = host
        site_of = self._sites.site
        new = [host for host in hosts if site_of(host) not in self._seeded_sites]
        if not new:
            return []
        self._vouched.extend(new)
        self._seeded_sites.update(map(site_of, new))
        known = filter(self.knows, range(len(self.family_of)))
        vouched = [host for host in known if site_of(host) in self._seeded_sites]
        for host in vouched:
            self.family_of[host] = SEEDED
        self.has_families = any(family < _UNKNOWN for family in self.family_of)
        return vouched

    def read(self, host: int, turns: int) -> bool:
        """Count a turn of the host, the crawl's `turns`th; return True if it is time to `look`."""
        self._free = min(FREE_READS, FREE_AT_FIRST + turns // TURNS_A_READ)
        family = self.family_of[host]
        if family != SEEDED:
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
        """Add up the waiting gifts, and end the rounds that are due.

        Return the families whose rounds ended, and whether their multiplier has grown.
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
        # At most 1: a budget that is not used up is no reason to prefer a family.
        self._held[family] = min(1.0, (now.budget / now.reads) ** HOLD_BACK)
        return self._held[family] > last

    def _budget(self, family: int) -> float:
        return self._free + READS_A_UNIT * self.incomes.of[family]

    def hosts(self, families: Collection[int]) -> list[int]:
        if not families:
            return []
        family_of = np.frombuffer(self.family_of, dtype=np.uint32)
        return np.flatnonzero(np.isin(family_of, list(families))).tolist()

    def families_of(self, host: int) -> tuple[int, int]:
        """Return the seed that led to the host, and its family, or itself if it has none."""
        family = self.family_of[host] if host < len(self.family_of) else _UNKNOWN
        if family == _UNKNOWN:
            return NOBODY, host
        return self.seed_of[host], host if family == SEEDED else family

    def held(self, host: int) -> float:
        """Return the multiplier for groups of the host: 1, or less past the budget."""
        family = self.family_of[host]
        return 1.0 if family == SEEDED else self._held[family]

    def hold_back(self, host: int, factor: float) -> float:
        """Return the factor of a group of the host, limited by the budget of its family."""
        family = self.family_of[host]
        if not self.rounds or family == SEEDED or self._held[family] == 1:
            return factor
        return min(factor, 1.0) * self._held[family]

    def hold_back_many(self, hosts: Hosts, factors: Floats) -> Floats:
        if not self.rounds:
            return factors
        families = np.frombuffer(self.family_of, dtype=np.uint32)[hosts]
        places = np.flatnonzero(families != SEEDED)
        held = np.frombuffer(self._held, dtype=np.float64)[families[places]]
        places, held = places[held < 1], held[held < 1]
        factors[places] = np.minimum(factors[places], 1.0) * held
        return factors

    def state(self) -> dict[str, bytes]:
        rounds = [(family, *self.rounds[family]) for family in sorted(self.rounds)]
        return {
            "rounds": array("d", chain.from_iterable(rounds)).tobytes(),
            "free": array("I", [self._free]).tobytes(),
            "due": array("I", sorted(self._due)).tobytes(),
            **{name: column.tobytes() for name, column in self._columns().items()},
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        for name, column in self._columns().items():
            column.frombytes(state.get(name, state["families"]))
        if "seed_of" not in state:  # an older store: a host without a family stands for itself
            for host in range(len(self.family_of)):
                self.seed_of[host] = self.families_of(host)[1]
        (self._free,) = array("I", state["free"])
        self._due.update(array("I", state.get("due", b"")))  # absent from older stores
        self._held.extend(repeat(1.0, len(self.family_of)))
        rounds = array("d", state["rounds"])
        for family, reads, budget in zip(rounds[::3], rounds[1::3], rounds[2::3], strict=True):
            self._end_round(int(family), Round(int(reads), budget))
        self._seeded_sites.update(map(self._sites.site, self._vouched))
        self.has_families = any(family < _UNKNOWN for family in self.family_of)
        for host, family in enumerate(self.family_of):
            if family == host:
                self._founded(self._sites.site(host), host)

    def _columns(self) -> dict[str, array[int] | array[float]]:
        return {
            "families": self.family_of,
            "seed_of": self.seed_of,
            "reads": self.reads,
            "vouched": self._vouched,
            **self.incomes.columns(),
        }


def _no_gifts() -> tuple[array[int], array[int], array[float]]:
    return array("I"), array("I"), array("d")

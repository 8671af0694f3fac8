"""External cash: what pages, hosts, sites and networks are given by others, and what that earns.

Laws: an account may have a base of pages, and `PAGES_A_UNIT` more for each unit of cash that it is
given from elsewhere. A host earns from other hosts, a site from other sites, and a network from
other sites at other networks; so a farm that links to itself earns nothing, however many hosts and
domains it has. Gifts are counted many at once, and before anything is read off them.

account    of a host, a site or a network: the pages that it has used, and those it has earned
gift       cash that a page hands on along a link
strangers  hosts of different sites
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.traps.site_index import SiteIndex
from minicrawl.frontier.sites import UNKNOWN, Hosts, SiteTable
from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT
from minicrawl.wording import counted

PAGES_A_UNIT = 5
"""A healthy site gets a fifth of its cash or more from others, and should not notice its limit."""
NO_LIMIT = 1 << 31
_ATOMS_A_PAGE = UNIT // PAGES_A_UNIT


class QuotaAccounts:
    """The accounts of all hosts, of all sites or of all networks, by their numbers."""

    def __init__(self, limit: int | None) -> None:
        self.base = NO_LIMIT if limit is None else limit
        self._spent, self._earned = array("I"), array("q")

    def room(self, number: int) -> int:
        """How many more pages it may have."""
        if number >= len(self._spent):
            return self.base
        return self.base + self._earned[number] // _ATOMS_A_PAGE - self._spent[number]

    def spent(self, number: int) -> int:
        """How many pages it has had."""
        return self._spent[number] if number < len(self._spent) else 0

    def earned(self, number: int) -> int:
        """The cash that it was given from elsewhere."""
        return self._earned[number] if number < len(self._earned) else 0

    def spend(self, number: int, pages: int) -> None:
        """It has had so many more pages."""
        if number >= len(self._spent):
            self._grow(number)
        self._spent[number] += pages

    def earn(self, number: int, atoms: int) -> None:
        """It was given so much from elsewhere."""
        if number >= len(self._spent):
            self._grow(number)
        self._earned[number] += atoms

    def earn_many(self, numbers: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
        """Each of these was given so much; a number may be there several times."""
        if len(numbers):
            self._grow(int(numbers.max()))
            add(self._earned, numbers, atoms)

    def restore(self, number: int, pages: int) -> None:
        """An earlier run read so many: what it was allowed then has been earned."""
        self.spend(number, pages)
        over = self._spent[number] - self.base
        self._earned[number] = max(self._earned[number], over * _ATOMS_A_PAGE)

    def describe(self, number: int) -> str:
        """Words for what it has had."""
        earned = self.earned(number) // _ATOMS_A_PAGE
        had = f"has had {counted(self.spent(number), 'page')}"
        return f"{had}, {earned:,} of them earned by links from elsewhere"

    def _grow(self, number: int) -> None:
        """Have accounts up to this number."""
        more = number + 1 - len(self._spent)
        if more > 0:
            self._spent.extend(repeat(0, more))
            self._earned.extend(repeat(0, more))


class Accounts(NamedTuple):
    """The accounts of all three."""

    hosts: QuotaAccounts
    sites: QuotaAccounts
    networks: QuotaAccounts


def add(sums: array[int], places: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
    """Add the atoms up, each in its place."""
    np.add.at(np.frombuffer(sums, dtype=np.int64), places, atoms)


MARGIN = 1.25
"""The lesser of two must be given so much more than the other to overtake it: equals do not take
turns."""
_AT_ONCE = 1 << 14
_TABLE_BITS = 20

Atoms = NDArray[np.int64]


class ExternalCash:
    """Counts the gifts of a crawl; `seeds` are hosts that the user named pages of."""

    def __init__(
        self, site_table: SiteTable, host_of: array[int], accounts: Accounts, seeds: set[int]
    ) -> None:
        self.site_index = SiteIndex(site_table, self._credit_site)
        self._site_table, self._host_of = site_table, host_of
        self._accounts, self._seeds = accounts, seeds
        self._gifts, self._to_pages = Gifts(), PageGifts()
        self._from_strangers = array("q")  # to hosts

    # ------------------------------------------------------------ gifts

    def add(self, host: int, plans: Iterable[Plan]) -> None:
        """Pages of the host handed on their cash."""
        for plan in plans:
            self._gifts.add(host, plan.links, plan.share)
            for link, atoms in plan.extras:
                self._gifts.add(host, (link,), atoms)
        if len(self._gifts) >= _AT_ONCE:
            self.count()

    def receive(self, pages: Sequence[int], atoms: Sequence[int]) -> None:
        """Strangers at networks that are not known gave so much to these pages."""
        self._grow()
        links, gifts = np.array(pages, dtype=np.int64), np.array(atoms, dtype=np.int64)
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        sites, networks = self.site_index.known_sites(hosts), self.site_index.networks(hosts)
        for accounts, numbers in zip(self._accounts, (hosts, sites, networks), strict=True):
            known = numbers != UNKNOWN
            accounts.earn_many(numbers[known], gifts[known])
        self._note(hosts, links, gifts)

    def recall(self, links: NDArray[np.int64], givers: Hosts, atoms: Atoms) -> None:
        """What hosts gave along links in earlier runs: it decides again which page is an original.

        It earns nobody more pages.
        """
        self._grow()
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        strange = self.site_index.sites(hosts) != self.site_index.sites(givers)
        self._note(hosts[strange], links[strange], atoms[strange])

    def count(self) -> None:
        """Add up the gifts that leave their host, their site, or both site and network."""
        self._grow()
        links, givers, atoms = self._gifts.take()
        if not len(links):
            return
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        away = hosts != givers
        self._accounts.hosts.earn_many(hosts[away], atoms[away])
        strange = self.site_index.differ(hosts, givers)
        sites = self.site_index.known_sites(hosts)
        counted = strange & (sites != UNKNOWN)
        self._accounts.sites.earn_many(sites[counted], atoms[counted])
        self._note(hosts[strange], links[strange], atoms[strange])
        networks = self.site_index.networks(hosts)
        far = strange & (networks != UNKNOWN) & (networks != self.site_index.networks(givers))
        self._accounts.networks.earn_many(networks[far], atoms[far])

    def _note(self, hosts: Hosts, links: NDArray[np.integer], atoms: Atoms) -> None:
        add(self._from_strangers, hosts, atoms)
        self._to_pages.add(links, atoms)

    def _credit_site(self, host: int, site: int) -> None:
        """The site of the host is known from now on, and was given what the host was given."""
        if host < len(self._from_strangers):
            self._accounts.sites.earn(site, self._from_strangers[host])

    def _grow(self) -> None:
        """Make room for all hosts that are known by now."""
        self.site_index.grow()
        self._from_strangers.extend(repeat(0, len(self._site_table) - len(self._from_strangers)))

    # ------------------------------------------------------------ which host matters more

    def are_strangers(self, host: int, other: int) -> bool:
        """Whether they are of different sites."""
        return self.site_index.are_strangers(host, other)

    def from_strangers(self, pages: NDArray[np.int64]) -> tuple[Atoms, Atoms]:
        """What other sites gave to these pages, and to their hosts."""
        self.count()
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[pages]
        to_hosts = np.frombuffer(self._from_strangers, dtype=np.int64)[hosts]
        return self._to_pages.of(pages), to_hosts

    def to_sites(self, endowment: float) -> NDArray[np.float64]:
        """For each host, what other sites gave to its site, in atoms; and the user, who named seeds
        and gave them this endowment.
        """
        self.count()
        given = np.array(self._from_strangers, dtype=np.float64)
        given[list(self._seeds)] += endowment / max(len(self._seeds), 1)
        sites = self.site_index.sites(np.arange(len(given), dtype=np.uint32))
        sums = np.bincount(sites, weights=given).astype(np.float64)
        return sums[sites]

    def outranks(self, host: int, other: int) -> bool:
        """Whether the host matters more than the other: by a seed, or by what it was given.

        Between hosts of one site each other's gifts count, too. Of equals the first one known does.
        """
        self.count()
        if self.site_index.are_strangers(host, other):
            return self._rank_of_stranger(host) > self._rank_of_stranger(other)
        earned = self._accounts.hosts.earned
        return (earned(host), -host) > (earned(other), -other)

    def overtakes(self, host: int, other: int) -> bool:
        """Whether a host of another site, that mattered less, matters more by now."""
        if host in self._seeds or other in self._seeds:
            return other not in self._seeds
        self.count()
        return self._from_strangers[host] > MARGIN * self._from_strangers[other]

    def _rank_of_stranger(self, host: int) -> tuple[bool, int, int]:
        return host in self._seeds, self._from_strangers[host], -host


class Gifts:
    """Cash on its way along links: each costs next to nothing until many are counted at once."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._links, self._givers = array("I"), array("I")
        self._lengths, self._shares = array("I"), array("q")

    def __len__(self) -> int:
        return len(self._links)

    def add(self, giver: int, links: Sequence[int], share: int) -> None:
        """A host gave so much along each of these links."""
        self._links.extend(links)
        self._givers.append(giver)
        self._lengths.append(len(links))
        self._shares.append(share)

    def take(self) -> tuple[NDArray[np.uint32], Hosts, Atoms]:
        """For each link the page that it leads to, the host that gave and how much; they are
        forgotten here.
        """
        lengths = np.array(self._lengths)
        links = np.array(self._links)
        givers = np.repeat(np.array(self._givers), lengths)
        shares = np.repeat(np.array(self._shares), lengths)
        self._begin()
        return links, givers, shares


class PageGifts:
    """What each page was given, in a table of a fixed size: pages that share a place in it count
    alike, each for all of them.
    """

    def __init__(self, bits: int = _TABLE_BITS) -> None:
        self._mask = (1 << bits) - 1
        self._atoms = np.zeros(1 << bits, dtype=np.int64)

    def add(self, pages: NDArray[np.integer], atoms: Atoms) -> None:
        """So much more for each of these."""
        np.add.at(self._atoms, pages & self._mask, atoms)

    def of(self, pages: NDArray[np.int64]) -> Atoms:
        """What these were given."""
        found: Atoms = self._atoms[pages & self._mask]
        return found

"""Inbound cash: what pages, hosts, sites and networks get from others, and what that earns.

Laws: an account has a base of pages, and `PAGES_A_UNIT` more for each unit of cash from
elsewhere. A host earns from other hosts, a site from other sites, and a network from other sites
at other networks; so a farm that links to itself earns nothing, however many hosts and domains it
has. Gifts are counted in batches, and before any total is read.

account    of a host, a site or a network: pages used and pages earned
gift       cash that a page hands on along a link
network    address of a host, if known and public: an IPv4 address or an IPv6 /64
strangers  hosts of different sites
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, ip_address
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.fetch.resolver.addresses import is_public
from minicrawl.frontier.url_table import UNKNOWN, Hosts, SiteTable
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.web.sites import is_address, site
from minicrawl.wording import counted

PAGES_A_UNIT = 5
"""Pages per unit of cash. A healthy site gets a fifth of its cash or more from others, and rarely
reaches its limit.
"""
NO_LIMIT = 1 << 31
_ATOMS_A_PAGE = UNIT // PAGES_A_UNIT


class SiteIndex:
    """Sites and networks of all hosts, as numbers. A site costs nothing until it is looked up."""

    def __init__(self, table: SiteTable, on_site: Callable[[int, int], None]) -> None:
        """Set up; `on_site` is called with a host and its site at the first look-up of the site."""
        self.table, self._on_site = table, on_site
        self._sites, self._networks = array("I"), array("I")
        self._is_address = array("B")
        self._network_ids: dict[str, int] = {}
        self.network_names: list[str] = []
        """Address of each network."""

    def site(self, host: int) -> int:
        if host >= len(self._sites):
            self.grow()
        number = self._sites[host]
        if number == UNKNOWN:
            number = self._sites[host] = self.table.site(host)
            self._on_site(host, number)
        return number

    def network(self, host: int) -> int:
        """Return the number of the host's network, or UNKNOWN."""
        return self._networks[host] if host < len(self._networks) else UNKNOWN

    def locate(self, host: int, address: str) -> bool:
        """Set the address of a host. Return whether its network is known only since."""
        name = network_of(address)
        if name is None:
            return False
        self.grow()
        number = self._network_ids.setdefault(name, len(self.network_names))
        if number == len(self.network_names):
            self.network_names.append(name)
        before, self._networks[host] = self._networks[host], number
        return before == UNKNOWN

    def are_strangers(self, host: int, other: int) -> bool:
        """Return whether the hosts are of different sites."""
        return host != other and self.site(host) != self.site(other)

    def known_sites(self, hosts: Hosts) -> Hosts:
        """Return the numbers of the hosts' sites, or UNKNOWN where none was looked up."""
        return np.frombuffer(self._sites, dtype=np.uint32)[hosts]

    def networks(self, hosts: Hosts) -> Hosts:
        """Return the numbers of the hosts' networks, or UNKNOWN."""
        return np.frombuffer(self._networks, dtype=np.uint32)[hosts]

    def differ(self, hosts: Hosts, other_hosts: Hosts) -> NDArray[np.bool_]:
        """Return whether the hosts of each pair are strangers, as a name and an address are."""
        self.grow()
        is_address = np.frombuffer(self._is_address, dtype=np.uint8)
        differ: NDArray[np.bool_] = is_address[hosts] != is_address[other_hosts]
        alike = ~differ
        if alike.any():
            differ[alike] = self.sites(hosts[alike]) != self.sites(other_hosts[alike])
        return differ

    def sites(self, hosts: Hosts) -> Hosts:
        self.grow()
        # Not by `np.unique`, which first loads the masked arrays of numpy: for 10 ms.
        for host in sorted({*hosts[self.known_sites(hosts) == UNKNOWN].tolist()}):
            self.site(host)
        return self.known_sites(hosts)

    def grow(self) -> None:
        """Make room for all known hosts."""
        known = len(self._sites)
        more = len(self.table) - known
        if more:
            self._sites.extend(repeat(UNKNOWN, more))
            self._networks.extend(repeat(UNKNOWN, more))
            names = map(self.table.name_of_host, range(known, known + more))
            self._is_address.extend(map(is_address, names))


def network_of(address: str) -> str | None:
    """Return the network of an address; None if it is not an address, or not public."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    if not is_public(parsed):
        return None
    return str(parsed) if isinstance(parsed, IPv4Address) else site(f"[{parsed}]")


class QuotaAccounts:
    """Accounts of all hosts, of all sites or of all networks, by number."""

    def __init__(self, limit: int | None) -> None:
        self.base = NO_LIMIT if limit is None else limit
        self._spent, self._earned = array("I"), array("q")

    def room(self, number: int) -> int:
        """Return how many more pages the account may have."""
        if number >= len(self._spent):
            return self.base
        return self.base + self._earned[number] // _ATOMS_A_PAGE - self._spent[number]

    def spent(self, number: int) -> int:
        """Return how many pages the account has had."""
        return self._spent[number] if number < len(self._spent) else 0

    def earned(self, number: int) -> int:
        """Return the cash that the account got from elsewhere, in atoms."""
        return self._earned[number] if number < len(self._earned) else 0

    def spend(self, number: int, pages: int) -> None:
        """Charge pages to the account."""
        self._grow(number)
        self._spent[number] += pages

    def earn(self, number: int, atoms: int) -> None:
        """Credit cash from elsewhere to the account."""
        self._grow(number)
        self._earned[number] += atoms

    def earn_many(self, numbers: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
        """Credit cash to accounts; a number may occur several times."""
        if len(numbers):
            self._grow(int(numbers.max()))
            add(self._earned, numbers, atoms)

    def restore(self, number: int, pages: int) -> None:
        """Load the number of pages that an earlier run read, all of which count as earned."""
        self.spend(number, pages)
        over = self._spent[number] - self.base
        self._earned[number] = max(self._earned[number], over * _ATOMS_A_PAGE)

    def describe(self, number: int) -> str:
        """Describe the pages of the account."""
        earned = self.earned(number) // _ATOMS_A_PAGE
        had = f"has had {counted(self.spent(number), 'page')}"
        return f"{had}, {earned:,} of them earned by links from elsewhere"

    def _grow(self, number: int) -> None:
        """Make room for accounts up to this number."""
        more = number + 1 - len(self._spent)
        if more > 0:
            self._spent.extend(repeat(0, more))
            self._earned.extend(repeat(0, more))


class Accounts(NamedTuple):
    """Accounts of hosts, sites and networks."""

    hosts: QuotaAccounts
    sites: QuotaAccounts
    networks: QuotaAccounts


def add(sums: array[int], places: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
    np.add.at(np.frombuffer(sums, dtype=np.int64), places, atoms)


MARGIN = 1.25
"""A copy or host overtakes another one only with this many times its cash: without a margin, two
that are nearly equal would overtake each other again and again.
"""
_AT_ONCE = 1 << 14
_TABLE_BITS = 20
_IN_TABLE = (1 << _TABLE_BITS) - 1

Atoms = NDArray[np.int64]


class InboundCash:
    """Counts the gifts of a crawl; `seeds` are the hosts of seeds."""

    def __init__(
        self, site_table: SiteTable, host_of: array[int], accounts: Accounts, seeds: set[int]
    ) -> None:
        self.site_index = SiteIndex(site_table, self._credit_site)
        self._site_table, self._host_of = site_table, host_of
        self._accounts, self._seeds = accounts, seeds
        # Gifts that are not counted yet: adding one is cheap, and many are counted at once.
        self._links, self._givers = array("I"), array("I")
        self._lengths, self._amounts = array("I"), array("q")
        self._to_pages = np.zeros(1 << _TABLE_BITS, dtype=np.int64)
        """Cash of pages, in a table of a fixed size: pages with the same place share one sum."""
        self._from_strangers = array("q")  # cash to hosts

    def add(self, host: int, plans: Iterable[Plan]) -> None:
        """Add the gifts of the host's pages."""
        for plan in plans:
            self._add(host, plan.links, plan.share)
            for link, atoms in plan.extras:
                self._add(host, (link,), atoms)
        if len(self._links) >= _AT_ONCE:
            self.count()

    def _add(self, host: int, links: Sequence[int], amount: int) -> None:
        self._links.extend(links)
        self._givers.append(host)
        self._lengths.append(len(links))
        self._amounts.append(amount)

    def receive(self, pages: Sequence[int], atoms: Sequence[int]) -> None:
        """Count gifts from strangers at unknown networks to these pages."""
        self._grow()
        links, gifts = np.array(pages, dtype=np.int64), np.array(atoms, dtype=np.int64)
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        sites, networks = self.site_index.known_sites(hosts), self.site_index.networks(hosts)
        for accounts, numbers in zip(self._accounts, (hosts, sites, networks), strict=True):
            known = numbers != UNKNOWN
            accounts.earn_many(numbers[known], gifts[known])
        self._note(hosts, links, gifts)

    def recall(self, links: Hosts, givers: Hosts, counts: Atoms, atoms: Atoms) -> None:
        """Count gifts of earlier runs: they earn no pages, but rank hosts and copies again.

        Each giver gave its atoms to each of the next `counts` links.
        """
        self._grow()
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        sites = self.site_index.sites(hosts)
        strange = sites != np.repeat(self.site_index.sites(givers), counts)
        self._note(hosts[strange], links[strange], np.repeat(atoms, counts)[strange])

    def count(self) -> None:
        """Add up the gifts that leave their host, their site, or both site and network."""
        self._grow()
        if not self._links:
            return
        lengths, links = np.array(self._lengths), np.array(self._links)
        givers = np.repeat(np.array(self._givers), lengths)
        atoms = np.repeat(np.array(self._amounts), lengths)
        for column in (self._links, self._givers, self._lengths, self._amounts):
            del column[:]
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        away = hosts != givers
        self._accounts.hosts.earn_many(hosts[away], atoms[away])
        strange = self.site_index.differ(hosts, givers)
        sites = self.site_index.known_sites(hosts)
        # Sites that were never looked up are credited when they are (`_credit_site`).
        counted = strange & (sites != UNKNOWN)
        self._accounts.sites.earn_many(sites[counted], atoms[counted])
        self._note(hosts[strange], links[strange], atoms[strange])
        networks = self.site_index.networks(hosts)
        far = strange & (networks != UNKNOWN) & (networks != self.site_index.networks(givers))
        self._accounts.networks.earn_many(networks[far], atoms[far])

    def _note(self, hosts: Hosts, links: NDArray[np.integer], atoms: Atoms) -> None:
        add(self._from_strangers, hosts, atoms)
        np.add.at(self._to_pages, links & _IN_TABLE, atoms)

    def _credit_site(self, host: int, site: int) -> None:
        """Credit a site, once it is looked up, with the gifts to its host."""
        if host < len(self._from_strangers):
            self._accounts.sites.earn(site, self._from_strangers[host])

    def _grow(self) -> None:
        """Make room for all known hosts."""
        self.site_index.grow()
        self._from_strangers.extend(repeat(0, len(self._site_table) - len(self._from_strangers)))

    def from_strangers(self, pages: NDArray[np.int64]) -> tuple[Atoms, Atoms]:
        """Return the cash that other sites gave to these pages, and to their hosts."""
        self.count()
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[pages]
        to_hosts = np.frombuffer(self._from_strangers, dtype=np.int64)[hosts]
        return self._to_pages[pages & _IN_TABLE], to_hosts

    def to_sites(self, endowment: float) -> NDArray[np.float64]:
        """Return what other sites, and the user by the endowment, gave to each host's site."""
        self.count()
        given = np.array(self._from_strangers, dtype=np.float64)
        given[list(self._seeds)] += endowment / max(len(self._seeds), 1)
        sites = self.site_index.sites(np.arange(len(given), dtype=np.uint32))
        sums = np.bincount(sites, weights=given).astype(np.float64)
        return sums[sites]

    def outranks(self, host: int, other: int) -> bool:
        """Return whether the host matters more than the other: by a seed, or by the cash it got.

        Within a site only cash decides, and hosts of the site may give it. Of equals, the host that
        became known first matters more.
        """
        self.count()
        if self.site_index.are_strangers(host, other):
            return self._rank_of_stranger(host) > self._rank_of_stranger(other)
        earned = self._accounts.hosts.earned
        return (earned(host), -host) > (earned(other), -other)

    def overtakes(self, host: int, other: int) -> bool:
        """Return whether a host of another site, which mattered less, matters more by now."""
        if host in self._seeds or other in self._seeds:
            return other not in self._seeds
        self.count()
        return self._from_strangers[host] > MARGIN * self._from_strangers[other]

    def _rank_of_stranger(self, host: int) -> tuple[bool, int, int]:
        return host in self._seeds, self._from_strangers[host], -host

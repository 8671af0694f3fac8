"""Quotas: limit the pages of a host, a site and a network, by the cash that they have earned.

An endless site makes up pages, and a link farm makes up as many hosts and domains as it wants.
Neither can make up cash from pages of others. So each host, each site and each network has an
account: a base of pages, and 5 more for each unit of cash that arrives from elsewhere.

Example with --site-pages 1000. All cash in it comes along links.

    shop.example has one host. Its first page costs its site 10 + 1: a new host counts as 10 pages.
    It reads 800 pages, each leading to 1 new page, and one page that leads to 300 new ones, which
    counts as 10 (`MOST_A_PAGE`). Spent: 10 + 800 + 10 = 820 of 1,000.
    Each further page spends 1 until 1,000 are spent. Then its pages end their turns with
    `allowance`, and stay known and ranked.
    news.example gives it 12 units: 60 more pages. They are reopened at the next look.

    farm.example has 300 hosts that give each other 10,000 units. As hosts they earn from each
    other; their site earns nothing, and each new host costs it 10 pages. So after 90 hosts with a
    page each (11 * 90 = 990), and 10 pages more, no page of farm.example is requested.
    If they were 300 domains at one address, their sites would earn from each other, but not their
    network: 1,000 pages together. Domains with addresses of their own do earn from each other.
    The order of reading holds such farms back (`opic.families`).

Laws: a site with a seed has no limit. All others begin with the same number of pages, and earn more
by cash from elsewhere (see `InboundCash`). A page that leads to new pages of its host counts once
for each, up to a limit: so a finite site costs little more than its pages, and an endless one soon
stops. The pages of a site that an earlier run read count as earned; the new pages that they led to
are not counted again.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Address, ip_address
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.fetch.resolver.addresses import is_public
from minicrawl.frontier.url_table import UNKNOWN, Hosts, SiteTable
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.web.urls import is_address, site
from minicrawl.wording import counted

# ================================================================ site index
#
# Site and network of each host.
#
# Law: a site costs nothing until it is looked up.
#
# network    address of a host, if known and public: an IPv4 address or an IPv6 /64
# strangers  hosts of different sites


class SiteIndex:
    """Sites and networks of all hosts, as numbers."""

    def __init__(self, table: SiteTable, found: Callable[[int, int], None]) -> None:
        """Set up; `found` is called with a host and its site at the first look-up of the site."""
        self._table, self._found = table, found
        self._sites, self._networks = array("I"), array("I")
        self._is_address = array("B")
        self._network_ids: dict[str, int] = {}
        self._network_names: list[str] = []

    # ------------------------------------------------------------ one host

    def site(self, host: int) -> int:
        """Return the number of the host's site."""
        if host >= len(self._sites):
            self.grow()
        number = self._sites[host]
        if number == UNKNOWN:
            number = self._sites[host] = self._table.site(host)
            self._found(host, number)
        return number

    def site_name(self, host: int) -> str:
        """Return the name of the host's site."""
        return self._table.name(host)

    def has_name(self, host: int) -> bool:
        """Return whether the host has a name, rather than an address alone."""
        return not is_address(self._table.name_of_host(host))

    def network(self, host: int) -> int:
        """Return the number of the host's network, or UNKNOWN."""
        return self._networks[host] if host < len(self._networks) else UNKNOWN

    def network_name(self, number: int) -> str:
        """Return the address of a network."""
        return self._network_names[number]

    def locate(self, host: int, address: str) -> bool:
        """Set the address of a host.

        Return whether its network was unknown before and is known now.
        """
        name = network_of(address)
        if name is None:
            return False
        self.grow()
        number = self._network_ids.setdefault(name, len(self._network_names))
        if number == len(self._network_names):
            self._network_names.append(name)
        before, self._networks[host] = self._networks[host], number
        return before == UNKNOWN

    def are_strangers(self, host: int, other: int) -> bool:
        """Return whether the hosts are of different sites."""
        return host != other and self.site(host) != self.site(other)

    # ------------------------------------------------------------ many hosts

    def known_sites(self, hosts: Hosts) -> Hosts:
        """Return the numbers of the hosts' sites, or UNKNOWN where none was looked up."""
        return np.frombuffer(self._sites, dtype=np.uint32)[hosts]

    def networks(self, hosts: Hosts) -> Hosts:
        """Return the numbers of the hosts' networks, or UNKNOWN."""
        return np.frombuffer(self._networks, dtype=np.uint32)[hosts]

    def differ(self, hosts: Hosts, others: Hosts) -> NDArray[np.bool_]:
        """Return for each pair whether its hosts are strangers.

        An address and a name always are; no site is looked up for such a pair.
        """
        self.grow()
        is_address = np.frombuffer(self._is_address, dtype=np.uint8)
        found: NDArray[np.bool_] = is_address[hosts] != is_address[others]
        alike = ~found
        if alike.any():
            found[alike] = self.sites(hosts[alike]) != self.sites(others[alike])
        return found

    def sites(self, hosts: Hosts) -> Hosts:
        """Return the numbers of the hosts' sites."""
        self.grow()
        unknown = np.unique(hosts[self.known_sites(hosts) == UNKNOWN])
        for host in unknown.tolist():
            self.site(host)
        return self.known_sites(hosts)

    def grow(self) -> None:
        """Make room for all known hosts."""
        known = len(self._sites)
        more = len(self._table) - known
        if more:
            self._sites.extend(repeat(UNKNOWN, more))
            self._networks.extend(repeat(UNKNOWN, more))
            names = map(self._table.name_of_host, range(known, known + more))
            self._is_address.extend(map(is_address, names))


def network_of(address: str) -> str | None:
    """Return the network of an address; None if it is not an address, or not public."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    if not is_public(found):
        return None
    return str(found) if isinstance(found, IPv4Address) else site(f"[{found}]")


# ================================================================ inbound cash
#
# Inbound cash: what pages, hosts, sites and networks get from others, and what that earns.
#
# Laws: an account has a base of pages, and `PAGES_A_UNIT` more for each unit of cash from
# elsewhere. A host earns from other hosts, a site from other sites, and a network from other sites
# at other networks; so a farm that links to itself earns nothing, however many hosts and domains it
# has. Gifts are counted in batches, and before any total is read.
#
# account    of a host, a site or a network: pages used and pages earned
# gift       cash that a page hands on along a link
# strangers  hosts of different sites

PAGES_A_UNIT = 5
"""Pages per unit of cash. A healthy site gets a fifth of its cash or more from others, and rarely
reaches its limit.
"""
NO_LIMIT = 1 << 31
_ATOMS_A_PAGE = UNIT // PAGES_A_UNIT


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
        if number >= len(self._spent):
            self._grow(number)
        self._spent[number] += pages

    def earn(self, number: int, atoms: int) -> None:
        """Credit cash from elsewhere to the account."""
        if number >= len(self._spent):
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
    """Add the atoms to the sums at these places."""
    np.add.at(np.frombuffer(sums, dtype=np.int64), places, atoms)


MARGIN = 1.25
"""A copy or host overtakes another one only with this many times its cash: without a margin, two
that are nearly equal would overtake each other again and again.
"""
_AT_ONCE = 1 << 14
_TABLE_BITS = 20

Atoms = NDArray[np.int64]


class InboundCash:
    """Counts the gifts of a crawl; `seeds` are the hosts of seeds."""

    def __init__(
        self, site_table: SiteTable, host_of: array[int], accounts: Accounts, seeds: set[int]
    ) -> None:
        self.site_index = SiteIndex(site_table, self._credit_site)
        self._site_table, self._host_of = site_table, host_of
        self._accounts, self._seeds = accounts, seeds
        self._gifts, self._to_pages = Gifts(), PageGifts()
        self._from_strangers = array("q")  # cash to hosts

    # ------------------------------------------------------------ gifts

    def add(self, host: int, plans: Iterable[Plan]) -> None:
        """Add the gifts of the host's pages."""
        for plan in plans:
            self._gifts.add(host, plan.links, plan.share)
            for link, atoms in plan.extras:
                self._gifts.add(host, (link,), atoms)
        if len(self._gifts) >= _AT_ONCE:
            self.count()

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

    def recall(self, links: NDArray[np.int64], givers: Hosts, atoms: Atoms) -> None:
        """Count gifts of earlier runs: they earn no pages, but rank hosts and copies again."""
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
        # Sites that were never looked up are credited when they are (`_credit_site`).
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
        """Credit a site, once it is looked up, with the gifts to its host."""
        if host < len(self._from_strangers):
            self._accounts.sites.earn(site, self._from_strangers[host])

    def _grow(self) -> None:
        """Make room for all known hosts."""
        self.site_index.grow()
        self._from_strangers.extend(repeat(0, len(self._site_table) - len(self._from_strangers)))

    # ------------------------------------------------------------ ranking of hosts

    def are_strangers(self, host: int, other: int) -> bool:
        """Return whether the hosts are of different sites."""
        return self.site_index.are_strangers(host, other)

    def from_strangers(self, pages: NDArray[np.int64]) -> tuple[Atoms, Atoms]:
        """Return the cash that other sites gave to these pages, and to their hosts."""
        self.count()
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[pages]
        to_hosts = np.frombuffer(self._from_strangers, dtype=np.int64)[hosts]
        return self._to_pages.of(pages), to_hosts

    def to_sites(self, endowment: float) -> NDArray[np.float64]:
        """Return for each host the cash that other sites and the user gave to its site, in atoms.

        The user gave the endowment to the hosts of seeds.
        """
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


class Gifts:
    """Gifts that are not counted yet: adding one is cheap, and many are counted at once."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._links, self._givers = array("I"), array("I")
        self._lengths, self._shares = array("I"), array("q")

    def __len__(self) -> int:
        return len(self._links)

    def add(self, giver: int, links: Sequence[int], share: int) -> None:
        """Add a gift of a host along each of these links."""
        self._links.extend(links)
        self._givers.append(giver)
        self._lengths.append(len(links))
        self._shares.append(share)

    def take(self) -> tuple[NDArray[np.uint32], Hosts, Atoms]:
        """Remove all gifts. Return the target, the giving host and the amount for each link."""
        lengths = np.array(self._lengths)
        links = np.array(self._links)
        givers = np.repeat(np.array(self._givers), lengths)
        shares = np.repeat(np.array(self._shares), lengths)
        self._begin()
        return links, givers, shares


class PageGifts:
    """Cash that each page was given, in a table of a fixed size. Pages with the same place in it
    share one sum.
    """

    def __init__(self, bits: int = _TABLE_BITS) -> None:
        self._mask = (1 << bits) - 1
        self._atoms = np.zeros(1 << bits, dtype=np.int64)

    def add(self, pages: NDArray[np.integer], atoms: Atoms) -> None:
        """Credit `atoms` to `pages`."""
        np.add.at(self._atoms, pages & self._mask, atoms)

    def of(self, pages: NDArray[np.int64]) -> Atoms:
        """Return the cash that these pages were given."""
        found: Atoms = self._atoms[pages & self._mask]
        return found


# ================================================================ quotas

A_HOST = 10
"""Price of a new host in pages: farms have many hosts, and each one costs a DNS look-up and a
request for its robots.txt.
"""
MOST_A_PAGE = 10
"""Highest price of a page. A page of a finite site leads to one new page on average, and most lead
to none: manuals of 200 to 1,200 pages cost 1.05 to 1.3 times their pages.
"""
_PRICE = f"a page counting once for each new page that it led to, up to {MOST_A_PAGE}"


class Quotas:
    """Quotas of all hosts, sites and networks."""

    def __init__(
        self,
        host_pages: int | None,
        site_pages: int | None,
        sites: SiteTable,
        host_of: array[int],
    ) -> None:
        """`host_pages` is the quota of a host, `site_pages` that of a site or of a network."""
        self._host_of = host_of
        self._seeds: set[int] = set()
        self._unlimited_sites: set[int] = set()
        self._accounts = Accounts(
            QuotaAccounts(host_pages),
            QuotaAccounts(site_pages),
            QuotaAccounts(site_pages),
        )
        self.inbound_cash = InboundCash(sites, host_of, self._accounts, self._seeds)
        self._site_index = self.inbound_cash.site_index

    def vouch(self, hosts: Iterable[int]) -> None:
        """Lift the limits of the sites of these hosts, which have seeds.

        Of a host that is an address, only its own limit is lifted, not that of its network.
        """
        for host in hosts:
            self._seeds.add(host)
            site = self._site_index.site(host)
            if self._site_index.has_name(host):
                self._unlimited_sites.add(site)

    def locate(self, host: int, address: str) -> None:
        """Set the address of a host. Its former pages count for its network."""
        if self._site_index.locate(host, address) and not self._is_unlimited(host):
            pages = self._accounts.hosts.spent(host)
            self._accounts.networks.restore(self._site_index.network(host), pages)

    def restore(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """Load the number of pages of these hosts that earlier runs read."""
        for host, pages in pages_by_host:
            if not self._is_unlimited(host):
                price = pages + self._price_of_host(host)
                self._accounts.sites.restore(self._site_index.site(host), price)
                self._accounts.hosts.restore(host, pages)

    def spend(self, host: int) -> None:
        """Charge the request of a page to its host."""
        if not self._is_unlimited(host):
            self._spend(host, 1, self._price_of_host(host))

    def spend_on_new(self, host: int, new: Sequence[int]) -> None:
        """Charge the new pages that a page of the host led to."""
        own = [self._host_of[page] for page in new].count(host)
        if own > 1 and not self._is_unlimited(host):
            self._spend(host, min(own, MOST_A_PAGE) - 1)

    def _spend(self, host: int, pages: int, price_of_host: int = 0) -> None:
        hosts, sites, networks = self._accounts
        hosts.spend(host, pages)
        sites.spend(self._site_index.site(host), pages + price_of_host)
        if (network := self._site_index.network(host)) != UNKNOWN:
            networks.spend(network, pages)

    def _price_of_host(self, host: int) -> int:
        """Return the price of the host's first page for its site.

        Networks do not pay it: many sites share an address without being a farm.
        """
        return 0 if self._accounts.hosts.spent(host) else A_HOST

    # ------------------------------------------------------------ room for more pages

    def refusal(self, host: int) -> str | None:
        """Return why the host may have no more pages for now, or None."""
        if self._full_account(host) is None:
            return None
        # Uncounted gifts may have earned more pages. They are counted only where it matters.
        self.inbound_cash.count()
        full = self._full_account(host)
        return None if full is None else self._explain(host, *full)

    def _explain(self, host: int, accounts: QuotaAccounts, number: int) -> str:
        had = accounts.describe(number)
        if accounts is self._accounts.hosts:
            return f"its host {had}, {_PRICE}: --site-pages {accounts.base:,}"
        if accounts is self._accounts.sites:
            name = self._site_index.site_name(host)
            had = f"{had}, a host counting as {A_HOST} pages, {_PRICE}"
        else:
            name = f"what is at {self._site_index.network_name(number)}"
            had = f"{had}, {_PRICE}"
        return f"{name} {had}: --site-pages {accounts.base:,}"

    def with_room(self, pages: NDArray[np.int64]) -> list[int]:
        """Return those of the pages that may be requested now, as long as each account has room."""
        self.inbound_cash.count()
        hosts, host_of_each = np.unique(
            np.frombuffer(self._host_of, dtype=np.uint32)[pages], return_inverse=True
        )
        have_room = np.array([self._full_account(host) is None for host in hosts.tolist()], bool)
        return self._while_room_lasts(pages[have_room[host_of_each]].tolist())

    def _while_room_lasts(self, pages: Iterable[int]) -> list[int]:
        taken = Counter[tuple[int, int]]()
        chosen = []
        for page in pages:
            host = self._host_of[page]
            accounts = [] if self._is_unlimited(host) else list(self._accounts_of(host))
            keys = [(id(kind), number) for kind, number in accounts]
            pairs = zip(keys, accounts, strict=True)
            if all(taken[key] < kind.room(number) for key, (kind, number) in pairs):
                taken.update(keys)
                chosen.append(page)
        return chosen

    def _full_account(self, host: int) -> tuple[QuotaAccounts, int] | None:
        """Return the first account of the host that has no room, or None."""
        if self._is_unlimited(host):
            return None
        for accounts, number in self._accounts_of(host):
            if accounts.room(number) <= 0:
                return accounts, number
        return None

    def _is_unlimited(self, host: int) -> bool:
        return host in self._seeds or self._site_index.site(host) in self._unlimited_sites

    def _accounts_of(self, host: int) -> Iterator[tuple[QuotaAccounts, int]]:
        """Yield the accounts that a page of the host is charged to."""
        site = self._site_index.site(host)
        yield self._accounts.hosts, host
        yield self._accounts.sites, site
        if (network := self._site_index.network(host)) != UNKNOWN:
            yield self._accounts.networks, network

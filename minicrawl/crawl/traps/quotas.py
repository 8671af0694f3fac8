"""Quotas: how many pages a host, a site and a network may have, by what they have earned.

Laws: a site that the user named by a seed has no limit. All others begin with the same number of
pages, and earn more by cash from elsewhere (see `external_cash`). A page that leads to new pages of
its host counts once for each, up to a limit: so a site that ends costs little more than its pages,
and one that goes on and on soon stops. What an earlier run read of a site counts as earned; what
its pages led to is forgotten.
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

from minicrawl.config import Traps
from minicrawl.fetch.targets import is_public
from minicrawl.frontier.urls import UNKNOWN, Hosts, SiteTable
from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT
from minicrawl.web.urls import is_address, site
from minicrawl.wording import counted

# ================================================================ site index
#
# Which site each host is of, and which network it is at.
#
# Law: a site costs nothing until it is asked for.
#
# network    where a host is, if that is known and public: an IPv4 address or an IPv6 /64
# strangers  hosts of different sites


class SiteIndex:
    """The sites and the networks of all hosts, by numbers."""

    def __init__(self, table: SiteTable, found: Callable[[int, int], None]) -> None:
        """`found` is called with a host and its site when the site is asked for first."""
        self._table, self._found = table, found
        self._sites, self._networks = array("I"), array("I")
        self._is_address = array("B")
        self._network_ids: dict[str, int] = {}
        self._network_names: list[str] = []

    # ------------------------------------------------------------ of one host

    def site(self, host: int) -> int:
        """The number of its site."""
        if host >= len(self._sites):
            self.grow()
        number = self._sites[host]
        if number == UNKNOWN:
            number = self._sites[host] = self._table.site(host)
            self._found(host, number)
        return number

    def site_name(self, host: int) -> str:
        """The name of its site."""
        return self._table.name(host)

    def has_name(self, host: int) -> bool:
        """Whether it is more than an address."""
        return not is_address(self._table.name_of_host(host))

    def network(self, host: int) -> int:
        """The number of its network, or UNKNOWN."""
        return self._networks[host] if host < len(self._networks) else UNKNOWN

    def network_name(self, number: int) -> str:
        """The address of a network."""
        return self._network_names[number]

    def locate(self, host: int, address: str) -> bool:
        """The host is at this address; whether its network was not known before and now is."""
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
        """Whether they are of different sites."""
        return host != other and self.site(host) != self.site(other)

    # ------------------------------------------------------------ of many hosts

    def known_sites(self, hosts: Hosts) -> Hosts:
        """The numbers of their sites, or UNKNOWN where no site was asked for."""
        return np.frombuffer(self._sites, dtype=np.uint32)[hosts]

    def networks(self, hosts: Hosts) -> Hosts:
        """The numbers of their networks, or UNKNOWN."""
        return np.frombuffer(self._networks, dtype=np.uint32)[hosts]

    def differ(self, hosts: Hosts, others: Hosts) -> NDArray[np.bool_]:
        """For each pair, whether its hosts are strangers.

        An address and a name always are: no look at their sites is needed.
        """
        self.grow()
        is_address = np.frombuffer(self._is_address, dtype=np.uint8)
        found: NDArray[np.bool_] = is_address[hosts] != is_address[others]
        alike = ~found
        if alike.any():
            found[alike] = self.sites(hosts[alike]) != self.sites(others[alike])
        return found

    def sites(self, hosts: Hosts) -> Hosts:
        """The numbers of their sites."""
        self.grow()
        unknown = np.unique(hosts[self.known_sites(hosts) == UNKNOWN])
        for host in unknown.tolist():
            self.site(host)
        return self.known_sites(hosts)

    def grow(self) -> None:
        """Make room for all hosts that are known by now."""
        known = len(self._sites)
        more = len(self._table) - known
        if more:
            self._sites.extend(repeat(UNKNOWN, more))
            self._networks.extend(repeat(UNKNOWN, more))
            names = map(self._table.name_of_host, range(known, known + more))
            self._is_address.extend(map(is_address, names))


def network_of(address: str) -> str | None:
    """The network of an address; None for what is no address, or is not public."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    if not is_public(found):
        return None
    return str(found) if isinstance(found, IPv4Address) else site(f"[{found}]")


# ================================================================ external cash
#
# External cash: what pages, hosts, sites and networks are given by others, and what that earns.
#
# Laws: an account may have a base of pages, and `PAGES_A_UNIT` more for each unit of cash that it
# is given from elsewhere. A host earns from other hosts, a site from other sites, and a network
# from other sites at other networks; so a farm that links to itself earns nothing, however many
# hosts and domains it has. Gifts are counted many at once, and before anything is read off them.
#
# account    of a host, a site or a network: the pages that it has used, and those it has earned
# gift       cash that a page hands on along a link
# strangers  hosts of different sites

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


# ================================================================ quotas

A_HOST = 10
"""Pages that a new host counts for: hosts are what a farm has most of, and each has to be looked up
and asked for its robots.txt."""
MOST_A_PAGE = 10
"""Pages that one counts for. All pages of a site that ends have led to one new page on average, and
most of them to none: manuals of 200 to 1,200 pages cost 1.05 to 1.3 times their pages."""
_PRICE = f"a page counting once for each new page that it led to, up to {MOST_A_PAGE}"


class Quotas:
    """The quotas of all hosts, sites and networks."""

    def __init__(self, limits: Traps, sites: SiteTable, host_of: array[int]) -> None:
        self._host_of = host_of
        self._seeds: set[int] = set()
        self._unlimited_sites: set[int] = set()
        self._accounts = Accounts(
            QuotaAccounts(limits.host_pages),
            QuotaAccounts(limits.site_pages),
            QuotaAccounts(limits.site_pages),
        )
        self.external_cash = ExternalCash(sites, host_of, self._accounts, self._seeds)
        self._site_index = self.external_cash.site_index

    def vouch(self, hosts: Iterable[int]) -> None:
        """The user named pages of these: their sites have no limit. Of hosts that are addresses
        only they themselves have none, not their networks.
        """
        for host in hosts:
            self._seeds.add(host)
            site = self._site_index.site(host)
            if self._site_index.has_name(host):
                self._unlimited_sites.add(site)

    def locate(self, host: int, address: str) -> None:
        """The host is at this address; what it had before counts for its network."""
        if self._site_index.locate(host, address) and not self._is_unlimited(host):
            pages = self._accounts.hosts.spent(host)
            self._accounts.networks.restore(self._site_index.network(host), pages)

    def restore(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """Earlier runs read so many pages of these hosts."""
        for host, pages in pages_by_host:
            if not self._is_unlimited(host):
                price = pages + self._price_of_host(host)
                self._accounts.sites.restore(self._site_index.site(host), price)
                self._accounts.hosts.restore(host, pages)

    def spend(self, host: int) -> None:
        """One more page is asked for."""
        if not self._is_unlimited(host):
            self._spend(host, 1, self._price_of_host(host))

    def spend_on_new(self, host: int, new: Sequence[int]) -> None:
        """A page of the host led to pages that were not known."""
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
        """The first page of a host costs its site more, but not its network: many sites share an
        address and are no farm.
        """
        return 0 if self._accounts.hosts.spent(host) else A_HOST

    # ------------------------------------------------------------ which hosts may have more

    def refusal(self, host: int) -> str | None:
        """Why the host may have no more pages for now, if so."""
        if self._full_account(host) is None:
            return None
        self.external_cash.count()
        full = self._full_account(host)
        return None if full is None else self._explain(host, *full)

    def _explain(self, host: int, accounts: QuotaAccounts, number: int) -> str:
        had = accounts.describe(number)
        if accounts is self._accounts.hosts:
            return f"its host {had}, {_PRICE}: --host-pages {accounts.base:,}"
        if accounts is self._accounts.sites:
            name = self._site_index.site_name(host)
            had = f"{had}, a host counting as {A_HOST} pages, {_PRICE}"
        else:
            name = f"what is at {self._site_index.network_name(number)}"
            had = f"{had}, {_PRICE}"
        return f"{name} {had}: --site-pages {accounts.base:,}"

    def with_room(self, pages: NDArray[np.int64]) -> list[int]:
        """Those of these pages that may be asked for by now, the first ones of each host."""
        self.external_cash.count()
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
        """The first account of the host that has no room."""
        if self._is_unlimited(host):
            return None
        for accounts, number in self._accounts_of(host):
            if accounts.room(number) <= 0:
                return accounts, number
        return None

    def _is_unlimited(self, host: int) -> bool:
        return host in self._seeds or self._site_index.site(host) in self._unlimited_sites

    def _accounts_of(self, host: int) -> Iterator[tuple[QuotaAccounts, int]]:
        """The accounts that a page of the host is charged to."""
        site = self._site_index.site(host)
        yield self._accounts.hosts, host
        yield self._accounts.sites, site
        if (network := self._site_index.network(host)) != UNKNOWN:
            yield self._accounts.networks, network

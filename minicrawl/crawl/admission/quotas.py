"""Quotas: limit the pages of a host, a site and a network, by the cash that they have earned.

An endless site makes up pages, and a link farm makes up as many hosts and domains as it wants.
Neither can make up cash from pages of others. So each host, each site and each network has an
account: a base of pages, and 5 more for each unit of cash that arrives from elsewhere.

Example with --site-pages 1000. All cash in it comes along links.

    shop.example has one host. Its first page costs its site 10 + 1, as soon as its robots.txt is
    requested: a new host counts as 10 pages.
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
by cash from elsewhere (see `inbound_cash`). A page that leads to new pages of its host counts once
for each, up to a limit: so a finite site costs little more than its pages, and an endless one soon
stops. The pages of a site that an earlier run read count as earned; the new pages that they led to
are not counted again.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.admission.inbound_cash import Accounts, InboundCash, QuotaAccounts
from minicrawl.frontier.url_table import UNKNOWN, SiteTable
from minicrawl.web.sites import is_address

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
        self._prepaid: set[int] = set()
        """Hosts that were asked, and have had no page yet; the first one is charged."""
        self._accounts = Accounts(*map(QuotaAccounts, (host_pages, site_pages, site_pages)))
        self.inbound_cash = InboundCash(sites, host_of, self._accounts, self._seeds)
        self._site_index = self.inbound_cash.site_index

    def vouch(self, hosts: Iterable[int]) -> None:
        """Lift the limits of the sites of these hosts, which have seeds.

        Of a host that is an address, only its own limit is lifted, not that of its network.
        """
        for host in hosts:
            self._seeds.add(host)
            site = self._site_index.site(host)
            if not is_address(self._site_index.table.name_of_host(host)):
                self._unlimited_sites.add(site)

    def locate(self, host: int, address: str) -> None:
        """Set the address of a host. Its former pages count for its network."""
        if self._site_index.locate(host, address) and not self._is_unlimited(host):
            network, prepaid = self._site_index.network(host), host in self._prepaid
            pages = self._accounts.hosts.spent(host) - prepaid
            self._accounts.networks.restore(network, pages)
            self._accounts.networks.spend(network, int(prepaid))

    def restore(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """Load the number of pages of these hosts that earlier runs read."""
        for host, pages in pages_by_host:
            if not self._is_unlimited(host):
                price = pages + self._price_of_host(host)
                self._accounts.sites.restore(self._site_index.site(host), price)
                self._accounts.hosts.restore(host, pages)

    def spend_on_host(self, host: int) -> None:
        """Charge a host that is asked for the first time, and its first page.

        Not when that page is requested: hundreds of hosts of a farm would be asked before.
        """
        if not self._is_unlimited(host) and not self._accounts.hosts.spent(host):
            self._spend(host, 1, A_HOST)
            self._prepaid.add(host)

    def spend(self, host: int) -> None:
        """Charge the request of a page to its host."""
        if host in self._prepaid:
            self._prepaid.remove(host)
        elif not self._is_unlimited(host):
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

    def refusal(self, host: int) -> str | None:
        """Return why the host may have no more pages for now, or None."""
        if host in self._prepaid or self._full_account(host) is None:
            return None
        # Uncounted gifts may have earned more pages. They are counted only where it matters.
        self.inbound_cash.count()
        full = self._full_account(host)
        if full is None:
            return None
        accounts, number = full
        had = accounts.describe(number)
        if accounts is self._accounts.hosts:
            return f"its host {had}, {_PRICE}: --site-pages {accounts.base:,}"
        if accounts is self._accounts.sites:
            name = self._site_index.table.name(host)
            had = f"{had}, a host counting as {A_HOST} pages, {_PRICE}"
        else:
            name = f"what is at {self._site_index.network_names[number]}"
            had = f"{had}, {_PRICE}"
        return f"{name} {had}: --site-pages {accounts.base:,}"

    def with_room(self, pages: NDArray[np.int64]) -> list[int]:
        """Return those of the pages that may be requested now, as long as each account has room."""
        self.inbound_cash.count()
        hosts, host_of_each = np.unique(
            np.frombuffer(self._host_of, dtype=np.uint32)[pages], return_inverse=True
        )
        have_room = np.array([self._full_account(host) is None for host in hosts.tolist()], bool)
        taken, chosen = Counter[tuple[int, int]](), []
        for page in pages[have_room[host_of_each]].tolist():
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
        site = self._site_index.site(host)
        yield self._accounts.hosts, host
        yield self._accounts.sites, site
        if (network := self._site_index.network(host)) != UNKNOWN:
            yield self._accounts.networks, network

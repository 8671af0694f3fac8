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
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.config import Traps
from minicrawl.crawl.traps.external_cash import Accounts, ExternalCash, QuotaAccounts
from minicrawl.frontier.sites import UNKNOWN, SiteTable

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

"""How many pages a host, a site and an address may have, by the importance that they have earned.

Laws: whoever the user vouches for, by a seed, has no limit. All others begin with the same number
of pages, and each unit of cash that comes from elsewhere gives them more: to a host from other
hosts, to a site from other sites, to an address from other sites at other addresses. So a farm that
links to itself stays where it began, however many hosts and domains it has. A page that leads to
new ones of its host counts as those, up to a limit: to read a site that ends costs little more than
its pages, what leads on and on soon ends. What an earlier run read of a site counts as earned; what
its pages led to is forgotten.

site     a registrable domain, or a network of addresses
address  where hosts are, as far as that is known and public: an IPv4 address, an IPv6 /64
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, ip_address
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.config import Traps
from minicrawl.crawl.traps.quota_accounts import Gifts, QuotaAccounts, Received, add
from minicrawl.fetch.where.addresses import is_public
from minicrawl.opic.ledger import Plan
from minicrawl.slots import Slots
from minicrawl.web.sites import is_address, site
from minicrawl.web.urls import host as host_of_url

A_HOST = 10
"""Pages that a new host counts for: hosts are what a farm has most of, and each has to be looked up
and asked for its robots.txt."""
MOST_A_PAGE = 10
"""Pages that one counts for. All pages of a site that ends have led to one new page on average, and
most of them to none: manuals of 200 to 1,200 pages cost 1.05 to 1.3 times their pages."""
MARGIN = 1.25
"""Who came out as the lesser of two must be given so much more: equals do not take turns."""
_PRICE = f"each as many as it led to, up to {MOST_A_PAGE}"
_AT_ONCE = 1 << 14
_CODE = (1 << 64) - 1
_UNKNOWN = (1 << 32) - 1


class Quotas:
    """Those of all hosts, sites and addresses."""

    def __init__(self, limits: Traps, origins: Sequence[str], host_of: array[int]) -> None:
        self._origins, self._host_of = origins, host_of
        self._hosts, self._sites = (
            QuotaAccounts(limits.host_pages),
            QuotaAccounts(limits.site_pages),
        )
        self._addresses = QuotaAccounts(limits.site_pages)
        self._site_of, self._address_of = array("I"), array("I")
        self._is_address = array("B")
        self._site_ids = Slots()
        self._address_ids: dict[str, int] = {}
        self._networks: list[str] = []
        self._seeds: set[int] = set()
        self._vouched: set[int] = set()
        self._gifts, self._received = Gifts(), Received()
        self._from_strangers = array("q")

    def vouch(self, hosts: Iterable[int]) -> None:
        """The user named pages of these: their sites are fine, of an address that one alone."""
        for host in hosts:
            self._seeds.add(host)
            number = self._site(host)
            if not is_address(self._name(host)):
                self._vouched.add(number)

    def located(self, host: int, address: str) -> None:
        """Where the host is."""
        name = network_of(address)
        if name is None:
            return
        self._site(host)
        if name not in self._address_ids:
            self._address_ids[name] = self._addresses.grow()
            self._networks.append(name)
        number, before = self._address_ids[name], self._address_of[host]
        self._address_of[host] = number
        if before == _UNKNOWN and not self._is_vouched(host):
            self._addresses.restore(number, self._hosts.spent[host])

    def restore(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """What earlier runs read."""
        for host, pages in pages_by_host:
            number = self._site(host)
            if not self._is_vouched(host):
                self._sites.restore(number, pages + self._price_of_host(host))
                self._hosts.restore(host, pages)

    def spend(self, host: int) -> None:
        """One more page is asked for."""
        if not self._is_vouched(host):
            self._sites.spent[self._site(host)] += self._price_of_host(host)
            self._spend(host, 1)

    def led_to(self, host: int, new: Sequence[int]) -> None:
        """A page of the host led to pages that nobody knew."""
        own = [self._host_of[page] for page in new].count(host)
        if own > 1 and not self._is_vouched(host):
            self._spend(host, min(own, MOST_A_PAGE) - 1)

    def _spend(self, host: int, pages: int) -> None:
        for purses, number in self._purses(host):
            purses.spent[number] += pages

    def _price_of_host(self, host: int) -> int:
        """The first page of a host costs its site more; many who share an address are no farm."""
        return 0 if self._hosts.spent[host] else A_HOST

    # ------------------------------------------------------------ what others give

    def earn(self, host: int, plans: Iterable[Plan]) -> None:
        """Pages of the host handed on their cash."""
        for plan in plans:
            self._gifts.add(host, plan.links, plan.share)
            for link, atoms in plan.extras:
                self._gifts.add(host, (link,), atoms)
        if len(self._gifts) >= _AT_ONCE:
            self._count_gifts()

    def recall(
        self, links: NDArray[np.int64], givers: NDArray[np.uint32], atoms: NDArray[np.int64]
    ) -> None:
        """What hosts gave along links in earlier runs: who may have more was settled by these."""
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        strange = self._sites_of(hosts) != self._sites_of(givers)
        self._note_strangers(hosts[strange], links[strange], atoms[strange])

    def _note_strangers(
        self, hosts: NDArray[np.uint32], links: NDArray[np.integer], atoms: NDArray[np.int64]
    ) -> None:
        add(self._from_strangers, hosts, atoms)
        self._received.add(links, atoms)

    def _count_gifts(self) -> None:
        """Only those that leave their host, their site, or site and address."""
        links, givers, atoms = self._gifts.take()
        if not len(links):
            return
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        away = hosts != givers
        self._grow()
        add(self._hosts.earned, hosts[away], atoms[away])
        strange = self._are_strange(hosts, givers)
        sites = np.frombuffer(self._site_of, dtype=np.uint32)[hosts]
        counted = strange & (sites != _UNKNOWN)
        add(self._sites.earned, sites[counted], atoms[counted])
        self._note_strangers(hosts[strange], links[strange], atoms[strange])
        address_of = np.frombuffer(self._address_of, dtype=np.uint32)
        places = address_of[hosts]
        far = strange & (places != _UNKNOWN) & (places != address_of[givers])
        add(self._addresses.earned, places[far], atoms[far])

    def _are_strange(
        self, hosts: NDArray[np.uint32], givers: NDArray[np.uint32]
    ) -> NDArray[np.bool_]:
        """Whether they are of different sites: no list is needed to tell addresses from names."""
        is_address = np.frombuffer(self._is_address, dtype=np.uint8)
        strange: NDArray[np.bool_] = is_address[hosts] != is_address[givers]
        alike = ~strange
        if alike.any():
            strange[alike] = self._sites_of(hosts[alike]) != self._sites_of(givers[alike])
        return strange

    def _sites_of(self, hosts: NDArray[np.uint32]) -> NDArray[np.uint32]:
        self._grow()
        found = np.frombuffer(self._site_of, dtype=np.uint32)[hosts]
        unknown = np.unique(hosts[found == _UNKNOWN])
        if not len(unknown):
            return found
        for host in unknown.tolist():
            self._site(host)
        return np.frombuffer(self._site_of, dtype=np.uint32)[hosts]

    def are_strangers(self, host: int, other: int) -> bool:
        """Whether they are of different sites."""
        return host != other and self._site(host) != self._site(other)

    def from_strangers(
        self, pages: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What other sites gave to these pages, and to their hosts."""
        self._count_gifts()
        self._grow()
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[pages]
        to_hosts = np.frombuffer(self._from_strangers, dtype=np.int64)[hosts]
        return self._received.of(pages), to_hosts

    def outranks(self, host: int, other: int) -> bool:
        """Whether the host has earned more than the other, of another site from other sites."""
        self._count_gifts()
        if self._site(host) != self._site(other):
            return self._rank_of_stranger(host) > self._rank_of_stranger(other)
        return self._rank(host) > self._rank(other)

    def overtakes(self, host: int, other: int) -> bool:
        """Whether a host of another site, that came out as the lesser one, is so no more."""
        if host in self._seeds or other in self._seeds:
            return other not in self._seeds
        self._count_gifts()
        return self._from_strangers[host] > MARGIN * self._from_strangers[other]

    def _rank(self, host: int) -> tuple[int, int]:
        """Whoever was known first counts more where nothing else tells."""
        return self._hosts.earned[host], -host

    def _rank_of_stranger(self, host: int) -> tuple[bool, int, int]:
        return host in self._seeds, self._from_strangers[host], -host

    # ------------------------------------------------------------ who may have more

    def refusal(self, host: int) -> str | None:
        """Why it may have no more pages for now."""
        if not self._has_no_room(host):
            return None
        self._count_gifts()
        if (full := self._has_no_room(host)) is None:
            return None
        purses, number = full
        told = purses.told(number)
        if purses is self._hosts:
            return f"its host {told}, {_PRICE}: --host-pages {purses.base:,}"
        if purses is self._sites:
            name = site(self._name(host))
            told = f"{told}, a host counting as {A_HOST} and {_PRICE}"
        else:
            name = f"what is at {self._networks[number]}"
            told = f"{told}, {_PRICE}"
        return f"{name} {told}: --site-pages {purses.base:,}"

    def _has_no_room(self, host: int) -> tuple[QuotaAccounts, int] | None:
        """The purse that is empty."""
        if self._is_vouched(host):
            return None
        purses = self._purses(host)
        return next((one for one in purses if one[0].room(one[1]) <= 0), None)

    def with_room(self, pages: NDArray[np.int64]) -> list[int]:
        """Those of these pages that may be asked for after all, of each host the first ones."""
        self._count_gifts()
        hosts, host_of_each = np.unique(
            np.frombuffer(self._host_of, dtype=np.uint32)[pages], return_inverse=True
        )
        have_room = np.array([self._has_no_room(host) is None for host in hosts.tolist()], bool)
        return self._as_far_as_it_goes(pages[have_room[host_of_each]].tolist())

    def _as_far_as_it_goes(self, pages: Iterable[int]) -> list[int]:
        taken = Counter[tuple[int, int]]()
        chosen = []
        for page in pages:
            host = self._host_of[page]
            purses = [] if self._is_vouched(host) else list(self._purses(host))
            keys = [(id(of), number) for of, number in purses]
            if all(taken[key] < of.room(key[1]) for key, (of, _) in zip(keys, purses, strict=True)):
                taken.update(keys)
                chosen.append(page)
        return chosen

    def _is_vouched(self, host: int) -> bool:
        return host in self._seeds or self._site(host) in self._vouched

    def _purses(self, host: int) -> Iterator[tuple[QuotaAccounts, int]]:
        """Whose pages a page of the host is."""
        number = self._site(host)
        yield self._hosts, host
        yield self._sites, number
        if (address := self._address_of[host]) != _UNKNOWN:
            yield self._addresses, address

    # ------------------------------------------------------------ sites by their numbers

    def _site(self, host: int) -> int:
        """Its number; the site of a host that nobody asks about costs nothing."""
        if host >= len(self._site_of):
            self._grow()
        number = self._site_of[host]
        if number == _UNKNOWN:
            name = site(self._name(host))
            number = self._site_of[host] = self._number(hash(name) & _CODE)
            self._sites.earned[number] += self._from_strangers[host]
        return number

    def _name(self, host: int) -> str:
        return host_of_url(f"{self._origins[host]}/")

    def _grow(self) -> None:
        """As many hosts as are known by now."""
        known = len(self._site_of)
        more = len(self._origins) - known
        if not more:
            return
        self._site_of.extend(repeat(_UNKNOWN, more))
        self._address_of.extend(repeat(_UNKNOWN, more))
        self._from_strangers.extend(repeat(0, more))
        self._hosts.grow(more)
        self._is_address.extend(is_address(self._name(host)) for host in range(known, known + more))

    def _number(self, code: int) -> int:
        """Two sites whose hashes look alike share what they may have."""
        for found in self._site_ids.matches(code):
            return found
        number = self._sites.grow()
        self._site_ids.put(code, number)
        return number


def network_of(address: str) -> str | None:
    """What counts as one address; None for what is none, or not public: those belong to nobody."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    if not is_public(found):
        return None
    return str(found) if isinstance(found, IPv4Address) else site(f"[{found}]")

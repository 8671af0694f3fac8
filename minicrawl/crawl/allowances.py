"""How many pages a host and a site may have, by the importance that they have earned.

Laws: whoever the user vouches for, by a seed, has no limit. All others begin with the same number
of pages, and each unit of cash that comes from elsewhere gives them more: to a host from other
hosts, to a site from other sites. So a farm that links to itself stays where it began, however
many hosts it has. A page that leads to new ones of its host counts as those, up to a limit: to read
a site that ends costs little more than its pages, what leads on and on soon ends. What an earlier
run read of a site counts as earned; what its pages led to is forgotten.

site    a registrable domain
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.config import Traps
from minicrawl.opic.money import UNIT
from minicrawl.opic.steps import Plan
from minicrawl.slots import Slots
from minicrawl.web.sites import site
from minicrawl.web.urls import host as host_of_url

A_HOST = 10
"""Pages that a new host counts for: hosts are what a farm has most of, and each has to be looked up
and asked for its robots.txt."""
MOST_A_PAGE = 10
"""Pages that one counts for. All pages of a site that ends have led to one new page on average, and
most of them to none: manuals of 200 to 1,200 pages cost 1.05 to 1.3 times their pages."""
PAGES_A_UNIT = 5
"""A healthy site gets a fifth of its cash or more from others, and should not notice its limit."""
_PRICE = f"each as many as it led to, up to {MOST_A_PAGE}"
_ATOMS_A_PAGE = UNIT // PAGES_A_UNIT
_NO_LIMIT = 1 << 31
_AT_ONCE = 1 << 14
_CODE = (1 << 64) - 1
_UNKNOWN = (1 << 32) - 1


class Purses:
    """What each of many has had: pages, and atoms of cash that came from elsewhere."""

    def __init__(self, limit: int | None) -> None:
        self.base = _NO_LIMIT if limit is None else limit
        self.spent, self.earned = array("I"), array("q")

    def grow(self, more: int = 1) -> int:
        """So many more; answers with the number of the first one."""
        first = len(self.spent)
        self.spent.extend(repeat(0, more))
        self.earned.extend(repeat(0, more))
        return first

    def room(self, number: int) -> int:
        """How many more pages it may have."""
        return self.base + self.earned[number] // _ATOMS_A_PAGE - self.spent[number]

    def take_up(self, number: int, pages: int) -> None:
        """An earlier run read so many: what it was allowed then has been earned."""
        self.spent[number] += pages
        over = self.spent[number] - self.base
        self.earned[number] = max(self.earned[number], over * _ATOMS_A_PAGE)

    def told(self, number: int) -> str:
        """In words."""
        earned = self.earned[number] // _ATOMS_A_PAGE
        return f"has had {self.spent[number]:,} pages, {earned:,} of them for what others gave it"


class _Gifts:
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

    def take(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
        """For each link where it leads, who gave and how much; they are gone then."""
        lengths = np.array(self._lengths)
        links = np.array(self._links)
        givers = np.repeat(np.array(self._givers), lengths)
        shares = np.repeat(np.array(self._shares), lengths)
        self._begin()
        return links, givers, shares


def _add(sums: array[int], places: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
    np.add.at(np.frombuffer(sums, dtype=np.int64), places, atoms)


class Allowances:
    """Those of all hosts and sites."""

    def __init__(self, limits: Traps, origins: Sequence[str], host_of: array[int]) -> None:
        self._origins, self._host_of = origins, host_of
        self._hosts, self._sites = Purses(limits.host_pages), Purses(limits.site_pages)
        self._site_of = array("I")
        self._site_ids = Slots()
        self._vouched: set[int] = set()
        self._gifts = _Gifts()
        self._is_off = limits.host_pages is None and limits.site_pages is None

    def vouch(self, hosts: Iterable[int]) -> None:
        """The user named pages of these."""
        self._vouched.update(map(self._site, hosts))

    def take_up(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """What earlier runs read."""
        for host, pages in pages_by_host:
            number = self._site(host)
            self._sites.take_up(number, pages + self._price_of_host(host))
            self._hosts.take_up(host, pages)

    def spend(self, host: int) -> None:
        """One more page is asked for."""
        number = self._site(host)
        self._sites.spent[number] += 1 + self._price_of_host(host)
        self._hosts.spent[host] += 1

    def led_to(self, host: int, new: Sequence[int]) -> None:
        """A page of the host led to pages that nobody knew."""
        own = [self._host_of[page] for page in new].count(host)
        if own > 1:
            number, more = self._site(host), min(own, MOST_A_PAGE) - 1
            self._sites.spent[number] += more
            self._hosts.spent[host] += more

    def _price_of_host(self, host: int) -> int:
        """The first page of a host costs its site more."""
        return 0 if self._hosts.spent[host] else A_HOST

    def earn(self, host: int, plans: Iterable[Plan]) -> None:
        """Pages of the host handed on their cash."""
        if self._is_off:
            return
        for plan in plans:
            self._gifts.add(host, plan.links, plan.share)
            for link, atoms in plan.extras:
                self._gifts.add(host, (link,), atoms)
        if len(self._gifts) >= _AT_ONCE:
            self._count_gifts()

    def _count_gifts(self) -> None:
        """Only those that leave their host, or their site."""
        links, givers, atoms = self._gifts.take()
        if not len(links):
            return
        hosts = np.frombuffer(self._host_of, dtype=np.uint32)[links]
        away = hosts != givers
        sites, own = self._sites_of(hosts), self._sites_of(givers)
        _add(self._hosts.earned, hosts[away], atoms[away])
        _add(self._sites.earned, sites[sites != own], atoms[sites != own])

    def _sites_of(self, hosts: NDArray[np.uint32]) -> NDArray[np.uint32]:
        self._site(int(hosts.max()))
        found = np.frombuffer(self._site_of, dtype=np.uint32)[hosts]
        unknown = np.unique(hosts[found == _UNKNOWN])
        if not len(unknown):
            return found
        for host in unknown.tolist():
            self._site(host)
        return np.frombuffer(self._site_of, dtype=np.uint32)[hosts]

    def outranks(self, host: int, other: int) -> bool:
        """Whether the host has earned more than the other."""
        self._count_gifts()
        return self._rank(host) > self._rank(other)

    def _rank(self, host: int) -> tuple[bool, int, int]:
        """Whoever was known first counts more where nothing else tells."""
        is_vouched = self._site(host) in self._vouched
        return is_vouched, self._hosts.earned[host], -host

    def refusal(self, host: int) -> str | None:
        """Why it may have no more pages for now."""
        number = self._site(host)
        of_host, of_site = self._rooms(host)
        if of_host <= 0 or of_site <= 0:
            self._count_gifts()
            of_host, of_site = self._rooms(host)
        if of_host <= 0:
            return f"its host {self._hosts.told(host)}, {_PRICE}: --host-pages {self._hosts.base:,}"
        if of_site <= 0:
            name = site(host_of_url(f"{self._origins[host]}/"))
            told = f"{self._sites.told(number)}, a host counting as {A_HOST} and {_PRICE}"
            return f"{name} {told}: --site-pages {self._sites.base:,}"
        return None

    def with_room(self, pages: NDArray[np.int64]) -> list[int]:
        """Those of these pages that may be asked for after all, of each host the first ones."""
        self._count_gifts()
        hosts, host_of_each = np.unique(
            np.frombuffer(self._host_of, dtype=np.uint32)[pages], return_inverse=True
        )
        have_room = np.array([self.refusal(host) is None for host in hosts.tolist()], dtype=bool)
        return self._as_far_as_it_goes(pages[have_room[host_of_each]].tolist())

    def _as_far_as_it_goes(self, pages: Iterable[int]) -> list[int]:
        hosts, sites = Counter[int](), Counter[int]()
        chosen = []
        for page in pages:
            host = self._host_of[page]
            number = self._site(host)
            of_host, of_site = self._rooms(host)
            if hosts[host] < of_host and sites[number] < of_site:
                hosts[host] += 1
                sites[number] += 1
                chosen.append(page)
        return chosen

    def _rooms(self, host: int) -> tuple[int, int]:
        """How many more pages the host and its site may have."""
        number = self._site(host)
        if number in self._vouched:
            return _NO_LIMIT, _NO_LIMIT
        return self._hosts.room(host), self._sites.room(number)

    def _site(self, host: int) -> int:
        """Its number; the site of a host that nobody asks about costs nothing."""
        if host >= len(self._site_of):
            self._grow()
        number = self._site_of[host]
        if number == _UNKNOWN:
            name = site(host_of_url(f"{self._origins[host]}/"))
            number = self._site_of[host] = self._number(hash(name) & _CODE)
        return number

    def _grow(self) -> None:
        """As many hosts as are known by now."""
        more = len(self._origins) - len(self._site_of)
        self._site_of.extend(repeat(_UNKNOWN, more))
        self._hosts.grow(more)

    def _number(self, code: int) -> int:
        """Two sites whose hashes look alike share what they may have."""
        for found in self._site_ids.matches(code):
            return found
        number = self._sites.grow()
        self._site_ids.put(code, number)
        return number

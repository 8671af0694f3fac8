"""Which site each host is of, and which network it is at.

Law: a site costs nothing until it is asked for.

network    where a host is, if that is known and public: an IPv4 address or an IPv6 /64
strangers  hosts of different sites
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.fetch.where.targets import is_public
from minicrawl.frontier.sites import UNKNOWN, Hosts, SiteTable
from minicrawl.web.sites import is_address, site


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

"""Site and network of each host.

Law: a site costs nothing until it is looked up.

network    address of a host, if known and public: an IPv4 address or an IPv6 /64
strangers  hosts of different sites
"""

from array import array
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.fetch.resolver.addresses import is_public
from minicrawl.frontier.url_table import UNKNOWN, Hosts, SiteTable
from minicrawl.web.sites import is_address, site


class SiteIndex:
    """Sites and networks of all hosts, as numbers."""

    def __init__(self, table: SiteTable, on_site: Callable[[int, int], None]) -> None:
        """Set up; `on_site` is called with a host and its site at the first look-up of the site."""
        self.table, self._on_site = table, on_site
        self._sites, self._networks = array("I"), array("I")
        self._is_address = array("B")
        self._network_ids: dict[str, int] = {}
        self.network_names: list[str] = []
        """Address of each network."""

    def site(self, host: int) -> int:
        """Return the number of the host's site."""
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

    def differ(self, hosts: Hosts, others: Hosts) -> NDArray[np.bool_]:
        """Return whether the hosts of each pair are strangers, as a name and an address are."""
        self.grow()
        is_address = np.frombuffer(self._is_address, dtype=np.uint8)
        differ: NDArray[np.bool_] = is_address[hosts] != is_address[others]
        alike = ~differ
        if alike.any():
            differ[alike] = self.sites(hosts[alike]) != self.sites(others[alike])
        return differ

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

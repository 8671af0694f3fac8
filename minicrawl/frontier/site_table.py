"""Sites of hosts, as numbers.

Laws: a site costs nothing until it is asked for. Two sites whose names have the same hash count
as one, except in `sites_of`.

site    a registrable domain; for a host without a name, the network of its address
"""

from array import array
from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.compact_map import CompactHashMap
from minicrawl.web.sites import site
from minicrawl.web.urls import host as host_of_url

_CODE = (1 << 64) - 1
UNKNOWN = (1 << 32) - 1
"""Marks a host whose site was not asked for yet."""

Hosts = NDArray[np.uint32]


def sites_of(names: Sequence[str], host_of: Hosts) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names of all sites of these hosts, and for each page the index of its site."""
    numbers: dict[str, int] = {}
    of_host = [numbers.setdefault(site(name), len(numbers)) for name in names]
    return list(numbers), np.array(of_host, dtype=np.int32)[host_of]


class SiteTable:
    """Map from host to the number of its site, computed on demand."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = origins
        self._sites, self._ids, self._count = array("I"), CompactHashMap(), 0

    def __len__(self) -> int:
        """Return the number of hosts."""
        return len(self._origins)

    def site(self, host: int) -> int:
        """Return the number of the host's site."""
        if host >= len(self._sites):
            self._sites.extend(repeat(UNKNOWN, len(self._origins) - len(self._sites)))
        number = self._sites[host]
        if number == UNKNOWN:
            code = hash(self.name(host)) & _CODE
            number = next(iter(self._ids.matches(code)), self._count)
            if number == self._count:
                self._count += 1
                self._ids.put(code, number)
            self._sites[host] = number
        return number

    def name(self, host: int) -> str:
        """Return the name of the host's site."""
        return site(self.name_of_host(host))

    def name_of_host(self, host: int) -> str:
        """Return the name of the host, or its address."""
        return host_of_url(f"{self._origins[host]}/")

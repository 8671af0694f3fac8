"""The sites of hosts, by numbers.

Laws: a site costs nothing until it is asked for. Two sites whose names have the same hash count as
one, but not where all pages are asked for together.

site    a registrable domain; of a host that has no name the network of its address
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.slots import Slots
from minicrawl.web.sites import site
from minicrawl.web.urls import host as host_of_url

UNKNOWN = (1 << 32) - 1
"""The number of a site that nobody has asked for."""
_CODE = (1 << 64) - 1

Hosts = NDArray[np.uint32]


def sites_of(names: Sequence[str], host_of: Hosts) -> tuple[list[str], NDArray[np.int32]]:
    """The names of the sites of hosts with these names, and the number of each page's site."""
    numbers: dict[str, int] = {}
    of_host = [numbers.setdefault(site(name), len(numbers)) for name in names]
    return list(numbers), np.array(of_host, dtype=np.int32)[host_of]


class SiteTable:
    """The site of each host, as soon as somebody asks for it."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = origins
        self._sites, self._ids, self._count = array("I"), Slots(), 0

    def __len__(self) -> int:
        """How many hosts there are."""
        return len(self._origins)

    def site(self, host: int) -> int:
        """The number of its site."""
        if host >= len(self._sites):
            self._grow()
        number = self._sites[host]
        if number == UNKNOWN:
            number = self._sites[host] = self._number_of(hash(self.name(host)) & _CODE)
        return number

    def name(self, host: int) -> str:
        """The name of its site."""
        return site(self.name_of_host(host))

    def name_of_host(self, host: int) -> str:
        """The name of a host, or its address."""
        return host_of_url(f"{self._origins[host]}/")

    def _grow(self) -> None:
        self._sites.extend(repeat(UNKNOWN, len(self._origins) - len(self._sites)))

    def _number_of(self, code: int) -> int:
        for number in self._ids.matches(code):
            return number
        number, self._count = self._count, self._count + 1
        self._ids.put(code, number)
        return number

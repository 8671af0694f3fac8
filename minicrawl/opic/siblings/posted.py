"""Gifts that were posted and are not counted yet, in the order in which they were posted.

Law: when they are counted changes nothing of what they come to. So those of many plans are counted
at a time, by a few operations on arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT

Hosts = NDArray[np.uint32]


class Gifts(NamedTuple):
    """What pages gave to pages of other hosts, in units: hosts that took it, and that gave it."""

    takers: Hosts
    givers: Hosts
    units: NDArray[np.float64]


class PostedGifts:
    """The links of plans that are not counted yet."""

    __slots__ = ("_extras", "_givers", "_links", "_shares", "_sizes")

    def __init__(self) -> None:
        self._givers, self._sizes, self._shares = array("I"), array("I"), array("d")
        """Of each plan; a sum of atoms is rounded to 53 bits, as all that comes of it is."""
        self._links = array("I")
        self._extras: list[tuple[int, Sequence[tuple[int, int]]]] = []
        """Links that get sums of their own, and the place of the first of them."""

    def __len__(self) -> int:
        """How many plans it has."""
        return len(self._givers)

    def post(self, plan: Plan) -> None:
        """A page spent."""
        self._givers.append(plan.page)
        self._sizes.append(len(plan.links) + len(plan.extras))
        self._shares.append(plan.share)
        self._links.extend(plan.links)
        if plan.extras:
            self._extras.append((len(self._links), plan.extras))
            self._links.extend([link for link, _ in plan.extras])

    def between_hosts(self, host_of: Hosts) -> Gifts:
        """All gifts to pages of other hosts."""
        sizes = np.frombuffer(self._sizes, dtype=np.uint32)
        givers = host_of[np.frombuffer(self._givers, dtype=np.uint32)].repeat(sizes)
        takers = host_of[np.frombuffer(self._links, dtype=np.uint32)]
        atoms = np.frombuffer(self._shares).repeat(sizes)
        for place, extras in self._extras:
            atoms[place : place + len(extras)] = [atoms for _, atoms in extras]
        (away,) = (takers != givers).nonzero()
        return Gifts(takers[away], givers[away], atoms[away] / UNIT)

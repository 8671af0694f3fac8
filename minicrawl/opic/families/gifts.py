"""Gifts between hosts that were posted but not yet counted, in the order of posting.

The result does not depend on when gifts are counted, so those of many plans are counted together
by a few array operations.
"""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT

Hosts = NDArray[np.uint32]


class PostedGifts:
    """The links of plans whose gifts are not yet counted."""

    def __init__(self) -> None:
        self._givers, self._sizes, self._shares = array("I"), array("I"), array("d")
        """Columns with a row for each plan. Shares are floats, as their sums will be."""
        self._links = array("I")
        self._extras: list[tuple[int, Sequence[tuple[int, int]]]] = []
        """Links with individual amounts: for each plan that has any, the index of the first one."""

    def __len__(self) -> int:
        """Return the number of plans."""
        return len(self._givers)

    def post(self, plan: Plan) -> None:
        self._givers.append(plan.page)
        self._sizes.append(len(plan.links) + len(plan.extras))
        self._shares.append(plan.share)
        self._links.extend(plan.links)
        if plan.extras:
            self._extras.append((len(self._links), plan.extras))
            self._links.extend([link for link, _ in plan.extras])

    def between_hosts(self, host_of: Hosts) -> tuple[Hosts, Hosts, NDArray[np.float64]]:
        """Return the gifts to pages of other hosts: takers, givers, and units of cash."""
        sizes = np.frombuffer(self._sizes, dtype=np.uint32)
        givers = host_of[np.frombuffer(self._givers, dtype=np.uint32)].repeat(sizes)
        takers = host_of[np.frombuffer(self._links, dtype=np.uint32)]
        atoms = np.frombuffer(self._shares).repeat(sizes)
        for place, extras in self._extras:
            atoms[place : place + len(extras)] = [atoms for _, atoms in extras]
        (away,) = (takers != givers).nonzero()
        return takers[away], givers[away], atoms[away] / UNIT

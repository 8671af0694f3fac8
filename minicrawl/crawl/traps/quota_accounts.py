"""What hosts, sites and addresses have had and earned, and the cash on its way to them.

purse   pages that one of them has had, and atoms of cash that came from elsewhere
gift    cash that a page hands on along a link
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.money import UNIT

PAGES_A_UNIT = 5
"""A healthy site gets a fifth of its cash or more from others, and should not notice its limit."""
NO_LIMIT = 1 << 31
_ATOMS_A_PAGE = UNIT // PAGES_A_UNIT
_PLACES_BITS = 20


class QuotaAccounts:
    """Those of many."""

    def __init__(self, limit: int | None) -> None:
        self.base = NO_LIMIT if limit is None else limit
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

    def restore(self, number: int, pages: int) -> None:
        """An earlier run read so many: what it was allowed then has been earned."""
        self.spent[number] += pages
        over = self.spent[number] - self.base
        self.earned[number] = max(self.earned[number], over * _ATOMS_A_PAGE)

    def told(self, number: int) -> str:
        """In words."""
        earned = self.earned[number] // _ATOMS_A_PAGE
        return f"has had {self.spent[number]:,} pages, {earned:,} of them for what others gave it"


class Gifts:
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


class Received:
    """What each page was given, in a table of a fixed size: those that share a place count alike,
    each for all of them.
    """

    def __init__(self, bits: int = _PLACES_BITS) -> None:
        self._mask = (1 << bits) - 1
        self._atoms = np.zeros(1 << bits, dtype=np.int64)

    def add(self, pages: NDArray[np.integer], atoms: NDArray[np.int64]) -> None:
        """So much more for each of these."""
        np.add.at(self._atoms, pages & self._mask, atoms)

    def of(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """What these were given."""
        found: NDArray[np.int64] = self._atoms[pages & self._mask]
        return found


def add(sums: array[int], places: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
    """Add the atoms up, each in its place."""
    np.add.at(np.frombuffer(sums, dtype=np.int64), places, atoms)

"""Accounts: how many pages hosts, sites and networks have used, and how many they have earned.

Law: each may have a base of pages, and `PAGES_A_UNIT` more for each unit of cash that it is given
from elsewhere.
"""

from __future__ import annotations

from array import array
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.money import UNIT

PAGES_A_UNIT = 5
"""A healthy site gets a fifth of its cash or more from others, and should not notice its limit."""
NO_LIMIT = 1 << 31
_ATOMS_A_PAGE = UNIT // PAGES_A_UNIT


class QuotaAccounts:
    """The accounts of all hosts, of all sites or of all networks, by their numbers."""

    def __init__(self, limit: int | None) -> None:
        self.base = NO_LIMIT if limit is None else limit
        self._spent, self._earned = array("I"), array("q")

    def room(self, number: int) -> int:
        """How many more pages it may have."""
        if number >= len(self._spent):
            return self.base
        return self.base + self._earned[number] // _ATOMS_A_PAGE - self._spent[number]

    def spent(self, number: int) -> int:
        """How many pages it has had."""
        return self._spent[number] if number < len(self._spent) else 0

    def earned(self, number: int) -> int:
        """The cash that it was given from elsewhere."""
        return self._earned[number] if number < len(self._earned) else 0

    def spend(self, number: int, pages: int) -> None:
        """It has had so many more pages."""
        if number >= len(self._spent):
            self._grow(number)
        self._spent[number] += pages

    def earn(self, number: int, atoms: int) -> None:
        """It was given so much from elsewhere."""
        if number >= len(self._spent):
            self._grow(number)
        self._earned[number] += atoms

    def earn_many(self, numbers: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
        """Each of these was given so much; a number may be there several times."""
        if len(numbers):
            self._grow(int(numbers.max()))
            add(self._earned, numbers, atoms)

    def restore(self, number: int, pages: int) -> None:
        """An earlier run read so many: what it was allowed then has been earned."""
        self.spend(number, pages)
        over = self._spent[number] - self.base
        self._earned[number] = max(self._earned[number], over * _ATOMS_A_PAGE)

    def describe(self, number: int) -> str:
        """Words for what it has had."""
        earned = self.earned(number) // _ATOMS_A_PAGE
        had = f"has had {self.spent(number):,} pages"
        return f"{had}, {earned:,} of them earned by links from elsewhere"

    def _grow(self, number: int) -> None:
        """Have accounts up to this number."""
        more = number + 1 - len(self._spent)
        if more > 0:
            self._spent.extend(repeat(0, more))
            self._earned.extend(repeat(0, more))


class Accounts(NamedTuple):
    """The accounts of all three."""

    hosts: QuotaAccounts
    sites: QuotaAccounts
    networks: QuotaAccounts


def add(sums: array[int], places: NDArray[np.uint32], atoms: NDArray[np.int64]) -> None:
    """Add the atoms up, each in its place."""
    np.add.at(np.frombuffer(sums, dtype=np.int64), places, atoms)

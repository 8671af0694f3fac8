"""The orders in which pages are read: each gives every page a key, and the largest comes first.

An order is an array of keys, and what to do when pages become known. `ByHost` does the rest, so
that hosts are asked politely whatever the order is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from random import Random
from typing import Protocol

from minicrawl.opic.ledger import Ledger


class PageOrder(Protocol):
    """The keys of all pages; `grow` gives them to new ones."""

    keys: array[int]

    def grow(self, pages: range) -> None:
        """These pages became known."""


class ByCash:
    """Greedy: the page that got most cash from links comes first. The keys are the ledger's."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = ledger.key

    def grow(self, pages: range) -> None:
        """The ledger has them already."""


class ByAge:
    """The page found first comes first: breadth-first."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = array("q")

    def grow(self, pages: range) -> None:
        self.keys.extend(-page for page in pages)


class ByLot:
    """Any page, with equal chance. The draws are the same in every run."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = array("q")
        self._rng = Random(0)

    def grow(self, pages: range) -> None:
        self.keys.extend(self._rng.getrandbits(62) for _ in pages)


ORDERS: dict[str, Callable[[Ledger], PageOrder]] = {
    "greedy": ByCash,
    "random": ByLot,
    "breadth-first": ByAge,
}

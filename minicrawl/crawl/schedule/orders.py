"""Orders of reading among the pages that wait: each gives every page a key, the largest first.

A strategy is an array of keys and what to do when pages are born; `ByHost` does the rest, so that
all of them ask hosts politely in the same way.
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
        """These pages are born."""


class ByCash:
    """Greedy: the page that links gave most comes first. The ledger's own keys."""

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
    """Any page, with equal chance; the lots are the same in every run."""

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

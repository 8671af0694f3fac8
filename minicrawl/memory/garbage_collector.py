"""Rare garbage collections for processes that make few reference cycles.

Python looks for reference cycles among all objects after every few hundred new ones. A crawl
makes hardly any, and a search stalled it for 200 ms at a million URLs: a fifth of the time of a
settlement. So searches are rare while a crawl runs, and connections must leave no cycles. A crawl
and a worker begin with little but the objects of loaded modules, which are exempted from searches.
A search before exempting them was rejected: modules make hardly any cycles, and it would take
longer than to load most of them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

GC_THRESHOLDS = 10_000, 5, 2_000
"""Thresholds: new objects, searches among young objects, searches among older ones."""
_IN_A_WORKER = 2_000, 5, 5
_WHILE_LOADING = 200_000


class RareGarbageCollection:
    """Setting that makes searches for cycles rare while a crawl runs in this process."""

    def __init__(self) -> None:
        self._crawls = 0
        self._former = gc.get_threshold()

    @contextmanager
    def during_a_crawl(self) -> Iterator[None]:
        """Make searches rare, and exempt the present objects.

        The last crawl that ends undoes both.
        """
        if not self._crawls:
            self._former = gc.get_threshold()
            gc.set_threshold(*GC_THRESHOLDS)
            gc.freeze()
        self._crawls += 1
        try:
            yield
        finally:
            self._crawls -= 1
            if not self._crawls:
                gc.set_threshold(*self._former)
                gc.unfreeze()


RARE_GARBAGE_COLLECTION = RareGarbageCollection()


def load_modules_quickly() -> None:
    """Make searches rare in a process that begins to load its modules: a twentieth of its start."""
    gc.set_threshold(_WHILE_LOADING)


def freeze_loaded_objects() -> None:
    """Exempt the present objects from the search for cycles: they live as long as the process."""
    gc.freeze()
    gc.set_threshold(*_IN_A_WORKER)

"""By which step each page was last spent: the store knows it, memory only what is newer.

Law: a checkpoint is in the store before the next one is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray


def nobody_was(_page: int) -> int:
    """What an empty store knows."""
    return 0


class LastSpendingSteps:
    """page -> step; 0 where it handed nothing to links."""

    def __init__(self, saved: Callable[[int], int]) -> None:
        """`saved` asks the last checkpoint."""
        self.rows = 0  # pages from this one on are in no checkpoint
        self._saved = saved
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def __getitem__(self, page: int) -> int:
        step = self._young.get(page)
        if step is None:
            step = self._old.get(page)
        if step is None:
            step = self._saved(page) if page < self.rows else 0
        return step

    def __setitem__(self, page: int, step: int) -> None:
        self._young[page] = step

    @property
    def newest(self) -> Mapping[int, int]:
        """The steps that are in no checkpoint yet; once one is cut they stay as they are."""
        return self._young

    def newest_between(self, first: int, end: int, otherwise: int) -> NDArray[np.int64]:
        """The same for a range of pages, of which most may have none."""
        pages = np.array(list(self._young), dtype=np.int64)
        steps = np.array(list(self._young.values()), dtype=np.int64)
        inside = (pages >= first) & (pages < end)
        found = np.full(end - first, otherwise)
        found[pages[inside] - first] = steps[inside]
        return found

    def cut(self, pages: int) -> None:
        """A checkpoint of so many pages takes what is newest."""
        self._young, self._old = {}, self._young
        self.rows = pages

    def of_all(self, pages: int, saved: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
        """Those of so many pages; the rows of the first of them say what was saved."""
        found = np.zeros(pages, dtype=np.uint32)
        if saved is not None:
            found[: len(saved)] = saved
        for newer in (self._old, self._young):
            found[list(newer)] = list(newer.values())
        return found

"""The last spending of each page, which also says where its links are.

The store has the spendings as of the last checkpoint; newer ones are in memory, in two generations.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Spending


class LastSpendings:
    """Map from page to the step by which it last gave cash to links, or 0."""

    def __init__(
        self, spending_at: Callable[[int], Spending], saved_step: Callable[[int], int]
    ) -> None:
        """`spending_at` reads the spending of a step, `saved_step` the step in a page's row."""
        self.rows = 0  # number of pages in the checkpoint
        self._spending_at = spending_at
        self._saved_step = saved_step
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def __getitem__(self, page: PageId) -> int:
        step = self._young.get(page)
        if step is None:
            step = self._old.get(page)
        if step is None:
            step = self._saved_step(page) if page < self.rows else 0
        return step

    def __setitem__(self, page: PageId, step: int) -> None:
        self._young[page] = step

    def of(self, page: PageId) -> Spending:
        """Return the last spending of the page."""
        step = self[page]
        return self._spending_at(step) if step else Spending(())

    @property
    def newest(self) -> Mapping[int, int]:
        """Steps that are in no checkpoint yet. After `cut` this mapping no longer changes."""
        return self._young

    def cut(self, pages: int) -> None:
        """Mark the newest steps as part of a checkpoint of `pages` pages."""
        # Two generations: the rows of the checkpoint are not written yet, so a look-up still needs
        # the steps in it. When the next checkpoint is cut, this one is in the store, and `_old` may
        # go.
        self._young, self._old = {}, self._young
        self.rows = pages

    def of_all(self, pages: int, saved: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
        """Return the steps of the first `pages` pages; `saved` are those in their rows."""
        steps = np.zeros(pages, dtype=np.uint32)
        if saved is not None:
            steps[: len(saved)] = saved
        for newer in (self._old, self._young):
            steps[list(newer)] = list(newer.values())
        return steps

"""By which step each page was last spent; only pages that had a turn take room."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from minicrawl.slots import Rows


class Spent:
    """page -> step; 0 where it handed nothing to links."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._steps = array("I")

    def __getitem__(self, page: int) -> int:
        row = self._rows.get(page)
        return 0 if row is None else self._steps[row]

    def __setitem__(self, page: int, step: int) -> None:
        row = self._rows.get(page)
        if row is not None:
            self._steps[row] = step
        elif step:
            self._rows.add(page)
            self._steps.append(step)

    def restore(self, first: int, steps: NDArray[np.uint32]) -> None:
        """The pages from this one on, as they were saved."""
        places = np.flatnonzero(steps)
        self._rows.add_all((first + places).astype(np.uint32))
        self._steps.frombytes(steps[places].tobytes())

    def between(self, first: int, end: int) -> NDArray[np.uint32]:
        """Those of the pages of a range."""
        found = np.zeros(end - first, dtype=np.uint32)
        pages = self._rows.pages
        rows = np.flatnonzero((pages >= first) & (pages < end))
        found[pages[rows] - first] = np.frombuffer(self._steps, dtype=np.uint32)[rows]
        return found

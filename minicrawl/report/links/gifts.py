"""The cash that one page got: from whom, and when.

Law: a gift is what its giver spent last, of all it has ever had; it counts from the last request
for the giver on. So the history ends with the sum of all gifts, however it has come about.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.progress import Progress
from minicrawl.report.links.flows import flows
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import fetches
from minicrawl.wording import iso

MOST_MOMENTS = 120


class CashGifts(NamedTuple):
    """The pages that gave to one page, and the units that each of them gave."""

    givers: NDArray[np.int64]
    units: NDArray[np.float64]


class CashSoFar(NamedTuple):
    """What a page had got at a moment, and from how many pages."""

    at: str
    units: float
    pages: int


def gifts_to(snapshot: Snapshot, page: PageId, tell: Progress) -> CashGifts:
    """From each page that links to it."""
    givers, units = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for found in flows(snapshot, tell):
        here = np.flatnonzero(found.ends == page)
        givers.append(found.givers[here])
        units.append(snapshot.histories(found.givers[here]) * found.parts[here])
    names, places = np.unique(np.concatenate(givers), return_inverse=True)
    sums = np.bincount(places, np.concatenate(units), minlength=len(names))
    return CashGifts(names, sums.astype(np.float64, copy=False))


def history_of(snapshot: Snapshot, gifts: CashGifts) -> list[CashSoFar]:
    """How the gifts added up; at most `MOST_MOMENTS` of them, among these the first and the last.

    Pages that were imported were never requested, and are left out.
    """
    asked = fetches.last_times(snapshot.connection, gifts.givers.tolist())
    times = np.array([np.nan if at is None else at for at in asked])
    order = np.argsort(times)[: int(np.count_nonzero(~np.isnan(times)))]
    sums = np.cumsum(gifts.units[order])
    steps = np.linspace(0, len(order) - 1, min(len(order), MOST_MOMENTS)).astype(int)
    return [
        CashSoFar(iso(float(times[order[step]])), float(sums[step]), int(step) + 1)
        for step in steps
    ]

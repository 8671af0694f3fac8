"""Cash that one page received: from which pages, and when.

Law: a gift is the share of the giver's history that its last spending sent to the page, and is
dated by the giver's last request. So the running sum ends with the sum of all gifts, but its
earlier points are approximate.
"""

from typing import NamedTuple

import numpy as np

from minicrawl.model import PageId
from minicrawl.ports import Progress
from minicrawl.report.graph.flows import Numbers, flows
from minicrawl.report.saved_ranks import Floats
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import request_log
from minicrawl.wording import iso

MOST_MOMENTS = 120


class CashSoFar(NamedTuple):
    """Cash that a page had received by a moment, and the number of its givers."""

    at: str
    units: float
    pages: int


def gifts_to(
    snapshot: Snapshot, page: PageId, progress: Progress, linking: Numbers | None = None
) -> tuple[Numbers, Floats]:
    """Return the pages that gave cash, which are among `linking` if given, and each one's units."""
    givers, units = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for links in flows(snapshot, progress, linking):
        here = np.flatnonzero(links.ends == page)
        givers.append(links.givers[here])
        units.append(snapshot.histories(links.givers[here]) * links.parts[here])
    names, places = np.unique(np.concatenate(givers), return_inverse=True)
    sums = np.bincount(places, np.concatenate(units), minlength=len(names))
    return names, sums.astype(np.float64, copy=False)


def history_of(snapshot: Snapshot, givers: Numbers, units: Floats) -> list[CashSoFar]:
    """Return the running sum of gifts at up to `MOST_MOMENTS` moments.

    The first and the last moment are included. Imported pages were never requested, and are
    omitted.
    """
    moments = request_log.last_values(snapshot.connection, "at", givers.tolist())
    times = np.array([np.nan if at is None else at for at in moments])
    order = np.argsort(times)[: int(np.count_nonzero(~np.isnan(times)))]
    sums = np.cumsum(units[order])
    steps = np.linspace(0, len(order) - 1, min(len(order), MOST_MOMENTS)).astype(int)
    return [
        CashSoFar(iso(float(times[order[step]])), float(sums[step]), int(step) + 1)
        for step in steps
    ]

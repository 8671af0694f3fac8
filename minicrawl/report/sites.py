"""Sites by what other sites give them.

Law: a link inside a site says nothing about the site. The importance of a site is what flowed to
its pages along links of other sites, as a share of all that flowed between sites.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.report.flows import flows
from minicrawl.report.snapshot import Snapshot
from minicrawl.web.sites import site


class RankedSite(NamedTuple):
    """A site in `top --sites`."""

    rank: int
    site: str
    importance: float
    pages: int
    fetched: int
    pages_importance: float


def top_sites(snapshot: Snapshot, count: int = 0) -> list[RankedSite]:
    """The sites that others give most; of equals the one whose pages matter more. 0 means all."""
    names, site_of = _sites(snapshot)
    received = _received(snapshot, site_of, len(names))
    pages, fetched, summed = (
        np.bincount(site_of, weights=weights, minlength=len(names))
        for weights in (None, snapshot.was_read, snapshot.importance)
    )
    order = np.lexsort((-summed, -received))[: count or None]
    return [
        RankedSite(
            rank=rank,
            site=names[number],
            importance=float(received[number]),
            pages=int(pages[number]),
            fetched=int(fetched[number]),
            pages_importance=float(summed[number]),
        )
        for rank, number in enumerate(order.tolist(), start=1)
    ]


def _sites(snapshot: Snapshot) -> tuple[list[str], NDArray[np.int64]]:
    """The sites, and the number of each page's."""
    numbers: dict[str, int] = {}
    of_host = [numbers.setdefault(site(host), len(numbers)) for host in snapshot.hosts]
    return list(numbers), np.array(of_host, dtype=np.int64)[snapshot.host_of]


def _received(snapshot: Snapshot, site_of: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """What each site was given by others, as a share of the whole; nothing if nobody gave."""
    received = np.zeros(count)
    for givers, ends, parts in flows(snapshot):
        abroad = site_of[givers] != site_of[ends]
        amounts = snapshot.histories(givers[abroad]) * parts[abroad]
        received += np.bincount(site_of[ends[abroad]], weights=amounts, minlength=count)
    total = received.sum()
    return received / total if total else received

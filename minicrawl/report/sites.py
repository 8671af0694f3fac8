"""Sites by what other sites give them.

Law: a link inside a site says nothing about the site. The importance of a site is what flowed to
its pages along links of other sites, as a share of all that flowed between sites. By another rank
it has what its pages have together.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.progress import Progress, unreported
from minicrawl.report.flows import flows
from minicrawl.report.graphs import refuse_without_links
from minicrawl.report.kept import OWN, scores
from minicrawl.report.snapshot import Snapshot
from minicrawl.web.sites import site


class RankedSite(NamedTuple):
    """A site in `top --sites`; the score is that of the rank that was asked for."""

    rank: int
    site: str
    importance: float
    pages: int
    fetched: int
    pages_importance: float
    score: float


def top_sites(
    snapshot: Snapshot, count: int = 0, by: str = OWN, tell: Progress = unreported
) -> list[RankedSite]:
    """The best sites; of equals the one whose pages matter more to the crawl. 0 means all."""
    refuse_without_links(snapshot)
    names, site_of = _sites(snapshot)
    received = _received(snapshot, site_of, len(names), tell)
    pages, fetched, summed = (
        np.bincount(site_of, weights=weights, minlength=len(names))
        for weights in (None, snapshot.was_read, snapshot.importance)
    )
    ranked = received if by == OWN else _together(scores(snapshot, by), site_of, len(names))
    order = np.lexsort((-summed, -ranked))[: count or None]
    return [
        RankedSite(
            rank=rank,
            site=names[number],
            importance=float(received[number]),
            pages=int(pages[number]),
            fetched=int(fetched[number]),
            pages_importance=float(summed[number]),
            score=float(ranked[number]),
        )
        for rank, number in enumerate(order.tolist(), start=1)
    ]


def _sites(snapshot: Snapshot) -> tuple[list[str], NDArray[np.int64]]:
    """The sites, and the number of each page's."""
    numbers: dict[str, int] = {}
    of_host = [numbers.setdefault(site(host), len(numbers)) for host in snapshot.hosts]
    return list(numbers), np.array(of_host, dtype=np.int64)[snapshot.host_of]


def _together(
    values: NDArray[np.float64], site_of: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """The scores of its pages, for each site; those that became known later have none."""
    together = np.zeros(count)
    np.add.at(together, site_of, np.nan_to_num(values))
    return together


def _received(
    snapshot: Snapshot, site_of: NDArray[np.int64], count: int, tell: Progress
) -> NDArray[np.float64]:
    """What each site was given by others, as a share of the whole; nothing if nobody gave."""
    received = np.zeros(count)
    for givers, ends, parts in flows(snapshot, tell):
        abroad = site_of[givers] != site_of[ends]
        amounts = snapshot.histories(givers[abroad]) * parts[abroad]
        received += np.bincount(site_of[ends[abroad]], weights=amounts, minlength=count)
    total = received.sum()
    return received / total if total else received

"""Sites by the cash that other sites give them.

Laws: links within a site say nothing about the site. The importance of a site is the cash that
links from other sites brought to its pages, as a share of all cash that flowed between sites; if
the importance has converged, it is the cash in the converged flow. That is stored with the
importance, so that a large store does not need a pass over all links. By another rank, the score
of a site is the sum over its pages.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.url_table import sites_of
from minicrawl.ports import Progress
from minicrawl.report.graph.flows import flows
from minicrawl.report.saved_ranks import Floats, scores
from minicrawl.report.snapshot import Snapshot, refuse_without_links
from minicrawl.store.derived.file import reading_beside
from minicrawl.store.derived.ranks import OPIC, OPIC_SITES, rank_row, rank_scores

Groups = NDArray[np.int32]


class RankedSite(NamedTuple):
    """Site in `top --sites`. `score` is by the requested rank."""

    rank: int
    site: str
    importance: float
    pages: int
    fetched: int
    pages_importance: float
    score: float


def top_sites(
    snapshot: Snapshot, count: int = 0, by: str = OPIC, progress: Progress = lambda _share: None
) -> list[RankedSite]:
    """Return the best sites; ties go to the more important pages. `count` 0 is all."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    received = _received(snapshot, site_of, len(names), progress)
    pages, fetched, summed = (
        np.bincount(site_of, weights=weights, minlength=len(names))
        for weights in (None, snapshot.was_read, snapshot.importance)
    )
    ranked = received if by == OPIC else _site_sums(scores(snapshot, by), site_of, len(names))
    order = np.lexsort((-summed, -ranked))[: count or None]
    columns = received, pages.astype(int), fetched.astype(int), summed, ranked
    rows = zip(*(column[order].tolist() for column in columns), strict=True)
    sites = zip(order.tolist(), rows, strict=True)
    return [RankedSite(rank, names[site], *row) for rank, (site, row) in enumerate(sites, start=1)]


def cash_of_sites(snapshot: Snapshot, progress: Progress) -> dict[str, float]:
    """Return the importance of all sites by name."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    return dict(
        zip(names, _received(snapshot, site_of, len(names), progress).tolist(), strict=True)
    )


def _site_sums(values: Floats, site_of: Groups, count: int) -> Floats:
    """Return the sum of the pages' scores for each site. Missing scores count as 0."""
    sums = np.zeros(count)
    np.add.at(sums, site_of, np.nan_to_num(values))
    return sums


def _received(snapshot: Snapshot, site_of: Groups, count: int, progress: Progress) -> Floats:
    """Return the cash that each site received from others, as a share of all such cash."""
    converged = snapshot.converged
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        row = rank_row(derived, OPIC_SITES)
        if derived and row and converged and row.step == converged.step:
            return _site_sums(rank_scores(derived, OPIC_SITES, len(snapshot)), site_of, count)
    received = np.zeros(count)
    histories = snapshot.frontier.window.histories
    worth = histories if converged is None else snapshot.importance.__getitem__
    for givers, ends, parts in flows(snapshot, progress):
        crosses = site_of[givers] != site_of[ends]
        amounts = worth(givers[crosses]) * parts[crosses]
        received += np.bincount(site_of[ends[crosses]], weights=amounts, minlength=count)
    total = received.sum()
    return received / total if total else received

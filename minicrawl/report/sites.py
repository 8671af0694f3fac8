"""Sites by the cash that other sites give them.

Laws: links within a site say nothing about the site. The importance of a site is the cash that
links from other sites brought to its pages, as a share of all cash that flowed between sites; where
the importance of pages has converged, what they bring when it goes round for ever. That is kept
with the importance, so in a large store nobody waits for a pass over all links. By another rank,
the score of a site is the sum over its pages.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.sites import sites_of
from minicrawl.progress import Progress
from minicrawl.report.kept import scores
from minicrawl.report.links.flows import flows
from minicrawl.report.links.graphs import refuse_without_links
from minicrawl.report.snapshot import Snapshot
from minicrawl.store.beside.derived import (
    OPIC,
    OPIC_SITES,
    rank_row,
    rank_scores,
    reading_beside,
)

Floats = NDArray[np.float64]
Groups = NDArray[np.int32]


class RankedSite(NamedTuple):
    """A site in `top --sites`. `score` is by the rank that was asked for."""

    rank: int
    site: str
    importance: float
    pages: int
    fetched: int
    pages_importance: float
    score: float


def top_sites(
    snapshot: Snapshot, count: int = 0, by: str = OPIC, tell: Progress = lambda _share: None
) -> list[RankedSite]:
    """The best sites; among equals, the one with the more important pages. `count` 0 is all."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    received = _received(snapshot, site_of, len(names), tell)
    pages, fetched, summed = (
        np.bincount(site_of, weights=weights, minlength=len(names))
        for weights in (None, snapshot.was_read, snapshot.importance)
    )
    ranked = received if by == OPIC else _together(scores(snapshot, by), site_of, len(names))
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


def cash_of_sites(snapshot: Snapshot, tell: Progress) -> dict[str, float]:
    """The importance of all sites, by their names."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    return dict(zip(names, _received(snapshot, site_of, len(names), tell).tolist(), strict=True))


def _together(values: Floats, site_of: Groups, count: int) -> Floats:
    """The sum of the scores of its pages, for each site. Pages without a score add nothing."""
    sums = np.zeros(count)
    np.add.at(sums, site_of, np.nan_to_num(values))
    return sums


def _received(snapshot: Snapshot, site_of: Groups, count: int, tell: Progress) -> Floats:
    """The cash that each site received from other sites, as a share of all such cash."""
    kept = _kept(snapshot)
    return (
        _summed(snapshot, site_of, count, tell) if kept is None else _together(kept, site_of, count)
    )


def _kept(snapshot: Snapshot) -> Floats | None:
    """The parts of pages in the importance of their sites, if that is as old as the importance."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        row = rank_row(derived, OPIC_SITES)
        if derived is None or row is None or snapshot.converged is None:
            return None
        is_current = row.step == snapshot.converged.step
        return rank_scores(derived, OPIC_SITES, len(snapshot)) if is_current else None


def _summed(snapshot: Snapshot, site_of: Groups, count: int, tell: Progress) -> Floats:
    """The same by all links of the store."""
    received = np.zeros(count)
    worth = snapshot.histories if snapshot.converged is None else snapshot.importance.__getitem__
    for givers, ends, parts in flows(snapshot, tell):
        crosses = site_of[givers] != site_of[ends]
        amounts = worth(givers[crosses]) * parts[crosses]
        received += np.bincount(site_of[ends[crosses]], weights=amounts, minlength=count)
    total = received.sum()
    return received / total if total else received

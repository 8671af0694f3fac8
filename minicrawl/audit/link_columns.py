"""Counts of links of each page, as columns with an entry for each known page.

Several links from one page to another count once.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.ports import Progress
from minicrawl.report.graph.flows import page_links
from minicrawl.report.snapshot import Snapshot

Column = NDArray[Any]

_MOST_COUNTED = 0xFFFF

INSECURE, DEAD_OUTSIDE = "link-to-http", "link-dead-outside"
"""Issues of links that leave https on their host, and of those to missing pages elsewhere."""


class LinkColumns(NamedTuple):
    """Counts of links of each page: to it, from it, and from it to pages with an issue."""

    to: Column
    away_from: Column
    of: Mapping[str, Column]
    """Number of links from the page by their issue."""
    counted_to: Column
    """Number of links to the page from the pages whose issues count."""
    insecure_to: Column
    """Number of those that leave https."""
    first: Column
    """Place by importance of the most important page that links to one with an issue."""


def link_columns(
    snapshot: Snapshot,
    is_giver: NDArray[np.bool_],
    is_chosen: NDArray[np.bool_],
    kinds: Mapping[str, NDArray[np.bool_]],
    progress: Progress,
) -> LinkColumns:
    """Count the links of some pages in one pass; `kinds` are the targets of links by issue.

    Only links from chosen pages count for their targets.
    """
    size = len(snapshot)
    columns = LinkColumns(
        to=np.zeros(size, np.int32),
        away_from=np.zeros(size, np.uint16),
        of={issue: np.zeros(size, np.uint16) for issue in (*kinds, INSECURE)},
        counted_to=np.zeros(size, np.int32),
        insecure_to=np.zeros(size, np.int32),
        first=np.full(size, size, np.int32),
    )
    rank = np.empty(size, np.int32)
    rank[snapshot.best] = np.arange(size, dtype=np.int32)
    is_of_a_kind = np.logical_or.reduce([*kinds.values()])
    is_https = np.array([origin.startswith("https:") for origin in snapshot.origins], np.bool_)
    _, name_of = np.unique(snapshot.hosts, return_inverse=True)
    hosts = snapshot.host_of
    for block in page_links(snapshot, progress):
        chosen = is_giver[block.givers] & (block.givers != block.ends)
        givers, ends = block.givers[chosen], block.ends[chosen]
        if not len(givers):
            continue
        np.add.at(columns.to, ends, 1)
        # The links of a giver are adjacent, and no other block has any of them.
        starts = np.flatnonzero(np.diff(givers, prepend=-1))
        pages = givers[starts]
        lengths = np.diff(starts, append=len(givers))
        columns.away_from[pages] = np.minimum(lengths, _MOST_COUNTED)
        drops = is_https[hosts[givers]] & ~is_https[hosts[ends]]
        drops &= name_of[hosts[givers]] == name_of[hosts[ends]]
        for issue, column in columns.of.items():
            is_counted = drops if issue == INSECURE else kinds[issue][ends]
            counts = np.add.reduceat(is_counted, starts, dtype=np.int32)
            column[pages] = np.minimum(counts, _MOST_COUNTED)
        blamed = (is_of_a_kind[ends] | drops) & is_chosen[givers]
        if blamed.any():
            np.add.at(columns.counted_to, ends[blamed], 1)
            np.add.at(columns.insecure_to, ends[blamed & drops], 1)
            np.minimum.at(columns.first, ends[blamed], rank[givers[blamed]])
    return columns

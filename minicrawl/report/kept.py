"""The ranks of a store: the crawl's own importance, and those kept beside the store.

Law: a page that was found after a rank was made has no score. It is NaN.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.store.derived import RankRow, kept_ranks, rank_scores, reading_beside

OPIC = "opic"
"""The name of the importance that the crawl itself computes."""

RISING = "rising"
"""The name of what is computed of it for each moment: how much faster cash flows to a page."""

Floats = NDArray[np.float64]


class KeptRank(NamedTuple):
    """A rank, and whether it is up to date."""

    row: RankRow
    unranked: int
    """Pages that were found since."""
    is_current: bool
    """Whether there was no step since, so that all links are the same."""


def kept(store: Path, connection: tables.Connection) -> list[KeptRank]:
    """All ranks beside the store, by name."""
    known, last = questions.pages_known(connection), tables.last_step(connection)
    with reading_beside(store, connection) as derived:
        return [KeptRank(row, known - row.nodes, row.step == last) for row in kept_ranks(derived)]


def scores(snapshot: Snapshot, name: str) -> Floats:
    """The scores of all pages by this rank."""
    found = kept_scores(snapshot, name)
    if found is None:
        others = "".join(f", {one.row.name}" for one in kept(snapshot.path, snapshot.connection))
        raise UsageError(
            f"{snapshot.path} has no rank {name}, only {OPIC}{others}: "
            "make it with `minicrawl rank`"
        )
    return found


def kept_scores(snapshot: Snapshot, name: str) -> Floats | None:
    """The same, or None if there is no such rank."""
    if name == OPIC:
        return snapshot.importance
    if name == RISING:
        return _rising(snapshot)
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        if derived is None or name not in {row.name for row in kept_ranks(derived)}:
            return None
        return rank_scores(derived, name, len(snapshot))


def _rising(snapshot: Snapshot) -> Floats:
    if snapshot.frontier.terms.window == "static":
        raise UsageError(
            f"{snapshot.path} has a static window, which does not know when cash flowed: "
            "crawl with another --window to see which pages rise"
        )
    return snapshot.frontier.rising()

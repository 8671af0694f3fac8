"""The ranks that are known of the pages of a store: the crawl's own, and those kept beside it.

Law: a page that became known after a rank was made has no score in it, which is NaN.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, ranks, tables
from minicrawl.store.files import reading_beside
from minicrawl.store.ranks import RankRow

OWN = "opic"
"""The importance that the crawl itself keeps."""

Floats = NDArray[np.float64]


class Kept(NamedTuple):
    """A rank, and what the crawl has done since."""

    row: RankRow
    unranked: int
    """Pages that became known since."""
    is_current: bool
    """No step was taken since, so that all links are what they were."""


def kept(store: Path, connection: tables.Connection) -> list[Kept]:
    """All ranks beside the store, by their names."""
    known, last = questions.pages_known(connection), tables.last_step(connection)
    with reading_beside(store, connection) as derived:
        return [Kept(row, known - row.nodes, row.step == last) for row in ranks.kept(derived)]


def scores(snapshot: Snapshot, name: str) -> Floats:
    """What the rank of this name gives to each page."""
    found = kept_scores(snapshot, name)
    if found is None:
        others = "".join(f", {one.row.name}" for one in kept(snapshot.path, snapshot.connection))
        raise UsageError(
            f"no rank {name} of {snapshot.path} is known; there are {OWN}{others}: "
            "`minicrawl rank` makes more"
        )
    return found


def kept_scores(snapshot: Snapshot, name: str) -> Floats | None:
    """The same, or nothing if there is no such rank."""
    if name == OWN:
        return snapshot.importance
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        if derived is None or name not in {row.name for row in ranks.kept(derived)}:
            return None
        return ranks.scores(derived, name, len(snapshot))

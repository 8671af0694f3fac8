"""Ranks of a store: its importance, and the other ranks kept beside it.

Law: a page that was found after a rank was computed has the score NaN.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.opic.estimate import rising
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.store.derived import (
    OPIC,
    OPIC_SITES,
    RankRow,
    kept_ranks,
    rank_row,
    rank_scores,
    reading_beside,
)
from minicrawl.wording import counted

RISING = "rising"
"""Name of a rank computed on demand: how much faster cash flows to a page now."""

Floats = NDArray[np.float64]


class KeptRank(NamedTuple):
    """Rank, with its age."""

    row: RankRow
    unranked: int
    """Number of pages found since."""
    is_current: bool
    """True if there were no steps since, so that all links are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """Accuracy and age of the converged importance."""

    error_bound: float
    """Error bound of the shares, summed over all pages known then."""
    is_complete: bool
    """True if the computation was completed."""
    age_s: float
    steps_since: int
    pages_since: int
    """Number of pages found since."""

    def __str__(self) -> str:
        kind = "converged" if self.is_complete else "broken off while converging"
        told = f"{kind}, error at most {self.error_bound:.1e}, {_age(self.age_s)} old"
        if not self.steps_since:
            return told
        since = f"{counted(self.steps_since, 'step')} and {counted(self.pages_since, 'page')} ago"
        return f"{told}, {since}"


ESTIMATED = "estimated; with stored links `minicrawl refine` makes it converge"


def convergence(row: RankRow | None, known: int, last: int) -> Convergence | None:
    """Return the convergence of the importance in `row`, or None without a row.

    `known` and `last` are the store's current number of pages and last step.
    """
    if row is None:
        return None
    return Convergence(
        error_bound=row.error_bound,
        is_complete=row.converged,
        age_s=max(0.0, time.time() - row.made_at),
        steps_since=max(0, last - row.step),
        pages_since=max(0, known - row.nodes),
    )


def convergence_of(seen: Snapshot) -> Convergence | None:
    """Return the convergence of a snapshot's importance, or None if it is an estimate."""
    return convergence(seen.converged, len(seen), seen.frontier.last_seq)


def told(found: Convergence | None) -> str:
    """Return the source of the importance, as text."""
    return ESTIMATED if found is None else str(found)


_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))


def _age(seconds: float) -> str:
    for name, length in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {name}"
    return f"{int(seconds)} s"


def kept(store: Path, connection: tables.Connection) -> list[KeptRank]:
    """Return the ranks beside the store by name, except those of the crawl itself."""
    known, last = questions.pages_known(connection), tables.last_step(connection)
    with reading_beside(store, connection) as derived:
        others = (row for row in kept_ranks(derived) if row.name not in (OPIC, OPIC_SITES))
        return [KeptRank(row, known - row.nodes, row.step == last) for row in others]


def scores(snapshot: Snapshot, name: str) -> Floats:
    """Return the scores of all pages by this rank. Raises UsageError if there is no such rank."""
    found = kept_scores(snapshot, name)
    if found is None:
        others = "".join(f", {one.row.name}" for one in kept(snapshot.path, snapshot.connection))
        raise UsageError(
            f"{snapshot.path} has no rank {name}, only {OPIC}{others}: "
            "make it with `minicrawl rank`"
        )
    return found


def kept_scores(snapshot: Snapshot, name: str) -> Floats | None:
    """Return the scores of all pages by this rank, or None if there is no such rank."""
    if name == OPIC:
        return snapshot.importance
    if name == RISING:
        return _rising(snapshot)
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        if derived is None or rank_row(derived, name) is None:
            return None
        return rank_scores(derived, name, len(snapshot))


def _rising(snapshot: Snapshot) -> Floats:
    if snapshot.frontier.terms.window == "static":
        raise UsageError(
            f"{snapshot.path} has a static window, which does not know when cash flowed: "
            "crawl with another --window to see which pages rise"
        )
    ledger, window = snapshot.frontier.ledger, snapshot.frontier.window
    flow, away = window.flows(ledger.now, ledger.circulation)
    flow[~snapshot.was_read] = np.nan
    return rising(ledger.cash_of_all(), flow, away)

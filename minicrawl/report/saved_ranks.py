"""Ranks of a store: its importance, and the other ranks kept beside it.

Law: a page that was found after a rank was computed has the score NaN.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.opic.importance.estimate import rising
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import tables
from minicrawl.store.derived.file import reading_beside
from minicrawl.store.derived.ranks import (
    OPIC,
    OPIC_SITES,
    RankRow,
    kept_ranks,
    rank_row,
    rank_scores,
)
from minicrawl.wording import at_most, counted

RISING = "rising"
"""Name of a rank computed on demand: cash that came to a page lately, relative to its past."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """Accuracy and age of the converged importance."""

    error_bound: float
    """Error bound of the shares, summed over all pages known then."""
    is_complete: bool
    age_s: float
    steps_since: int
    pages_since: int
    """Number of pages found since."""

    def __str__(self) -> str:
        kind = "converged" if self.is_complete else "broken off while converging"
        unit, length = next((row for row in _UNITS if self.age_s >= row[1]), _UNITS[-1])
        age = f"{int(self.age_s // length)} {unit}"
        text = f"{kind}, {at_most(self.error_bound)}, {age} old"
        if not self.steps_since:
            return text
        since = f"{counted(self.steps_since, 'step')} and {counted(self.pages_since, 'page')} ago"
        return f"{text}, {since}"


_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
ESTIMATED = "estimated; with stored links `minicrawl refine` makes it converge"


def convergence(row: RankRow | None, known: int, last: int) -> Convergence | None:
    """Return the convergence of a row for `known` pages and a `last` step; None without a row."""
    if row is None:
        return None
    return Convergence(
        error_bound=row.error_bound,
        is_complete=row.converged,
        age_s=max(0.0, time.time() - row.made_at),
        steps_since=max(0, last - row.step),
        pages_since=max(0, known - row.nodes),
    )


def convergence_of(snapshot: Snapshot) -> Convergence | None:
    """Return the convergence of a snapshot's importance, or None if it is an estimate."""
    return convergence(snapshot.converged, len(snapshot), snapshot.frontier.last_seq)


def convergence_text(convergence: Convergence | None) -> str:
    return ESTIMATED if convergence is None else str(convergence)


def saved_ranks(store: Path, connection: tables.Connection) -> list[RankRow]:
    """Return the ranks beside the store by name, except those of the crawl itself."""
    with reading_beside(store, connection) as derived:
        return [row for row in kept_ranks(derived) if row.name not in (OPIC, OPIC_SITES)]


def scores(snapshot: Snapshot, name: str) -> Floats:
    """Return the scores of all pages by this rank. Raises UsageError if there is no such rank."""
    scores = kept_scores(snapshot, name)
    if scores is None:
        names = "".join(
            f", {rank.name}" for rank in saved_ranks(snapshot.path, snapshot.connection)
        )
        raise UsageError(
            f"{snapshot.path} has no rank {name}, only {OPIC}{names}: make it with `minicrawl rank`"
        )
    return scores


def kept_scores(snapshot: Snapshot, name: str) -> Floats | None:
    """Return the scores of all pages by this rank, or None without it; `RISING` is computed now."""
    if name == OPIC:
        return snapshot.importance
    if name == RISING:
        if snapshot.frontier.terms.window_name == "static":
            raise UsageError(
                f"{snapshot.path} has a static window, which does not know when cash flowed: "
                "crawl with another --window to see which pages rise"
            )
        ledger, window = snapshot.frontier.ledger, snapshot.frontier.window
        flow, away = window.flows(ledger.now, ledger.circulation)
        flow[~snapshot.was_read] = np.nan
        return rising(ledger.cash_of_all(), flow, away)
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        if derived is None or rank_row(derived, name) is None:
            return None
        return rank_scores(derived, name, len(snapshot))


def position_of(values: NDArray[np.float64] | NDArray[np.int64], place: int) -> int:
    """Return the position of a value in descending order, from 1; equal values keep their order."""
    value = values[place]
    return (
        1 + int(np.count_nonzero(values > value)) + int(np.count_nonzero(values[:place] == value))
    )

"""Converged ranks: what replays without end along the stored links would come to.

Laws: the store is only read, so cash, keys and the order of a crawl are as before. The ranks lie
beside it and are replaced as a whole. What was broken off is kept if it is honest: its error bound
is small enough to mean something, and is kept with it. The next refinement begins from what is
there.
"""

import json
import math
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.frontier.importance import shown_importance
from minicrawl.frontier.loading import load_frontier, verify
from minicrawl.frontier.pages import Frontier
from minicrawl.model import READ_STATES
from minicrawl.opic.refine import CashFlow, FlowBuilder, Refinement
from minicrawl.progress import Progress, unreported
from minicrawl.store import columns, questions, tables
from minicrawl.store.blobs import unpack
from minicrawl.store.derived import (
    FLOWED,
    GATHERED,
    OPIC,
    RankRow,
    keep_ranks,
    rank_row,
    reading_beside,
)
from minicrawl.store.reader import reading, real_path
from minicrawl.store.trouble import reporting_damage, translating_sqlite_errors
from minicrawl.store.writer import SAFE, Store

UNTIL = 1e-6
LEAST_UNTIL = 1e-12
"""Below this, rounding errors could hide the error that is left."""
HONEST = 0.1
"""With a larger error bound, the estimate of the crawl is as good."""
TOP = 10
_ROWS_AT_ONCE = 1000

Floats = NDArray[np.float64]
GoOn = Callable[[], bool]
"""Whether there is still time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """The result of a refinement."""

    pages: int
    links: int
    rounds: int
    error_bound: float
    """The error of the shares, summed over all pages, is at most this."""
    converged: bool
    """Whether that is as little as was asked for."""
    moved: float
    """By how much the shares changed, summed over all pages: 2 at most."""
    top_kept: int
    """How many of the ten first pages were among the ten first before."""
    store: Path

    @property
    def is_kept(self) -> bool:
        """Whether the ranks were kept: they are honest."""
        return self.converged or self.error_bound <= HONEST


def _always() -> bool:
    return True


def refine(
    path: Path,
    *,
    until: float = UNTIL,
    to: Path | None = None,
    tell: Progress = unreported,
    goes_on: GoOn = _always,
) -> Refined | None:
    """Refine until the error is no more than `until`, and keep the ranks beside the store.

    With `to` a copy of the store is made, and they are kept beside that. None if it was broken off
    before the first round.
    """
    _check(path, until, to)
    with reading(path) as connection, reporting_damage(path):
        loaded = _Loaded.of(path, connection, goes_on)
    if loaded is None:
        return None
    refinement = Refinement(loaded.flow, loaded.shown)
    for error in refinement.until(until):
        tell(min(1.0, max(0.0, math.log(error) / math.log(until))))
        if not goes_on():
            break
    found = loaded.refined(refinement, until, to or path)
    if found.is_kept:
        if to is not None:
            _copy(path, to)
        with reading(path) as connection:
            row = loaded.row(found, refinement)
            keep_ranks(to or path, connection, [(row, refinement.importance)])
    return found


def is_due(path: Path) -> bool:
    """Whether the ranks beside the store do not know all of its links, or have not converged."""
    with reading(path) as connection, reading_beside(path, connection) as derived:
        row = rank_row(derived, OPIC)
        return row is None or not row.converged or row.step != tables.last_step(connection)


def _check(path: Path, until: float, to: Path | None) -> None:
    if not LEAST_UNTIL <= until < 1:
        raise UsageError(f"--until {until:g}: must be a number from {LEAST_UNTIL:g} to below 1")
    with reading(path) as connection, reporting_damage(path):
        terms = tables.terms(connection)
        if terms is None or not questions.hosts_known(connection):
            raise UsageError(f"{path} knows no page yet: `minicrawl crawl` goes first")
    if not terms.links:
        raise UsageError(f"{path} was crawled with --no-links: there is nothing to replay")
    if to is not None and to.exists():
        raise UsageError(f"{to} exists: --to writes a new store and overwrites none")


def _copy(path: Path, to: Path) -> None:
    """Copy the store. The copy gets its name when it is complete."""
    place = real_path(to)
    unfinished = place.with_name(f"{place.name}.part")
    with (
        closing(Store.open(unfinished)) as store,
        translating_sqlite_errors(path, SAFE),
        reading(path) as original,
    ):
        store.become(original)
    unfinished.rename(place)
    unfinished.with_name(f"{unfinished.name}-lock").unlink()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """What a refinement needs of a store, as of one step."""

    step: int
    flow: CashFlow
    shown: Floats
    """The importance as it was shown before."""
    was_read: NDArray[np.bool_]

    @classmethod
    def of(cls, path: Path, connection: tables.Connection, goes_on: GoOn) -> "_Loaded | None":
        """Load it; None if there was no time for all of it."""
        frontier = _load(connection)
        flow = _flow(frontier, connection, goes_on)
        if flow is None:
            return None
        return cls(
            step=frontier.last_seq,
            flow=flow,
            shown=shown_importance(path, connection, frontier).shares,
            was_read=np.isin(frontier.states(), READ_STATES),
        )

    def refined(self, refinement: Refinement, until: float, store: Path) -> Refined:
        after = refinement.importance
        return Refined(
            pages=self.flow.pages,
            links=self.flow.links,
            rounds=refinement.rounds,
            error_bound=refinement.error,
            converged=refinement.error <= until,
            moved=float(np.abs(after - self.shown).sum()),
            top_kept=len(_top(self.shown) & _top(after)),
            store=store,
        )

    def row(self, found: Refined, refinement: Refinement) -> RankRow:
        gathered = float(refinement.importance[self.was_read].sum())
        return RankRow(
            name=OPIC,
            options=json.dumps({GATHERED: gathered, FLOWED: refinement.flowed}),
            made_at=time.time(),
            step=self.step,
            nodes=found.pages,
            edges=found.links,
            iterations=found.rounds,
            error_bound=found.error_bound,
            converged=found.converged,
        )


def _load(connection: tables.Connection) -> Frontier:
    terms = tables.terms(connection)
    assert terms is not None  # _check refuses a store without terms
    frontier = load_frontier(
        connection,
        terms,
        partial(tables.spending, connection),
        siblings=tables.are_siblings_asked(connection),
    )
    verify(frontier, connection)
    return frontier


def _flow(frontier: Frontier, connection: tables.Connection, goes_on: GoOn) -> CashFlow | None:
    """Where the cash of each page goes now: one pass over the log, in its order."""
    books = frontier.books
    saved = columns.whole(columns.frontier(connection, "spent"), "spent")
    spent = frontier.spendings.of_all(len(frontier), saved).tolist()
    builder = FlowBuilder(frontier.ledger.small_edge)
    for number, (seq, _, page, blob) in enumerate(questions.all_spendings(connection)):
        if number % _ROWS_AT_ONCE == 0 and not goes_on():
            return None
        if spent[page] != seq:
            continue
        if page in books.forwards:
            builder.forward(page, books.stands_for(page))
        else:
            builder.spend(page, books.without_detours(page, unpack(blob)))
    return builder.flow(len(frontier))


def _top(importance: Floats) -> set[int]:
    return set(np.argsort(-importance, kind="stable")[:TOP].tolist())

"""Ranks are refined in the store, by the replays of `opic.refine`.

Laws: the store is as it was until the ranks have converged, and then it is restated in one
transaction, to the atom. Replays that were interrupted go on where they were saved, to the same
bits. A copy gets its name when it is complete.
"""

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.frontier.checkpoint import restate
from minicrawl.frontier.gathered_importance import gathered
from minicrawl.frontier.loading import load_frontier, verify
from minicrawl.frontier.pages import Frontier
from minicrawl.opic.refine import CashFlow, FlowBuilder, Refinement
from minicrawl.progress import Progress, unreported
from minicrawl.store import columns, questions, tables
from minicrawl.store.blobs import unpack
from minicrawl.store.reader import reading, real_path
from minicrawl.store.records import Batch, RefinementRow
from minicrawl.store.trouble import reporting_damage, translating_sqlite_errors
from minicrawl.store.writer import SAFE, Store

UNTIL = 1e-6
LEAST_UNTIL = 1e-12
"""Below this, rounding errors could hide the error that is left."""
SAVE_EVERY_S = 10.0
TOP = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """The result of a refinement."""

    pages: int
    links: int
    rounds: int
    error_bound: float
    """The error of the shares, summed over all pages, is at most this."""
    moved: float
    """By how much the shares changed, summed over all pages: 2 at most."""
    top_kept: int
    """How many of the ten first pages were among the ten first before."""
    store: Path


def refine(
    path: Path,
    *,
    until: float = UNTIL,
    to: Path | None = None,
    tell: Progress = unreported,
    now: Callable[[], float] = monotonic,
) -> Refined:
    """Replay until the error is no more than `until`, in the store or in a copy of it."""
    _check(path, until, to)
    if to is None:
        with (
            closing(Store.open(path)) as store,
            translating_sqlite_errors(path, SAFE),
            reporting_damage(path),
        ):
            return _refine(store, path, until, tell, now)
    place = real_path(to)
    unfinished = place.with_name(f"{place.name}.part")
    with (
        closing(Store.open(unfinished)) as store,
        translating_sqlite_errors(path, SAFE),
        reporting_damage(path),
    ):
        _copy(store, path)
        refined = _refine(store, to, until, tell, now)
    unfinished.rename(place)
    unfinished.with_name(f"{unfinished.name}-lock").unlink()
    return refined


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


def _copy(store: Store, path: Path) -> None:
    """A copy that is there goes on if the original has not changed since."""
    with reading(path) as original:
        if tables.last_step(store.connection) != tables.last_step(original):
            store.become(original)


def _refine(
    store: Store,
    name: Path,
    until: float,
    tell: Progress,
    now: Callable[[], float],
) -> Refined:
    frontier = _load(store.connection)
    flow = _flow(frontier, store.connection)
    refinement = _begin(flow, tables.refinement(store.connection), frontier.last_seq)
    saved_at = now()
    for error in refinement.until(until):
        tell(max(0.0, math.log(error) / math.log(until)))
        if now() - saved_at >= SAVE_EVERY_S:
            store.keep_refinement(_row(refinement, frontier.last_seq))
            saved_at = now()
    before, after = frontier.importance(), refinement.importance
    store.restate(restate(frontier, after))
    counters = tables.counters(store.connection) | {tables.GATHERED: gathered(frontier)}
    store.commit(Batch(counters=counters))
    return Refined(
        pages=flow.pages,
        links=flow.links,
        rounds=refinement.rounds,
        error_bound=refinement.error,
        moved=float(np.abs(after - before).sum()),
        top_kept=len(_top(before) & _top(after)),
        store=name,
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


def _flow(frontier: Frontier, connection: tables.Connection) -> CashFlow:
    """Where the cash of each page goes now: one pass over the log, in its order."""
    books = frontier.books
    saved = columns.whole(columns.frontier(connection, "spent"), "spent")
    spent = frontier.spendings.of_all(len(frontier), saved).tolist()
    builder = FlowBuilder(frontier.ledger.small_edge)
    for seq, _, page, blob in questions.all_spendings(connection):
        if spent[page] != seq:
            continue
        if page in books.forwards:
            builder.forward(page, books.stands_for(page))
        else:
            builder.spend(page, books.without_detours(page, unpack(blob)))
    return builder.flow(len(frontier))


def _begin(flow: CashFlow, row: RefinementRow | None, last_seq: int) -> Refinement:
    """From where it was saved; from the start if it was not, or if the crawl has gone on since."""
    if row is None or row.seq != last_seq:
        return Refinement(flow)
    history, cash = (np.frombuffer(vector).copy() for vector in (row.history, row.cash))
    return Refinement(flow, rounds=row.rounds, history=history, cash=cash)


def _row(refinement: Refinement, last_seq: int) -> RefinementRow:
    history, cash = refinement.history.tobytes(), refinement.cash.tobytes()
    return RefinementRow(last_seq, refinement.rounds, history, cash)


def _top(importance: Floats) -> set[int]:
    return set(np.argsort(-importance, kind="stable")[:TOP].tolist())

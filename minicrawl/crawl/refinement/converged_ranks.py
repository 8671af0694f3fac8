"""Converged ranks: the limit of endless replays along the stored links.

Laws: the store is only read, so cash, keys and the order of a crawl do not change. The ranks of
pages and of sites lie beside it and are replaced as a whole. The ranks of an interrupted refinement
are kept, with their error bound, if it is small enough to mean something. The next refinement
starts from the stored ranks.
"""

import math
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.frontier.importance import (
    UNTIL,
    GoOn,
    always,
    cash_flow,
    kept_importance,
    proven_share,
    rank_mass,
    rank_options,
)
from minicrawl.frontier.loading import load_frontier, verify
from minicrawl.frontier.url_table import sites_of
from minicrawl.opic.importance.cash_flow import Refinement
from minicrawl.ports import Progress, unreported
from minicrawl.store import page_columns, questions, step_log, tables
from minicrawl.store.derived.file import reading_beside
from minicrawl.store.derived.ranks import OPIC, OPIC_SITES, RankRow, keep_ranks, rank_row
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.store.writer import copy_store
from minicrawl.web.urls import host_of

LEAST_UNTIL = 1e-12
"""Least error: below it, rounding errors could hide the remaining error."""
HONEST = 0.1
"""Largest error bound of ranks that are kept: beyond it, the crawl's own estimate is as good."""
TOP = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    pages: int
    links: int
    rounds: int
    error_bound: float
    """Upper bound of the error of the shares, summed over all pages."""
    converged: bool
    """True if the bound is as small as requested."""
    moved: float
    """Change of the shares, summed over all pages: 2 at most."""
    top_kept: int
    """Number of the ten first pages that were among the ten first before."""
    store: Path

    @property
    def is_kept(self) -> bool:
        return self.converged or self.error_bound <= HONEST


def refine(
    path: Path,
    *,
    until: float = UNTIL,
    to: Path | None = None,
    progress: Progress = unreported,
    goes_on: GoOn = always,
) -> Refined | None:
    """Refine until the error is no more than `until`, and keep the ranks beside the store.

    With `to`, the store is copied, and the ranks are kept beside the copy. Return None if the
    refinement was interrupted before the first round.
    """
    if not LEAST_UNTIL <= until < 1:
        raise UsageError(f"--until {until:g}: must be a number from {LEAST_UNTIL:g} to below 1")
    with reading(path) as connection, reporting_damage(path):
        terms = _replayable_terms(path, connection)
        if to is not None and to.exists():
            raise UsageError(f"--to {to}: the file exists, and is not overwritten")
        spending_of = partial(step_log.spending, connection)
        frontier = load_frontier(connection, terms, spending_of)
        verify(frontier, connection)
        if (flow := cash_flow(frontier, connection, goes_on)) is None:
            return None
        names = [host_of(origin) for origin in questions.origins(connection)]
        hosts = page_columns.whole(connection, "urls", "host")
        _, site_of = sites_of(names, hosts[: len(frontier)])
        mass, before = rank_mass(flow, frontier), stored_row(path, connection)
        shown = kept_importance(path, connection, frontier).shares
    states, step = frontier.states(), frontier.last_seq
    del frontier  # of which the refinement needs no more
    refinement = Refinement(flow, shown)
    for error in refinement.until(until):
        progress(min(1.0, max(0.0, math.log(error) / math.log(until))))
        if not goes_on():
            break
    importance = refinement.importance
    refined = Refined(
        pages=flow.pages,
        links=flow.links,
        rounds=refinement.rounds,
        error_bound=refinement.error,
        converged=refinement.error <= until,
        moved=float(np.abs(importance - shown).sum()),
        top_kept=len(_top(shown) & _top(importance)),
        store=to or path,
    )
    if refined.is_kept:
        proven = None if mass is None else proven_share(mass, states, goes_on)
        row = _row(refined, step, rank_options(refinement, states, before, proven))
        # Sites rank by the cash that then flows between them.
        pages = np.bincount(site_of)
        given = flow.between(importance, site_of, len(pages)) / np.maximum(pages, 1)
        sites = row._replace(name=OPIC_SITES, options="{}", error_bound=math.inf)
        if to is not None:
            copy_store(path, to)
        with reading(path) as connection:
            keep_ranks(to or path, connection, [(row, importance), (sites, given[site_of])])
    return refined


def _row(refined: Refined, step: int, options: str) -> RankRow:
    return RankRow(
        name=OPIC,
        options=options,
        made_at=time.time(),
        step=step,
        nodes=refined.pages,
        edges=refined.links,
        iterations=refined.rounds,
        error_bound=refined.error_bound,
        converged=refined.converged,
    )


def is_due(path: Path) -> bool:
    with reading(path) as connection:
        row = stored_row(path, connection)
        return row is None or not row.converged or row.step != tables.last_step(connection)


def _replayable_terms(path: Path, connection: tables.Connection) -> StoreTerms:
    terms = tables.terms(connection)
    if terms is None or not questions.hosts_known(connection):
        raise UsageError(f"{path} has no pages yet: run `minicrawl crawl` first")
    if not terms.links:
        raise UsageError(f"{path} was crawled with --no-links: no stored links to replay")
    if terms.shards > 1:
        raise UsageError(
            f"{path} is shard {terms.shard} of {terms.shards}: its pages are linked from others, "
            "so gather all shards into one store first"
        )
    return terms


def stored_row(path: Path, connection: tables.Connection) -> RankRow | None:
    with reading_beside(path, connection) as derived:
        return rank_row(derived, OPIC)


def _top(importance: Floats) -> set[int]:
    return set(np.argsort(-importance, kind="stable")[:TOP].tolist())

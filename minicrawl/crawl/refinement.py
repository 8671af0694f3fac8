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
from minicrawl.frontier.checkpoint import load_frontier, verify
from minicrawl.frontier.importance import (
    UNTIL,
    GoOn,
    always,
    cash_flow,
    kept_beside,
    kept_importance,
)
from minicrawl.frontier.page_table import Frontier
from minicrawl.frontier.url_table import sites_of
from minicrawl.opic.convergence import CashFlow, Refinement
from minicrawl.progress import Progress, unreported
from minicrawl.store import questions, tables
from minicrawl.store.derived import OPIC, OPIC_SITES, RankRow, keep_ranks, rank_row, reading_beside
from minicrawl.store.reader import reading
from minicrawl.store.records import reporting_damage
from minicrawl.store.writer import copy_store
from minicrawl.web.urls import host_of

LEAST_UNTIL = 1e-12
"""Least error: below it, rounding errors could hide the remaining error."""
HONEST = 0.1
"""Largest error bound of ranks that are kept: above it, the crawl's estimate is as good."""
TOP = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """Result of a refinement."""

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
        """True if the ranks are good enough to be kept."""
        return self.converged or self.error_bound <= HONEST


def refine(
    path: Path,
    *,
    until: float = UNTIL,
    to: Path | None = None,
    tell: Progress = unreported,
    goes_on: GoOn = always,
) -> Refined | None:
    """Refine until the error is no more than `until`, and keep the ranks beside the store.

    With `to`, the store is copied, and the ranks are kept beside the copy. Return None if the
    refinement was interrupted before the first round.
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
            copy_store(path, to)
        with reading(path) as connection:
            keep_ranks(to or path, connection, loaded.ranks(found, refinement))
    return found


def is_due(path: Path) -> bool:
    """Return whether the ranks beside the store lack some of its links, or have not converged."""
    with reading(path) as connection:
        row = _kept(path, connection)
        return row is None or not row.converged or row.step != tables.last_step(connection)


def _check(path: Path, until: float, to: Path | None) -> None:
    if not LEAST_UNTIL <= until < 1:
        raise UsageError(f"--until {until:g}: must be a number from {LEAST_UNTIL:g} to below 1")
    with reading(path) as connection, reporting_damage(path):
        terms = tables.terms(connection)
        if terms is None or not questions.hosts_known(connection):
            raise UsageError(f"{path} has no pages yet: run `minicrawl crawl` first")
    if not terms.links:
        raise UsageError(f"{path} was crawled with --no-links: there is nothing to replay")
    if terms.shards > 1:
        raise UsageError(
            f"{path} is shard {terms.shard} of {terms.shards}: its pages are linked from others, "
            "so gather all shards into one store first"
        )
    if to is not None and to.exists():
        raise UsageError(f"{to} exists: --to writes a new store and never overwrites one")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """Data of a store for a refinement, as of one step."""

    step: int
    flow: CashFlow
    shown: Floats
    """Importance as shown before."""
    states: NDArray[np.uint8]
    site_of: NDArray[np.int32]
    before: RankRow | None
    """The ranks that were kept before."""

    @classmethod
    def of(cls, path: Path, connection: tables.Connection, goes_on: GoOn) -> "_Loaded | None":
        """Load the data, or return None if time ran out."""
        frontier = _load(connection)
        flow = cash_flow(frontier, connection, goes_on)
        if flow is None:
            return None
        return cls(
            step=frontier.last_seq,
            flow=flow,
            shown=kept_importance(path, connection, frontier).shares,
            states=frontier.states(),
            site_of=_site_of_pages(connection, len(frontier)),
            before=_kept(path, connection),
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

    def ranks(self, found: Refined, refinement: Refinement) -> list[tuple[RankRow, Floats]]:
        """Return the ranks of pages, and of sites by the cash that then flows between them."""
        row, importance = self._row(found, refinement), refinement.importance
        pages = np.bincount(self.site_of)
        given = self.flow.between(importance, self.site_of, len(pages))
        sites = row._replace(name=OPIC_SITES, options="{}", error_bound=math.inf)
        return [(row, importance), (sites, (given / np.maximum(pages, 1))[self.site_of])]

    def _row(self, found: Refined, refinement: Refinement) -> RankRow:
        return RankRow(
            name=OPIC,
            options=kept_beside(refinement, self.states, self.before),
            made_at=time.time(),
            step=self.step,
            nodes=found.pages,
            edges=found.links,
            iterations=found.rounds,
            error_bound=found.error_bound,
            converged=found.converged,
        )


def _kept(path: Path, connection: tables.Connection) -> RankRow | None:
    with reading_beside(path, connection) as derived:
        return rank_row(derived, OPIC)


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


def _site_of_pages(connection: tables.Connection, pages: int) -> NDArray[np.int32]:
    """Return the number of each page's site."""
    names = [host_of(origin) for origin in questions.origins(connection)]
    hosts = tables.whole(tables.urls(connection, "host"), "host")
    return sites_of(names, hosts[:pages])[1]


def _top(importance: Floats) -> set[int]:
    return set(np.argsort(-importance, kind="stable")[:TOP].tolist())

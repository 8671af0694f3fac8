"""Ranks by name: computed with default options, and saved beside a store.

A name refers to the saved rank of this name. If there is none, as for every graph file, the rank is
computed with its default options. `hits` is short for hits-authorities, `importance` for opic.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from numpy.random import default_rng

from minicrawl import ext
from minicrawl.cli.output import warn
from minicrawl.errors import UsageError
from minicrawl.ext import Registry
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks.centrality import degree, hyperball
from minicrawl.ranks.eigenvector import eigenvector
from minicrawl.ranks.hits import hits
from minicrawl.ranks.pagerank import pagerank
from minicrawl.ranks.pagerank_variants import inverse_pagerank
from minicrawl.ranks.scores import Floats, Scores
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.ranks.trust import chosen_seeds, trust
from minicrawl.report.graph.source import Source
from minicrawl.report.saved_ranks import (
    RISING,
    convergence_of,
    convergence_text,
    kept_scores,
    saved_ranks,
)
from minicrawl.store import tables
from minicrawl.store.derived.file import SET_ASIDE, mend
from minicrawl.store.derived.ranks import OPIC, OPIC_SITES, RankRow, keep_ranks

IMPORTANCE = "importance"
"""Name under which `opic` is displayed, and by which users may call it."""
TRUSTED = 20
"""Default number of trusted pages, if none are given."""

_SEED = 1

Rank = Callable[[NamedGraph, Progress], Scores]


def _sites(named: NamedGraph, tell: Progress) -> Scores:
    linked = site_graph(named)
    return of_pages(pagerank(linked.graph, linked.weights, tell=tell), sites_of(named.names))


BUILT_IN: dict[str, Rank] = {
    "degree": lambda named, _tell: degree(named.graph, named.weights),
    "eigenvector": lambda named, tell: eigenvector(named.graph, named.weights, tell=tell),
    "pagerank": lambda named, tell: pagerank(named.graph, named.weights, tell=tell),
    "inverse-pagerank": lambda named, tell: inverse_pagerank(named.graph, named.weights, tell=tell),
    "trust": lambda named, tell: trust(
        named.graph,
        chosen_seeds(named.graph, named.weights, "inverse", TRUSTED),
        named.weights,
        tell=tell,
    ),
    "hits-authorities": lambda named, tell: hits(named.graph, named.weights, tell=tell).authorities,
    "hits-hubs": lambda named, tell: hits(named.graph, named.weights, tell=tell).hubs,
    "harmonic": lambda named, tell: hyperball(named.graph, rng=default_rng(_SEED), tell=tell),
    "sites": _sites,
}

RANKS = Registry(ext.RANKS, BUILT_IN)
"""Ranks that can be computed by name, with default options."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_LETTER = re.compile("[a-z]")
_LONGEST_NAME = 64


def checked_name(name: str) -> str:
    """Return the name, or refuse it: names must fit column names and comma-separated lists."""
    if len(name) > _LONGEST_NAME:
        raise UsageError(
            f"rank name too long: {len(name):,} characters, at most {_LONGEST_NAME} are allowed"
        )
    if not (_NAME.fullmatch(name) and _LETTER.search(name)):
        raise UsageError(
            f"invalid rank name {name!r}: use a-z, 0-9, '-', '_' and '.', with at least one letter"
        )
    if name in (OPIC, OPIC_SITES, RISING, IMPORTANCE):
        raise UsageError(f"{name} is a rank of the crawl itself: choose another name")
    return name


def keep(
    source: Source, ranks: Mapping[str, Scores], edges: int, options: Mapping[str, object]
) -> None:
    """Save ranks beside their store, all or none; ranks of a graph file are not saved.

    `edges` is the number of links that the ranks were computed from.
    """
    if (snapshot := source.snapshot) is None:
        return
    step = tables.last_step(snapshot.connection)
    text, now = json.dumps(options, default=str), time.time()
    rows = (
        (
            RankRow(
                name=name,
                options=text,
                made_at=now,
                step=step,
                nodes=len(snapshot),
                edges=edges,
                iterations=scores.iterations,
                error_bound=scores.error_bound,
                converged=scores.converged,
            ),
            scores.values,
        )
        for name, scores in ranks.items()
    )
    if aside := mend(snapshot.path):
        warn(SET_ASIDE.format(aside))
    keep_ranks(snapshot.path, snapshot.connection, rows)


class KnownRank(NamedTuple):
    """Scores of all nodes; pages that became known after the rank was computed have NaN."""

    name: str
    scores: Floats
    origin: str
    """Where the scores are from, as text."""


def full_name(source: Source, name: str) -> str:
    """Return the full name of a rank, whose last part may be left out: the first that fits.

    Raises UsageError if it is neither saved nor computable.
    """
    known = dict.fromkeys((*_converged(source), *RANKS))
    if name == IMPORTANCE and OPIC in known:
        return OPIC
    if name in known:
        return name
    for other in known:
        if other.startswith(f"{name}-"):
            return other
    raise UsageError(f"unknown rank {name!r}; known: {', '.join(known)}")


def rank_of(source: Source, name: str) -> KnownRank:
    """Return the saved rank of this full name, or compute it."""
    snapshot = source.snapshot
    if snapshot is not None and (saved := kept_scores(snapshot, name)) is not None:
        if name == OPIC:
            return KnownRank(name, saved, convergence_text(convergence_of(snapshot)))
        return KnownRank(name, saved, _origin("saved", converged=_converged(source)[name]))
    graph = source.graph
    with source.progress(name) as tell:
        scores = RANKS[name](graph, tell)
    origin = _origin("with default options", converged=scores.converged)
    return KnownRank(name, scores.values, origin)


def _converged(source: Source) -> dict[str, bool]:
    """Map saved ranks to True if converged. opic describes its convergence itself."""
    if (snapshot := source.snapshot) is None:
        return {}
    rows = saved_ranks(snapshot.path, snapshot.connection)
    return {OPIC: True} | {row.name: row.converged for row in rows}


def _origin(origin: str, *, converged: bool) -> str:
    return origin if converged else f"{origin}, not converged"

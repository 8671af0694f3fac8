"""Every rank by its name, with its usual options, and how the ranks of a store are kept."""

import json
import re
import time
from collections.abc import Callable, Mapping

from numpy.random import default_rng

from minicrawl import plugins
from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.plugins import Registry
from minicrawl.progress import Progress
from minicrawl.ranks.centrality import degree, hyperball
from minicrawl.ranks.eigenvector import eigenvector
from minicrawl.ranks.hits.hits import hits
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.ranks.walks.pagerank import pagerank
from minicrawl.ranks.walks.trust import chosen_seeds, trust
from minicrawl.ranks.walks.variants import inverse_pagerank
from minicrawl.report.kept import RISING
from minicrawl.store import tables
from minicrawl.store.beside.derived import OPIC, OPIC_SITES, RankRow, keep_ranks

IMPORTANCE = "importance"
"""What `opic` is called wherever it is shown."""
TRUSTED = 20
"""So many seeds are chosen for trust where none are named."""


def _trust(named: NamedGraph, tell: Progress) -> Scores:
    seeds = chosen_seeds(named.graph, named.weights, "inverse", TRUSTED)
    return trust(named.graph, seeds, named.weights, tell=tell)


def _sites(named: NamedGraph, tell: Progress) -> Scores:
    linked = site_graph(named)
    return of_pages(pagerank(linked.graph, linked.weights, tell=tell), sites_of(named.names))


_SEED = 1

Rank = Callable[[NamedGraph, Progress], Scores]
"""What computes a rank of a graph."""

_BUILT_IN: dict[str, Rank] = {
    "degree": lambda named, _tell: degree(named.graph, named.weights),
    "eigenvector": lambda named, tell: eigenvector(named.graph, named.weights, tell=tell),
    "pagerank": lambda named, tell: pagerank(named.graph, named.weights, tell=tell),
    "inverse-pagerank": lambda named, tell: inverse_pagerank(named.graph, named.weights, tell=tell),
    "trust": _trust,
    "hits-authorities": lambda named, tell: hits(named.graph, named.weights, tell=tell).authorities,
    "hits-hubs": lambda named, tell: hits(named.graph, named.weights, tell=tell).hubs,
    "harmonic": lambda named, tell: hyperball(named.graph, rng=default_rng(_SEED), tell=tell),
    "sites": _sites,
}

RANKS = Registry(plugins.RANKS, _BUILT_IN)
"""What `compare` and `stability` compute where nothing is kept."""


# ---------------------------------------------------------------- kept beside the store

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_LETTER = re.compile("[a-z]")
_LONGEST_NAME = 64


def checked_name(name: str) -> str:
    """A name that a rank may have: part of a column's name, and of a list with commas."""
    if len(name) > _LONGEST_NAME:
        raise UsageError(
            f"the name of a rank has at most {_LONGEST_NAME} characters, not {len(name):,}"
        )
    if not _NAME.fullmatch(name):
        raise UsageError(f"a rank is named by a-z, 0-9, '-', '_' and '.', not {name!r}")
    if not _LETTER.search(name):
        raise UsageError(f"the name of a rank has a letter, and {name} has none: such as r{name}")
    if name in (OPIC, OPIC_SITES, RISING, IMPORTANCE):
        raise UsageError(f"{name} is a rank of the crawl itself: choose another name")
    return name


def keep(
    source: Source, found: Mapping[str, Scores], edges: int, options: Mapping[str, object]
) -> None:
    """Keep the ranks of a store, all of them or none; those of a graph file are not kept.

    `edges` are the links that they were made of.
    """
    if (seen := source.snapshot) is None:
        return
    step = tables.last_step(seen.connection)
    text, now = json.dumps(options, default=str), time.time()
    rows = (
        (
            RankRow(
                name=name,
                options=text,
                made_at=now,
                step=step,
                nodes=len(seen),
                edges=edges,
                iterations=scores.iterations,
                error_bound=scores.error_bound,
                converged=scores.converged,
            ),
            scores.values,
        )
        for name, scores in found.items()
    )
    keep_ranks(seen.path, seen.connection, rows)

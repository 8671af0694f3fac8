"""Ranks by name: computed with default options, saved beside a store, listed and compared.

A name refers to the saved rank of this name. If there is none, as for every graph file, the rank is
computed with its default options. `hits` is short for hits-authorities, `importance` for opic.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from numpy.random import default_rng

from minicrawl import ext
from minicrawl.cli.options import (
    json_option,
    sizes_option,
    source_options,
    warn_of_unranked_pages,
)
from minicrawl.cli.output import (
    NONE,
    correlation,
    share,
    short_time,
    show_facts,
    show_json,
    show_lines,
    show_list,
)
from minicrawl.errors import UsageError
from minicrawl.ext import Registry
from minicrawl.graph.csr import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks.centrality import degree, eigenvector, hyperball
from minicrawl.ranks.hits import hits
from minicrawl.ranks.pagerank import chosen_seeds, inverse_pagerank, pagerank, trust
from minicrawl.ranks.scores import Comparison, Floats, RankErrors, Scores, compare as compare_scores
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.report.snapshot import (
    RISING,
    SavedRank,
    convergence_of,
    kept_scores,
    saved_ranks,
    told,
)
from minicrawl.report.store_graph import Source
from minicrawl.store import tables
from minicrawl.store.derived import OPIC, OPIC_SITES, RankRow, drop_rank, keep_ranks
from minicrawl.store.reader import reading
from minicrawl.store.tables import Connection
from minicrawl.wording import counted, iso

IMPORTANCE = "importance"
"""Name under which `opic` is displayed."""
TRUSTED = 20
"""Default number of trusted pages, if none are given."""

_SEED = 1

Rank = Callable[[NamedGraph, Progress], Scores]
"""Computes a rank of a graph."""


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


# ---------------------------------------------------------------- saving

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
    source: Source, found: Mapping[str, Scores], edges: int, options: Mapping[str, object]
) -> None:
    """Save ranks beside their store, all or none; ranks of a graph file are not saved.

    `edges` is the number of links that the ranks were computed from.
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


# ---------------------------------------------------------------- lookup


class KnownRank(NamedTuple):
    """Scores of all nodes; pages that became known after the rank was computed have NaN."""

    name: str
    scores: Floats
    origin: str
    """Where the scores are from, as text."""


def full_name(source: Source, name: str) -> str:
    """Return the full name of a rank, or raise UsageError if it is neither saved nor computable."""
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
    """Return the saved rank of this name, or compute it."""
    seen = source.snapshot
    if seen is not None and (found := kept_scores(seen, name)) is not None:
        if name == OPIC:
            return KnownRank(name, found, told(convergence_of(seen)))
        return KnownRank(name, found, _origin("saved", converged=_converged(source)[name]))
    graph = source.graph
    with source.progress(name) as tell:
        scores = RANKS[name](graph, tell)
    origin = _origin("with default options", converged=scores.converged)
    return KnownRank(name, scores.values, origin)


def _converged(source: Source) -> dict[str, bool]:
    """Map saved ranks to True if converged. opic describes its convergence itself."""
    if (seen := source.snapshot) is None:
        return {}
    rows = (one.row for one in saved_ranks(seen.path, seen.connection))
    return {OPIC: True} | {row.name: row.converged for row in rows}


def _origin(origin: str, *, converged: bool) -> str:
    return origin if converged else f"{origin}, not converged"


# ================================================================ list
#
# `minicrawl rank` alone: the ranks saved beside a store.

LIST_HEADINGS = ("nodes", "links", "iterations", "error", "made at", "name", "options and state")
NO_RANKS = "no ranks: `minicrawl rank pagerank` makes one"


def list_ranks(store: Path, removed: tuple[str, ...], as_json: bool) -> None:
    """Delete `removed` ranks, then list the others with their options and state."""
    with reading(store) as connection:
        _remove(store, connection, removed)
        found = saved_ranks(store, connection)
    if as_json:
        show_json([_rank_document(one) for one in found])
    elif found:
        show_list(LIST_HEADINGS, map(_rank_line, found), texts=2)
    else:
        click.echo(NO_RANKS)


def _remove(store: Path, connection: Connection, names: Sequence[str]) -> None:
    """Delete these ranks; if one is missing, delete none."""
    known = {one.row.name for one in saved_ranks(store, connection)} if names else set()
    if unknown := [name for name in names if name not in known]:
        saved = ", ".join(sorted(known)) or "none"
        raise UsageError(f"rank {unknown[0]!r} is not saved; saved: {saved}")
    for name in names:
        drop_rank(store, connection, name)


def _rank_document(kept: SavedRank) -> dict[str, object]:
    row = kept.row
    return {
        "name": row.name,
        "options": json.loads(row.options),
        "made_at": iso(row.made_at),
        "nodes": row.nodes,
        "edges": row.edges,
        "iterations": row.iterations,
        "error_bound": row.error_bound if math.isfinite(row.error_bound) else None,
        "converged": row.converged,
        "current": kept.is_current,
        "unranked": kept.unranked,
    }


def _rank_line(kept: SavedRank) -> tuple[str, ...]:
    row = kept.row
    options = json.loads(row.options).items()
    notes = [f"{name} {value}" for name, value in options if value not in (None, False)]
    if not row.converged:
        notes.append("not converged")
    if not kept.is_current:
        pages = counted(kept.unranked, "page has", "pages have")
        notes.append(f"older than the store: {pages} no score")
    return (
        f"{row.nodes:,}",
        f"{row.edges:,}",
        f"{row.iterations:,}",
        f"{row.error_bound:.1e}" if math.isfinite(row.error_bound) else "-",
        short_time(iso(row.made_at)),
        row.name,
        "; ".join(notes),
    )


# ================================================================ compare
#
# `minicrawl lab compare`: the agreement of two ranks.

_MANY, _MOST = 100, 1_000_000


@click.command()
@click.argument("a")
@click.argument("b")
@sizes_option("10,100,1000")
@json_option
@source_options
def compare(source: Source, a: str, b: str, ks: Sequence[int], as_json: bool) -> None:
    """Compare two ranks, A and B.

    The error of a page is the difference between A and B, relative to B. If B is close to 0, the
    mean error is huge; use the median.

    `opic`, or `importance`, is the order of `top`; `minicrawl lab compare opic pagerank` shows its
    quality. A missing rank is computed with its default options, and not saved.
    """
    if source.snapshot is not None:
        warn_of_unranked_pages(source.snapshot, {a, b})
    a, b = full_name(source, a), full_name(source, b)
    first = rank_of(source, a)
    second = first if a == b else rank_of(source, b)
    with source.progress("comparison") as tell:
        comparison = compare_scores(first.scores, second.scores, ks, tell=tell)
    if as_json:
        show_json(_comparison_document(first, second, comparison))
    else:
        show_facts(_comparison_facts(first, second, comparison))
        show_lines(comparison.remarks)


def _comparison_document(
    one: KnownRank, other: KnownRank, comparison: Comparison
) -> dict[str, object]:
    errors = {"all": comparison.errors, "top10": comparison.errors_top10}
    return {
        "a": one.name,
        "b": other.name,
        "origins": [one.origin, other.origin],
        "nodes": comparison.nodes,
        "left_out": comparison.left_out,
        "kendall_tau": comparison.kendall,
        "spearman": comparison.spearman,
        "overlap": comparison.overlap,
        "mean_relative_error": {name: found and found.mean for name, found in errors.items()},
        "median_relative_error": {name: found and found.median for name, found in errors.items()},
        "remarks": comparison.remarks,
    }


def _comparison_facts(
    one: KnownRank, other: KnownRank, comparison: Comparison
) -> Iterator[tuple[str, str]]:
    yield "a", f"{one.name}, {one.origin}"
    yield "b", f"{other.name}, {other.origin}"
    yield "nodes", f"{comparison.nodes:,}; {comparison.left_out:,} without a score in both"
    yield "Kendall's tau-b", correlation(comparison.kendall)
    yield "Spearman", correlation(comparison.spearman)
    for k, overlap in comparison.overlap.items():
        yield f"best {k:,}", NONE if overlap is None else f"{share(overlap)} in both"
    yield "mean error", _errors(comparison.errors)
    yield "in the best 10 % of b", _errors(comparison.errors_top10)


def _errors(found: RankErrors | None) -> str:
    if found is None:
        return NONE
    return f"{_relative(found.mean)}, median {_relative(found.median)}"


def _relative(error: float) -> str:
    if error < _MANY:
        return share(error)
    return f"{error:,.0f} times" if error < _MOST else "more than a million times"

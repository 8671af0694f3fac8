"""Every rank by name with default options, and how the ranks of a store are saved."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from minicrawl import plugins
from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Vector
from minicrawl.graph.csr import NamedGraph
from minicrawl.opic.estimate import shares
from minicrawl.plugins import Registry
from minicrawl.progress import Progress
from minicrawl.ranks.centrality import degree, eigenvector, hyperball
from minicrawl.ranks.hits import hits
from minicrawl.ranks.pagerank import pagerank
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.ranks.trust import chosen_seeds, inverse_pagerank, trust
from minicrawl.report.kept import RISING
from minicrawl.report.ranks import places_of_largest
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.source import Source
from minicrawl.store import questions, tables
from minicrawl.store.derived import OPIC, OPIC_SITES, RankRow, keep_ranks
from minicrawl.store.reader import search_folder
from minicrawl.store.records import DocumentRow, reporting_damage
from minicrawl.web.responses import http_date

IMPORTANCE = "importance"
"""Name under which `opic` is displayed."""
TRUSTED = 20
"""Number of seeds chosen for trust if none are given."""


def _trust(named: NamedGraph, tell: Progress) -> Scores:
    seeds = chosen_seeds(named.graph, named.weights, "inverse", TRUSTED)
    return trust(named.graph, seeds, named.weights, tell=tell)


def _sites(named: NamedGraph, tell: Progress) -> Scores:
    linked = site_graph(named)
    return of_pages(pagerank(linked.graph, linked.weights, tell=tell), sites_of(named.names))


_SEED = 1

Rank = Callable[[NamedGraph, Progress], Scores]
"""Computes a rank of a graph."""

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
"""Ranks that `compare` and `lab stability` compute if none is saved."""


# ---------------------------------------------------------------- kept beside the store

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_LETTER = re.compile("[a-z]")
_LONGEST_NAME = 64


def checked_name(name: str) -> str:
    """Return a valid name of a rank; names are used in column names and comma-separated lists."""
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
    """Save the ranks of a store, all or none; ranks of a graph file are not saved.

    `edges` is the number of links that they were computed from.
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


# ================================================================ facts
#
# Facts of a store beyond its links: titles, and when pages changed.
#
# titles  The words of a page are those of its title and its URL.
# change  A page changed last at its Last-Modified. Without one, the time is that of its first
#         reading, or of the last reading if its content has changed since then.
#
# A query on a graph begins with its root set: the nodes of a list, or the pages of a store found by
# the search index, or else those whose title or URL has the words. The rank of a base set may be
# mixed with the similarity of its pages to the query: the cosine of two sets of words, those of the
# query and those of title and URL.

_DAY_S = 86_400


# ---------------------------------------------------------------- pages


def texts_of(source: Source, topics: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """Return the words for each topic's nodes: their names, and in a store their titles."""
    return {
        topic: source.names.of(nodes) + _titles(source.snapshot, nodes)
        for topic, nodes in topics.items()
    }


def _titles(seen: Snapshot | None, nodes: Sequence[int]) -> list[str]:
    if seen is None:
        return []
    with reporting_damage(seen.path):
        return [document.title for document in questions.documents(seen.connection, nodes)]


def days_unchanged(source: Source) -> Vector:
    """Return the days since each page's last change, as of the last reading; NaN if unread."""
    if (seen := source.snapshot) is None:
        raise UsageError("a graph file does not say when pages changed: use a store")
    changed, newest = np.full(len(seen), np.nan), -np.inf
    with reporting_damage(seen.path):
        for document in tables.all_documents(seen.connection):
            changed[document.page] = _changed_at(document)
            newest = max(newest, document.last_at)
    if np.isnan(changed).all():
        raise UsageError("no page was read yet: nothing is known of when pages changed")
    days: Vector = np.maximum(newest - changed, 0) / _DAY_S
    return days


def _changed_at(document: DocumentRow) -> float:
    date = http_date(document.last_modified or "")
    if date is not None and date.timestamp() <= document.last_at:
        return date.timestamp()
    return document.last_at if document.changes else document.first_at


# ---------------------------------------------------------------- root sets


_PAGES_AT_ONCE = 10_000
_WORD = re.compile(r"\w+")


class Roots(NamedTuple):
    """Nodes found in the graph, and listed names that it does not have."""

    nodes: list[int]
    unknown: list[str]


def listed(named: NamedGraph, lines: Iterable[str]) -> Roots:
    """Return the nodes that the lines name; `#` begins a comment line."""
    texts = (line.strip() for line in lines)
    names = list(dict.fromkeys(text for text in texts if text and not text.startswith("#")))
    places = dict(zip(names, named.names.find(names), strict=True))
    unknown = [name for name, node in places.items() if node is None]
    nodes = [node for node in places.values() if node is not None]
    if not nodes:
        raise UsageError(f"no root of {len(names):,} is in the graph: name its nodes, one per line")
    return Roots(nodes, unknown)


def having(source: Source, words: str, count: int) -> list[int]:
    """Return the best pages for a query by the search index.

    Without an index, return the most important pages whose title or URL has all words.
    """
    if (seen := source.snapshot) is None:
        raise UsageError("--query searches the pages of a store: use --root with --graph")
    if (by_index := _found_by_index(seen, words, count)) is not None:
        return by_index
    with reporting_damage(seen.path):
        found = questions.pages_with(seen.connection, words.split())
    if not words.split() or not found:
        raise UsageError(
            f"no page has {words!r} in its title or URL: ask for fewer words, or run "
            "`minicrawl index` to search the text of kept pages"
        )
    pages = np.array(found)
    return [int(page) for page in pages[places_of_largest(seen.importance[pages], count)]]


def _found_by_index(seen: Snapshot, words: str, count: int) -> list[int] | None:
    """Return pages by their whole text; None without a usable index."""
    if not search_folder(seen.path).is_dir():
        return None
    try:
        from minicrawl.search.indexing import has_index, why_useless
        from minicrawl.search.query import parse
        from minicrawl.search.searching import Finder, SearchRequest
    except ModuleNotFoundError:  # without the search, titles and URLs are looked at
        return None

    folder = search_folder(seen.path)
    if not has_index(folder) or why_useless(folder, seen.connection):
        return None
    asked = SearchRequest(count=count, folds=False)
    found = [one.entry.page for one in Finder(folder).find(parse(words), asked)]
    known = [page for page in found if page < len(seen)]
    if not known:
        raise UsageError(f"no page in the index has {words!r}: ask for fewer words")
    return known


# ---------------------------------------------------------------- pages by their words


def likeness_to(source: Source, query: str, nodes: NDArray[np.int64]) -> Vector:
    """Return the similarity of each of these pages of a store to the query, from 0 to 1."""
    assert source.snapshot is not None, "a search found the pages in a store"
    connection, asked = source.snapshot.connection, _words(query)
    found = []
    for first in range(0, len(nodes), _PAGES_AT_ONCE):
        pages = nodes[first : first + _PAGES_AT_ONCE].tolist()
        titles = {row.page: row.title for row in questions.documents(connection, pages)}
        urls = questions.locations(connection, pages).urls
        for page, url in zip(pages, urls, strict=True):
            words = _words(f"{url} {titles.get(page, '')}")
            found.append(len(asked & words) / sqrt(max(len(asked) * len(words), 1)))
    return np.array(found)


def joined(scores: Scores, likeness: Vector, part: float) -> Scores:
    """Return (1 - part) * scores + part * likeness, both as shares."""
    values = (1 - part) * scores.values + part * shares(likeness)
    return replace(scores, values=values, error_bound=(1 - part) * scores.error_bound)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))

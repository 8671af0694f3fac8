"""Base sets for ranks, and weights of links, by a query.

A base set is a root set from titles, URLs or the index, and its neighbourhood. Links are weighed by
similarity of pages, and by words of pages and links.
"""

import re
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli.parameters import number, option
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graph.products import Vector
from minicrawl.opic.importance.estimate import shares
from minicrawl.ranks.commands.running import lines_of, nodes_of
from minicrawl.ranks.guards import with_marked_links
from minicrawl.ranks.hits import LINKING, ROOTS, BaseSet, base_set
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source
from minicrawl.report.snapshot import Snapshot, places_of_largest
from minicrawl.store import questions, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import search_folder
from minicrawl.web.words import words_of
from minicrawl.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSetChoice:
    """Options of a base set: its roots, from a file or a query, and the limits of its growth.

    Without both, it is the whole graph.
    """

    root: str | None = option(
        "Rank only the base set of the nodes in this file, one per line; - for stdin.",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    )
    query: str | None = option(
        "Rank only the base set of the search results for these words; without an index, of the "
        "best pages with the words in title or URL.",
        metavar="WORDS",
    )
    roots: int | None = number("Start from the N best results of --query.", usual=ROOTS)
    linking: int | None = number(
        "Add at most D pages that link to a root, besides all pages that it links to.",
        least=0,
        metavar="D",
        usual=LINKING,
    )

    def __post_init__(self) -> None:
        has_words = click.get_current_context().params.get("words")
        if self.root is not None and self.query is not None and not has_words:
            raise click.UsageError(
                "--root and --query cannot be combined; `hits --words` takes both"
            )
        if self.root is None and not (self.query or "").strip() and self.linking is not None:
            raise click.UsageError("--linking needs --root or --query")
        if self.roots is not None and (self.query is None or self.root is not None):
            raise click.UsageError("--roots needs --query without --root")

    def grown(self, source: Source, named: NamedGraph) -> BaseSet:
        """Return the base set in this graph of the source, and print its size."""
        if self.root is None and self.query is None:
            return BaseSet(named, np.arange(named.graph.nodes))
        if self.root is None:
            nodes = pages_of_query(source, self.query or "", self.roots or ROOTS)
        else:
            names = list(dict.fromkeys(lines_of(Path(self.root))))
            nodes = nodes_of(named, names, self.root)
        base = base_set(named, nodes, LINKING if self.linking is None else self.linking)
        graph = base.named.graph
        click.echo(
            f"base set: {counted(graph.nodes, 'node')} and {counted(graph.edges, 'link')}, "
            f"from {counted(len(nodes), 'root')}",
            err=True,
        )
        return base


def pages_of_query(source: Source, words: str, count: int) -> list[int]:
    """Return the best results for a query in the search index.

    Without an index, return the most important pages with all words in title or URL.
    """
    if (snapshot := source.snapshot) is None:
        raise UsageError("--query searches the pages of a store: use --root with --graph")
    if (by_index := _results_in_index(snapshot, words, count)) is not None:
        return by_index
    with reporting_damage(snapshot.path):
        matching = questions.pages_with(snapshot.connection, words.split())
    if not words.split() or not matching:
        raise UsageError(
            f"no page has {words!r} in its title or URL: use fewer words, or run "
            "`minicrawl index` to search the text of kept pages"
        )
    pages = np.array(matching)
    return [int(page) for page in pages[places_of_largest(snapshot.importance[pages], count)]]


def _results_in_index(snapshot: Snapshot, words: str, count: int) -> list[int] | None:
    """Return the best results in the index; None without a usable index."""
    if not search_folder(snapshot.path).is_dir():
        return None
    try:
        from minicrawl.search.indexing.index_folder import has_index, why_useless
        from minicrawl.search.searching import Finder, SearchRequest
        from minicrawl.search.words.query import parse
    except ModuleNotFoundError:  # the room `search` was deleted
        return None

    folder = search_folder(snapshot.path)
    if not has_index(folder) or why_useless(folder, snapshot.connection):
        return None
    request = SearchRequest(count=count, folds=False)
    results = [result.entry.page for result in Finder(folder).find(parse(words), request)]
    known = [page for page in results if page < len(snapshot)]
    if not known:
        raise UsageError(f"no page in the index has {words!r}: use fewer words")
    return known


_PAGES_AT_ONCE = 10_000
_WORD = re.compile(r"\w+")


def similarity_to(source: Source, query: str, nodes: NDArray[np.int64]) -> Vector:
    """Return the similarity of each of these pages of a store to the query, from 0 to 1."""
    assert source.snapshot is not None, "a search found the pages in a store"
    connection, query_words = source.snapshot.connection, _distinct_words(query)
    similarities = []
    for first in range(0, len(nodes), _PAGES_AT_ONCE):
        pages = nodes[first : first + _PAGES_AT_ONCE].tolist()
        titles = {row.page: row.title for row in questions.documents(connection, pages)}
        urls = questions.locations(connection, pages).urls
        for page, url in zip(pages, urls, strict=True):
            words = _distinct_words(f"{url} {titles.get(page, '')}")
            similarities.append(
                len(query_words & words) / sqrt(max(len(query_words) * len(words), 1))
            )
    return np.array(similarities)


def _distinct_words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def mixed_with_similarity(scores: Scores, similarity: Vector, part: float) -> Scores:
    """Return (1 - part) * scores + part * similarity, both as shares."""
    values = (1 - part) * scores.values + part * shares(similarity)
    return replace(scores, values=values, error_bound=(1 - part) * scores.error_bound)


def weighed_by_similarity(named: NamedGraph, similarity: Vector, query: str) -> NamedGraph:
    """Return the graph with links weighted by the similarity of their ends to a query."""
    graph = named.graph
    weights = ((similarity[graph.sources()] + similarity[graph.targets]) / 2).astype(np.float32)
    if not weights.any():
        raise UsageError(f"no linked page has a word of {query!r} in its title or URL")
    if named.weights is not None:
        weights *= named.weights
    return with_marked_links(replace(named, weights=weights), weights > 0)


def has_kept_pages(source: Source) -> bool:
    """Return True if a store has kept pages, so that the words of links can be read."""
    snapshot = source.snapshot
    return snapshot is not None and tables.archive_end(snapshot.connection) is not None


def weighed_by_words(source: Source, named: NamedGraph, query: str) -> NamedGraph:
    """Return a base set with links weighted by the query words in and around them.

    If a page has several links to another page, the best one counts.
    """
    from minicrawl.report.archived.page_versions import words_of_links

    if source.snapshot is None:
        raise UsageError("--words needs a store: a graph file has no words")
    snapshot, nodes = source.snapshot, len(named.names)
    urls, query_words = named.names.of(range(nodes)), set(words_of(query))
    node_of = {url: node for node, url in enumerate(urls)}
    counts: dict[int, int] = {}
    for page, url, text in words_of_links(snapshot, urls):
        words = sum(word in query_words for word in words_of(text))
        target = node_of.get(url) if words else None
        if words and target is None:
            (known,) = source.names.find([url])
            if known is not None:  # it may redirect
                (end,) = source.names.of([snapshot.frontier.books.stands_for(known)])
                target = node_of.get(end)
        if target is not None:
            key = page * nodes + target
            counts[key] = max(words, counts.get(key, 0))
    links = np.fromiter(counts, np.int64, len(counts))
    amounts = np.fromiter(counts.values(), np.float64, len(counts))
    graph = named.graph
    keys = graph.sources().astype(np.int64) * graph.nodes + graph.targets
    is_there = np.isin(links, keys)  # guards may have dropped links
    weights = np.ones(graph.edges, dtype=np.float32)
    np.add.at(weights, np.searchsorted(keys, links[is_there]), amounts[is_there])
    if (weights == 1).all():
        raise UsageError(
            f"no link of these pages has a word of {query!r} in or around it, in the pages kept"
        )
    if named.weights is not None:
        weights *= named.weights
    return replace(named, weights=weights)

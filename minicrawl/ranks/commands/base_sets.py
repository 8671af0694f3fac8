"""Ranking by a query: base sets, and link weights from the words of pages and links.

A base set has roots, all pages that they link to, and some of the pages that link to them. The
roots are named in a file, or found by a query: in the search index of a store, or without an index
in titles and URLs.

The query may change the weights of links in a base set:

words       weight = 1 + n, where n counts the query words, with repetitions, in the link and in the
            50 characters on either side (Chakrabarti et al., 1998), read from the archive
similarity  weight = mean similarity of the two pages to the query. The similarity of a page is the
            cosine between the words of the query and the words of its title and URL. A link between
            two pages without any similarity is dropped
"""

import functools
import re
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli.input_options import Command
from minicrawl.errors import UsageError
from minicrawl.graph.csr import Ids, NamedGraph, Vector
from minicrawl.opic.estimate import shares
from minicrawl.ranks.commands.rank_options import lines_of, nodes_of
from minicrawl.ranks.hits import LINKING, ROOTS, BaseSet, base_set
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import with_marked_links
from minicrawl.report.snapshot import Snapshot, places_of_largest
from minicrawl.report.store_graph import Source
from minicrawl.store import questions, tables
from minicrawl.store.reader import search_folder
from minicrawl.store.records import reporting_damage
from minicrawl.web.words import words_of
from minicrawl.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSetChoice:
    """Options of a base set: its roots, from a file or a query, and the limits of its growth."""

    root: str | None
    query: str | None
    roots: int
    linking: int

    def grown(self, source: Source, named: NamedGraph) -> BaseSet:
        """Return the base set in this graph of the source, and print its size."""
        if self.root is None:
            nodes = found_by_query(source, self.query or "", self.roots)
        else:
            names = list(dict.fromkeys(lines_of(Path(self.root))))
            nodes = nodes_of(named, names, self.root)
        base = base_set(named, nodes, self.linking)
        graph = base.named.graph
        click.echo(
            f"base set: {counted(graph.nodes, 'node')} and {counted(graph.edges, 'link')}, "
            f"from {counted(len(nodes), 'root')}",
            err=True,
        )
        return base


_OPTIONS = (
    click.option(
        "--root",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True),
        help="Rank only the base set of the nodes in this file, one per line; - for stdin.",
    ),
    click.option(
        "--query",
        metavar="WORDS",
        help="Rank only the base set of the search results for these words; without an index, of "
        "the best pages with the words in title or URL.",
    ),
    click.option(
        "--roots",
        metavar="N",
        type=click.IntRange(min=1),
        help=f"Start from the N best results of --query.  [default: {ROOTS}]",
    ),
    click.option(
        "--linking",
        metavar="D",
        type=click.IntRange(min=0),
        help="Add at most D pages that link to a root, besides all pages that it links to.  "
        f"  [default: {LINKING}]",
    ),
)


def base_set_options(command: Command) -> Command:
    """Pass `base`, the base set to rank, to the command; None for the whole graph."""

    @functools.wraps(command)
    def with_base(
        *, root: str | None, query: str | None, roots: int | None, linking: int | None, **rest: Any
    ) -> Any:
        if root is not None and query is not None and not rest.get("words"):
            raise click.UsageError(
                "--root and --query cannot be combined; `hits --words` takes both"
            )
        if root is None and (query is None or not query.strip()) and linking is not None:
            raise click.UsageError("--linking needs --root or --query")
        if roots is not None and (query is None or root is not None):
            raise click.UsageError("--roots needs --query without --root")
        if root is None and query is None:
            return command(base=None, **rest)
        choice = BaseSetChoice(
            root=root,
            query=query,
            roots=roots or ROOTS,
            linking=LINKING if linking is None else linking,
        )
        return command(base=choice, **rest)

    decorated: Command = with_base
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


# ================================================================ root sets


def found_by_query(source: Source, words: str, count: int) -> list[int]:
    """Return the best results for a query in the search index.

    Without an index, return the most important pages with all words in title or URL.
    """
    if (seen := source.snapshot) is None:
        raise UsageError("--query searches the pages of a store: use --root with --graph")
    if (by_index := _found_by_index(seen, words, count)) is not None:
        return by_index
    with reporting_damage(seen.path):
        found = questions.pages_with(seen.connection, words.split())
    if not words.split() or not found:
        raise UsageError(
            f"no page has {words!r} in its title or URL: use fewer words, or run "
            "`minicrawl index` to search the text of kept pages"
        )
    pages = np.array(found)
    return [int(page) for page in pages[places_of_largest(seen.importance[pages], count)]]


def _found_by_index(seen: Snapshot, words: str, count: int) -> list[int] | None:
    """Return the best results in the index; None without a usable index."""
    if not search_folder(seen.path).is_dir():
        return None
    try:
        from minicrawl.search.indexing import has_index, why_useless
        from minicrawl.search.query import parse
        from minicrawl.search.searching import Finder, SearchRequest
    except ModuleNotFoundError:  # the room `search` was deleted
        return None

    folder = search_folder(seen.path)
    if not has_index(folder) or why_useless(folder, seen.connection):
        return None
    asked = SearchRequest(count=count, folds=False)
    found = [one.entry.page for one in Finder(folder).find(parse(words), asked)]
    known = [page for page in found if page < len(seen)]
    if not known:
        raise UsageError(f"no page in the index has {words!r}: use fewer words")
    return known


# ================================================================ similarity

_PAGES_AT_ONCE = 10_000
_WORD = re.compile(r"\w+")


def similarity_to(source: Source, query: str, nodes: NDArray[np.int64]) -> Vector:
    """Return the similarity of each of these pages of a store to the query, from 0 to 1."""
    assert source.snapshot is not None, "a search found the pages in a store"
    connection, wanted = source.snapshot.connection, _distinct_words(query)
    found = []
    for first in range(0, len(nodes), _PAGES_AT_ONCE):
        pages = nodes[first : first + _PAGES_AT_ONCE].tolist()
        titles = {row.page: row.title for row in questions.documents(connection, pages)}
        urls = questions.locations(connection, pages).urls
        for page, url in zip(pages, urls, strict=True):
            words = _distinct_words(f"{url} {titles.get(page, '')}")
            found.append(len(wanted & words) / sqrt(max(len(wanted) * len(words), 1)))
    return np.array(found)


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


# ================================================================ words of links


def has_kept_pages(source: Source) -> bool:
    """Return True if a store has kept pages, so that the words of links can be read."""
    seen = source.snapshot
    return seen is not None and tables.archive_end(seen.connection) is not None


def weighed_by_words(source: Source, named: NamedGraph, query: str) -> NamedGraph:
    """Return a base set with links weighted by the query words in and around them.

    If a page has several links to another page, the best one counts.
    """
    from minicrawl.report.archived_pages import words_of_links

    if source.snapshot is None:
        raise UsageError("--words needs a store: a graph file has no words")
    seen, nodes = source.snapshot, len(named.names)
    urls, wanted = named.names.of(range(nodes)), set(words_of(query))
    node_of = {url: node for node, url in enumerate(urls)}
    counts: dict[int, int] = {}
    for link in words_of_links(seen, urls):
        words = sum(word in wanted for word in words_of(link.words))
        target = _end(seen, source, node_of, link.target) if words else None
        if target is not None:
            key = link.source * nodes + target
            counts[key] = max(words, counts.get(key, 0))
    return _weighed(
        named,
        np.fromiter(counts, np.int64, len(counts)),
        np.fromiter(counts.values(), np.float64, len(counts)),
        f"no link of these pages has a word of {query!r} in or around it, in the pages kept",
    )


def _weighed(named: NamedGraph, links: Ids, amounts: Vector, why_none: str) -> NamedGraph:
    """Add `amounts` to the weights of links, which are 1. Links that guards dropped are skipped.

    A link is source * nodes + target.
    """
    graph = named.graph
    keys = graph.sources().astype(np.int64) * graph.nodes + graph.targets
    is_there = np.isin(links, keys)
    weights = np.ones(graph.edges, dtype=np.float32)
    np.add.at(weights, np.searchsorted(keys, links[is_there]), amounts[is_there])
    if (weights == 1).all():
        raise UsageError(why_none)
    if named.weights is not None:
        weights *= named.weights
    return replace(named, weights=weights)


def _end(seen: Snapshot, source: Source, node_of: dict[str, int], url: str) -> int | None:
    """Return the node that a link to this URL leads to, after redirects."""
    if url in node_of:
        return node_of[url]
    (page,) = source.names.find([url])
    if page is None:
        return None
    (end,) = source.names.of([seen.frontier.books.stands_for(page)])
    return node_of.get(end)

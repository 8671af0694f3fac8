"""Link weights from the words in and around links (Chakrabarti et al., 1998).

    weight = 1 + n      n: number of query words, with repetitions, in the link and in the
                        50 characters on either side

Alternatively, a link weighs the mean similarity of its two pages to the query; links between two
pages without any similarity are dropped then (`weighed_by_likeness`).

With a query, the words of links are read from the archive. Without one, the focus of the crawl is
used: n is then the number of words in the link that contain a word of --focus-words, or their
similarity to those of --focus-similar, times the strength of the rule, plus what --focus and
--focus-type add.
"""

from dataclasses import replace

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Vector
from minicrawl.graph.csr import Csr, Ids, NamedGraph
from minicrawl.ranks.hits import kept
from minicrawl.report.page_links import words_of_links
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.store_graph import Source, links_in_focus
from minicrawl.store import tables
from minicrawl.web.words import words_of

_NO_FOCUS = "no link has a word in focus: --words needs a crawl with --focus-words"


def has_kept_pages(source: Source) -> bool:
    """Return True if the words of links can be read."""
    seen = source.snapshot
    return seen is not None and tables.archive_end(seen.connection) is not None


def worded(source: Source, named: NamedGraph) -> NamedGraph:
    """Return the graph with links weighted by the focus of the crawl."""
    found = _looked_for(_snapshot_of(source), named.graph)
    return _weighed(named, found, f"{_NO_FOCUS}, or --query and kept pages")


def worded_by(source: Source, named: NamedGraph, query: str) -> NamedGraph:
    """Return the graph, a base set, with links weighted by the query words in and around them."""
    found = _asked_for(_snapshot_of(source), source, named, query)
    why = f"no link of these pages has a word of {query!r} in or around it, in the pages kept"
    return _weighed(named, found, why)


def weighed_by_likeness(named: NamedGraph, likeness: Vector, query: str) -> NamedGraph:
    """Return the graph with links weighted by the similarity of their ends to a query."""
    graph = named.graph
    weights = ((likeness[graph.sources()] + likeness[graph.targets]) / 2).astype(np.float32)
    if not weights.any():
        raise UsageError(f"no linked page has a word of {query!r} in its title or URL")
    if named.weights is not None:
        weights *= named.weights
    return kept(replace(named, weights=weights), weights > 0)


def _snapshot_of(source: Source) -> Snapshot:
    if source.snapshot is None:
        raise UsageError("--words needs a store: a graph file has no words")
    return source.snapshot


def _weighed(named: NamedGraph, found: tuple[Ids, Vector], why_none: str) -> NamedGraph:
    weights = np.ones(named.graph.edges, dtype=np.float32)
    np.add.at(weights, *found)
    if (weights == 1).all():
        raise UsageError(why_none)
    if named.weights is not None:
        weights *= named.weights
    return replace(named, weights=weights)


def _looked_for(seen: Snapshot, graph: Csr) -> tuple[Ids, Vector]:
    """Return links of the graph with their focus; guards may have dropped others."""
    found = [(some.givers * graph.nodes + some.ends, some.parts) for some in links_in_focus(seen)]
    wanted = np.concatenate([np.empty(0, dtype=np.int64), *(links for links, _ in found)])
    return _places(graph, wanted, np.concatenate([np.empty(0), *(parts for _, parts in found)]))


def _places(graph: Csr, wanted: Ids, parts: Vector) -> tuple[Ids, Vector]:
    """Return the positions of these links in the graph, without links that it lacks."""
    keys = graph.sources().astype(np.int64) * graph.nodes + graph.targets
    is_there = np.isin(wanted, keys)
    return np.searchsorted(keys, wanted[is_there]), parts[is_there]


def _asked_for(seen: Snapshot, source: Source, named: NamedGraph, query: str) -> tuple[Ids, Vector]:
    """Return links of the graph, and the number of query words in and around each.

    Of several links to one page the best counts.
    """
    nodes = len(named.names)
    urls, wanted = named.names.of(range(nodes)), set(words_of(query))
    node_of = {url: node for node, url in enumerate(urls)}
    counts: dict[int, int] = {}
    for link in words_of_links(seen, urls):
        said = sum(word in wanted for word in words_of(link.words))
        target = _end(seen, source, node_of, link.target) if said else None
        if target is not None:
            key = link.source * nodes + target
            counts[key] = max(said, counts.get(key, 0))
    keys = np.fromiter(counts, np.int64, len(counts))
    return _places(named.graph, keys, np.fromiter(counts.values(), np.float64, len(counts)))


def _end(seen: Snapshot, source: Source, node_of: dict[str, int], url: str) -> int | None:
    """Return the node that a link to this URL leads to, after redirects."""
    if url in node_of:
        return node_of[url]
    (page,) = source.names.find([url])
    if page is None:
        return None
    (end,) = source.names.of([seen.frontier.books.stands_for(page)])
    return node_of.get(end)

"""Base sets of a query: root sets from titles, URLs or the index, and their neighbourhoods."""

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from minicrawl.cli.parameters import number, option
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ranks.commands.walk_options import lines_of, nodes_of
from minicrawl.ranks.hits import LINKING, ROOTS, BaseSet, base_set
from minicrawl.report.graph.source import Source
from minicrawl.report.snapshot import Snapshot, places_of_largest
from minicrawl.store import questions
from minicrawl.store.reader import search_folder
from minicrawl.store.trouble import reporting_damage
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

"""Options of base sets: the ranking of some pages and their neighbourhood only.

A base set has roots, all pages that they link to, and some of the pages that link to them. The
roots are named in a file, or found by words.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from minicrawl.graph.csr import NamedGraph
from minicrawl.ranks.by_name import having, listed
from minicrawl.ranks.hits import LINKING, ROOTS, BaseSet, base_set
from minicrawl.report.store_graph import Source
from minicrawl.wording import counted, visible

Command = Callable[..., Any]

_SHOWN_UNKNOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSetChoice:
    """Roots of a base set, from a file or from words, and the rules of its growth."""

    root: str | None
    query: str | None
    roots: int
    linking: int

    def grown(self, source: Source, named: NamedGraph) -> BaseSet:
        """Return the base set in a graph of this source, and print its size."""
        if self.root is None:
            nodes = having(source, self.query or "", self.roots)
        else:
            nodes = _listed(named, self.root)
        base = base_set(named, nodes, self.linking)
        _show_size(base.named, len(nodes))
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


def _listed(named: NamedGraph, root: str) -> list[int]:
    """Return the listed nodes. Warn about names that are not in the graph."""
    with click.open_file(root, encoding="utf-8-sig", errors="surrogateescape") as lines:
        found = listed(named, lines)
    for name in found.unknown[:_SHOWN_UNKNOWN]:
        click.echo(f"not in the graph: {visible(name)}", err=True)
    if (more := len(found.unknown) - _SHOWN_UNKNOWN) > 0:
        click.echo(f"not in the graph: {counted(more, 'more name')}", err=True)
    return found.nodes


def _show_size(base: NamedGraph, roots: int) -> None:
    graph = base.graph
    click.echo(
        f"base set: {counted(graph.nodes, 'node')} and {counted(graph.edges, 'link')}, "
        f"from {counted(roots, 'root')}",
        err=True,
    )

"""`minicrawl rank hits`: hubs, and the authorities that they link to."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
import numpy as np

from minicrawl.analysis.facts import worded
from minicrawl.analysis.root_set import having, listed
from minicrawl.analysis.source import Source
from minicrawl.cli.common.options import Number
from minicrawl.cli.rank.running import ranking
from minicrawl.export.cells import visible
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.hits import hits as ranks
from minicrawl.ranks.hits.base_set import LINKING, ROOTS, base_set
from minicrawl.ranks.hits.hits import randomised, subspace
from minicrawl.ranks.scores import Scores
from minicrawl.wording import counted

_SEED = 1
_SHOWN_UNKNOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HitsVariant:
    """Which variant of HITS to compute; by default, its limit."""

    rounds: int | None
    restart: float | None
    dimensions: int | None
    tolerance: float

    def compute(self, named: NamedGraph, tell: Progress) -> ranks.Hits:
        graph, weights, tolerance = named.graph, named.weights, self.tolerance
        if self.rounds:
            return ranks.textbook(graph, weights, rounds=self.rounds, tell=tell)
        variant: Any = ranks.hits
        if self.restart:
            variant = partial(randomised, anew=self.restart)
        elif self.dimensions:
            variant = partial(subspace, size=self.dimensions, rng=np.random.default_rng(_SEED))
        found: ranks.Hits = variant(graph, weights, tolerance=tolerance, tell=tell)
        return found


@click.command()
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N rounds, as in the paper, whether the scores converged or not.",
)
@click.option(
    "--random",
    "restart",
    metavar="E",
    type=Number(0, 1, min_open=True),
    help="Randomised HITS: a surfer follows links forwards and backwards, and before each step "
    "restarts at a random node with this probability.",
)
@click.option(
    "--subspace",
    "dimensions",
    metavar="K",
    type=click.IntRange(min=1),
    help="Subspace HITS: use the first K eigenvectors instead of the first one.",
)
@click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(min=0, min_open=True),
    default=ranks.TOLERANCE,
    show_default=True,
    help="Stop when the error, summed over all scores, is at most this.",
)
@click.option(
    "--root",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Rank only the base set of the nodes in this file, one name a line; - for stdin.",
)
@click.option(
    "--query",
    metavar="WORDS",
    help="Rank only the base set of the most important pages with these words in the title or URL.",
)
@click.option(
    "--roots",
    metavar="N",
    type=click.IntRange(min=1),
    default=ROOTS,
    show_default=True,
    help="Use at most N pages of --query.",
)
@click.option(
    "--linking",
    metavar="D",
    type=click.IntRange(min=0),
    default=LINKING,
    show_default=True,
    help="Add at most D of the pages that link to a root. All pages that it links to are added.",
)
@click.option(
    "--words",
    is_flag=True,
    help="Weight each link 1 + n, n being how many of the words that the crawl looked for "
    "(crawl --focus-words) are in it and in the 50 characters around it, or how similar it is to "
    "them (crawl --focus-similar).",
)
@ranking
@click.pass_obj
def hits(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    rounds: int | None,
    restart: float | None,
    dimensions: int | None,
    tolerance: float,
    root: str | None,
    query: str | None,
    roots: int,
    linking: int,
    words: bool,
) -> Mapping[str, Scores]:
    """Rank by HITS: good hubs link to good authorities, and the other way round.

    HITS runs on the whole graph or on a base set: roots, the pages that they link to, and some
    pages that link to them. --weight internal=0 drops the links within a site, as Kleinberg does.
    """
    if sum(choice is not None for choice in (rounds, restart, dimensions)) > 1:
        raise click.UsageError("--rounds, --random and --subspace exclude each other")
    if root is not None and query is not None:
        raise click.UsageError("--root and --query exclude each other")
    variant = HitsVariant(
        rounds=rounds, restart=restart, dimensions=dimensions, tolerance=tolerance
    )
    weighted = worded(source, named) if words else named
    if root is None and query is None:
        return _both(variant.compute(weighted, tell))
    nodes = _listed(named, root) if root else having(source, query or "", roots)
    base = base_set(weighted, nodes, linking)
    _show_size(base.named, len(nodes))
    found = _both(variant.compute(base.named, tell))
    return {name: base.over_all(scores, named.graph.nodes) for name, scores in found.items()}


def _both(found: ranks.Hits) -> dict[str, Scores]:
    return {"authorities": found.authorities, "hubs": found.hubs}


def _listed(named: NamedGraph, root: str) -> list[int]:
    """The nodes of the list. Warns about names that the graph does not have."""
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

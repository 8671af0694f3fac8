"""`minicrawl rank hits`: hubs, and the authorities that they link to."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
import numpy as np

from minicrawl.analysis.root_set import having, listed, worded
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

_SEED = 1
_SHOWN_UNKNOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Which form of HITS; without any, its limit."""

    rounds: int | None
    anew: float | None
    dimensions: int | None
    tolerance: float

    def of(self, named: NamedGraph, tell: Progress) -> ranks.Hits:
        graph, weights, tolerance = named.graph, named.weights, self.tolerance
        if self.rounds:
            return ranks.textbook(graph, weights, rounds=self.rounds, tell=tell)
        form: Any = ranks.hits
        if self.anew:
            form = partial(randomised, anew=self.anew)
        elif self.dimensions:
            form = partial(subspace, size=self.dimensions, rng=np.random.default_rng(_SEED))
        found: ranks.Hits = form(graph, weights, tolerance=tolerance, tell=tell)
        return found


@click.command()
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(min=1),
    help="Just so many rounds, as in the paper, whether they converge or not.",
)
@click.option(
    "--random",
    "anew",
    metavar="E",
    type=Number(0, 1, min_open=True),
    help="Randomised: a surfer goes along links and back, and starts anew anywhere with this "
    "probability before each move.",
)
@click.option(
    "--subspace",
    "dimensions",
    metavar="K",
    type=click.IntRange(min=1),
    help="By the first K eigenvectors together and not by the first alone.",
)
@click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(min=0, min_open=True),
    default=ranks.TOLERANCE,
    show_default=True,
    help="The error of scores that will do, summed over all.",
)
@click.option(
    "--root",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Only the base set grown from these: names of nodes, one a line; - for stdin.",
)
@click.option(
    "--query",
    metavar="WORDS",
    help="Only the base set grown from the pages of the store that have these words in their "
    "title or URL, the most important of them.",
)
@click.option(
    "--roots",
    metavar="N",
    type=click.IntRange(min=1),
    default=ROOTS,
    show_default=True,
    help="How many pages --query takes.",
)
@click.option(
    "--linking",
    metavar="D",
    type=click.IntRange(min=0),
    default=LINKING,
    show_default=True,
    help="How many that link to a root the base set takes, besides all that it links to.",
)
@click.option(
    "--words",
    is_flag=True,
    help="Links count by what the crawl gave them for words on them or near them "
    "(crawl --focus-words) and for its other rules; the words themselves are not kept.",
)
@ranking
@click.pass_obj
def hits(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    rounds: int | None,
    anew: float | None,
    dimensions: int | None,
    tolerance: float,
    root: str | None,
    query: str | None,
    roots: int,
    linking: int,
    words: bool,
) -> Mapping[str, Scores]:
    """Rank by HITS: authorities are linked to by good hubs, hubs link to good authorities.

    On the whole graph, or on a base set: roots, what they link to, and some of what links to them;
    --weight internal=0 drops the links inside a site, as Kleinberg does.
    """
    if sum(choice is not None for choice in (rounds, anew, dimensions)) > 1:
        raise click.UsageError("--rounds, --random and --subspace are three forms: choose one")
    if root is not None and query is not None:
        raise click.UsageError("--root and --query name two root sets: leave out one of them")
    form = Form(rounds=rounds, anew=anew, dimensions=dimensions, tolerance=tolerance)
    weighed = worded(source, named) if words else named
    if root is None and query is None:
        return _both(form.of(weighed, tell))
    nodes = _listed(named, root) if root else having(source, query or "", roots)
    base = base_set(weighed, nodes, linking)
    _tell_of(base.named, len(nodes))
    found = _both(form.of(base.named, tell))
    return {name: base.over_all(scores, named.graph.nodes) for name, scores in found.items()}


def _both(found: ranks.Hits) -> dict[str, Scores]:
    return {"authorities": found.authorities, "hubs": found.hubs}


def _listed(named: NamedGraph, root: str) -> list[int]:
    """The nodes of the list; what the graph does not have is told."""
    with click.open_file(root, encoding="utf-8-sig", errors="surrogateescape") as lines:
        found = listed(named, lines)
    for name in found.unknown[:_SHOWN_UNKNOWN]:
        click.echo(f"not in the graph: {visible(name)}", err=True)
    if (more := len(found.unknown) - _SHOWN_UNKNOWN) > 0:
        click.echo(f"and {more:,} more that are not in the graph", err=True)
    return found.nodes


def _tell_of(base: NamedGraph, roots: int) -> None:
    graph = base.graph
    click.echo(
        f"base set: {graph.nodes:,} nodes and {graph.edges:,} links, grown from {roots:,} roots",
        err=True,
    )

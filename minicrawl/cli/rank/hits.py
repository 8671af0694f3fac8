"""`minicrawl rank hits`: hubs, and the authorities that they link to."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
import numpy as np

from minicrawl.analysis.facts import likeness_to
from minicrawl.analysis.link_words import has_kept_pages, weighed_by_likeness, worded, worded_by
from minicrawl.analysis.source import Source
from minicrawl.cli.common.base_sets import BaseSetChoice, base_set_options
from minicrawl.cli.common.options import Number
from minicrawl.cli.rank.running import ranking
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.hits import hits as ranks
from minicrawl.ranks.hits.hits import randomised, subspace
from minicrawl.ranks.scores import FURTHEST, Scores

_SEED = 1


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


random_option = click.option(
    "--random",
    "restart",
    metavar="E",
    type=Number(0, 1, min_open=True),
    help="Randomised HITS: a surfer follows links forwards and backwards, and before each step "
    "restarts at a random node with this probability.",
)

subspace_option = click.option(
    "--subspace",
    "dimensions",
    metavar="K",
    type=click.IntRange(1, ranks.MOST_DIMENSIONS),
    help="Subspace HITS: use the first K eigenvectors instead of the first one.",
)


@click.command()
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N rounds, as in the paper, whether the scores converged or not.",
)
@random_option
@subspace_option
@click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(min=0, min_open=True),
    help="Stop when the error, summed over all scores, is at most this.  "
    f"[default: {ranks.TOLERANCE:g}]",
)
@click.option(
    "--words",
    is_flag=True,
    help="Weight each link 1 + n. n is how often words of --query are in the link and in the 50 "
    "characters on either side, in the pages that were kept. Without --query or kept pages, the "
    "words are those of crawl --focus-words, or n is the similarity to those of --focus-similar. "
    "With --root, --query gives only the words.",
)
@click.option(
    "--likeness",
    is_flag=True,
    help="With --query: weight each link by the mean likeness of its two pages to the words. The "
    "likeness is the cosine of the words and those of title and URL; links between two pages with "
    "none of the words are dropped.",
)
@ranking
@base_set_options
@click.pass_obj
def hits(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    rounds: int | None,
    restart: float | None,
    dimensions: int | None,
    tolerance: float | None,
    base: BaseSetChoice | None,
    words: bool,
    likeness: bool,
) -> Mapping[str, Scores]:
    """Rank by HITS: good hubs link to good authorities, and the other way round.

    HITS runs on the whole graph or on a base set: roots, the pages that they link to, and some
    pages that link to them. --weight internal=0 drops the links within a site, as Kleinberg does.
    """
    if sum(choice is not None for choice in (rounds, restart, dimensions)) > 1:
        raise click.UsageError("--rounds, --random and --subspace cannot be combined")
    if rounds is not None and tolerance is not None:
        raise click.UsageError("--rounds and --tolerance cannot be combined")
    variant = HitsVariant(
        rounds=rounds,
        restart=restart,
        dimensions=dimensions,
        tolerance=tolerance or ranks.TOLERANCE,
    )
    asked = base.query if base is not None and words and has_kept_pages(source) else None
    if asked is None and base is not None and base.root and base.query:
        raise UsageError("--query with --root needs pages that were kept: crawl --keep pages")
    if likeness and (base is None or base.query is None):
        raise UsageError("--likeness needs --query: it is that of a page to the words")
    weighted = worded(source, named) if words and asked is None else named
    if base is None:
        return _both(variant, weighted, tell)
    grown = base.grown(source, weighted)
    of_base = grown.named if asked is None else worded_by(source, grown.named, asked)
    if likeness and base.query is not None:
        alike = likeness_to(source, base.query, grown.nodes)
        of_base = weighed_by_likeness(of_base, alike, base.query)
    found = _both(variant, of_base, tell)
    return {name: grown.over_all(scores, named.graph.nodes) for name, scores in found.items()}


def _both(variant: HitsVariant, named: NamedGraph, tell: Progress) -> dict[str, Scores]:
    found = variant.compute(named, tell)
    if variant.dimensions and found.authorities.error_bound >= FURTHEST:
        click.echo(
            f"eigenvector {variant.dimensions} cannot be told from the next one, as their "
            "eigenvalues are too close: choose another --subspace",
            err=True,
        )
    return {"authorities": found.authorities, "hubs": found.hubs}

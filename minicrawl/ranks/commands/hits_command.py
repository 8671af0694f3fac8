"""`minicrawl rank hits`: hubs, and the authorities that they link to."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
import numpy as np

from minicrawl.cli.options import Number
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks import hits as hits_ranks
from minicrawl.ranks.commands.base_sets import BaseSetChoice, base_set_options
from minicrawl.ranks.commands.centrality_command import SEED
from minicrawl.ranks.commands.running import ranking
from minicrawl.ranks.commands.text_weights import (
    has_kept_pages,
    similarity_to,
    weighed_by_similarity,
    weighed_by_words,
)
from minicrawl.ranks.hits import randomised, subspace
from minicrawl.ranks.scores import FURTHEST, Scores
from minicrawl.report.graph.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class HitsVariant:
    """Variant of HITS to compute; by default the limit of the iteration."""

    rounds: int | None
    restart: float | None
    dimensions: int | None
    tolerance: float

    def compute(self, named: NamedGraph, tell: Progress) -> hits_ranks.Hits:
        graph, weights, tolerance = named.graph, named.weights, self.tolerance
        if self.rounds:
            return hits_ranks.textbook(graph, weights, rounds=self.rounds, tell=tell)
        variant: Any = hits_ranks.hits
        if self.restart:
            variant = partial(randomised, restart=self.restart)
        elif self.dimensions:
            variant = partial(subspace, size=self.dimensions, rng=np.random.default_rng(SEED))
        scores: hits_ranks.Hits = variant(graph, weights, tolerance=tolerance, tell=tell)
        return scores


random_option = click.option(
    "--random",
    "restart",
    metavar="E",
    type=Number(0, 1, min_open=True),
    help="Randomised HITS: probability of a restart at a random node before each step.",
)

subspace_option = click.option(
    "--subspace",
    "dimensions",
    metavar="K",
    type=click.IntRange(1, hits_ranks.MOST_DIMENSIONS),
    help="Subspace HITS: use the first K eigenvectors.",
)


@click.command()
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N rounds, converged or not, as in the paper.",
)
@random_option
@subspace_option
@click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(min=0, min_open=True),
    help="Stop when the error, summed over all scores, is at most this.  "
    f"[default: {hits_ranks.TOLERANCE:g}]",
)
@click.option(
    "--words",
    is_flag=True,
    help="Weight each link 1 + n, where n is how often the words of --query occur in the link and "
    "the 50 characters on either side. Needs kept pages.",
)
@click.option(
    "--likeness",
    is_flag=True,
    help="Weight each link by the mean cosine similarity of its two pages' titles and URLs to the "
    "words of --query. Links without any of the words are dropped.",
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
    """Rank by HITS: good hubs link to good authorities, and vice versa.

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
        tolerance=tolerance or hits_ranks.TOLERANCE,
    )
    query = base.query if base is not None and words else None
    if words and (query is None or not has_kept_pages(source)):
        raise UsageError("--words needs a store with kept pages (crawl --keep pages), and --query")
    if likeness and (base is None or base.query is None):
        raise UsageError("--likeness needs --query, whose words it compares with the pages")
    if base is None:
        return _both(variant, named, tell)
    grown = base.grown(source, named)
    of_base = grown.named if query is None else weighed_by_words(source, grown.named, query)
    if likeness and base.query is not None:
        similarity = similarity_to(source, base.query, grown.nodes)
        of_base = weighed_by_similarity(of_base, similarity, base.query)
    ranks = _both(variant, of_base, tell)
    return {name: grown.over_all(scores, named.graph.nodes) for name, scores in ranks.items()}


def _both(variant: HitsVariant, named: NamedGraph, tell: Progress) -> dict[str, Scores]:
    scores = variant.compute(named, tell)
    if variant.dimensions and scores.authorities.error_bound >= FURTHEST:
        click.echo(
            f"--subspace {variant.dimensions}: the last eigenvalue is too close to the next one to "
            "tell their eigenvectors apart; choose another number",
            err=True,
        )
    return {"authorities": scores.authorities, "hubs": scores.hubs}

"""`minicrawl rank hits`: hubs, and the authorities that they link to."""

from collections.abc import Mapping

import click
import numpy as np

from minicrawl.cli.options import Number
from minicrawl.cli.parameters import number, option, switch, with_made, with_options
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks import hits as hits_ranks
from minicrawl.ranks.commands import base_sets
from minicrawl.ranks.commands.centrality_command import SEED
from minicrawl.ranks.commands.running import ranking
from minicrawl.ranks.hits import TOLERANCE, Hits
from minicrawl.ranks.scores import FURTHEST, Scores
from minicrawl.report.graph.source import Source


@click.command()
@with_options
@ranking
@with_made(base=base_sets.BaseSetChoice)
@click.pass_obj
def hits(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    base: base_sets.BaseSetChoice,
    rounds: int | None = number("Stop after N rounds, converged or not, as in the paper."),
    restart: float | None = option(
        "Randomised HITS: probability of a restart at a random node before each step.",
        flag="--random",
        metavar="E",
        type=Number(0, 1, min_open=True),
    ),
    dimensions: int | None = number(
        "Subspace HITS: use the first K eigenvectors.",
        flag="--subspace",
        metavar="K",
        most=hits_ranks.MOST_DIMENSIONS,
    ),
    tolerance: float | None = option(
        "Stop when the error, summed over all scores, is at most this.",
        metavar="ERROR",
        type=Number(min=0, min_open=True),
        usual=f"{TOLERANCE:g}",
    ),
    words: bool = switch(
        "Weight each link 1 + n, where n is how often the words of --query occur in the link and "
        "the 50 characters on either side. Needs kept pages."
    ),
    likeness: bool = switch(
        "Weight each link by the mean cosine similarity of its two pages' titles and URLs to the "
        "words of --query. Links without any of the words are dropped."
    ),
) -> Mapping[str, Scores]:
    """Rank by HITS: good hubs link to good authorities, and vice versa.

    HITS runs on the whole graph or on a base set: roots, the pages that they link to, and some
    pages that link to them. --weight internal=0 drops the links within a site, as Kleinberg does.
    """
    if sum(variant is not None for variant in (rounds, restart, dimensions)) > 1:
        raise click.UsageError("--rounds, --random and --subspace cannot be combined")
    if rounds is not None and tolerance is not None:
        raise click.UsageError("--rounds and --tolerance cannot be combined")
    query = base.query
    if words and (query is None or not base_sets.has_kept_pages(source)):
        raise UsageError("--words needs a store with kept pages (crawl --keep pages), and --query")
    if likeness and query is None:
        raise UsageError("--likeness needs --query, whose words it compares with the pages")
    grown = base.grown(source, named)
    graph = grown.named
    if words and query is not None:
        graph = base_sets.weighed_by_words(source, graph, query)
    if likeness and query is not None:
        graph = base_sets.weighed_by_similarity(
            graph, base_sets.similarity_to(source, query, grown.nodes), query
        )
    scores = _hits_of(
        graph, tell, rounds=rounds, restart=restart, dimensions=dimensions, tolerance=tolerance
    )
    if dimensions and scores.authorities.error_bound >= FURTHEST:
        click.echo(
            f"--subspace {dimensions}: the last eigenvalue is too close to the next one to "
            "tell their eigenvectors apart; choose another number",
            err=True,
        )
    ranks = {"authorities": scores.authorities, "hubs": scores.hubs}
    return {name: grown.over_all(scores, named.graph.nodes) for name, scores in ranks.items()}


def _hits_of(
    named: NamedGraph,
    tell: Progress,
    *,
    rounds: int | None,
    restart: float | None,
    dimensions: int | None,
    tolerance: float | None,
) -> Hits:
    """Return a variant of HITS; by default the limit of the iteration."""
    graph, weights, tolerance = named.graph, named.weights, tolerance or TOLERANCE
    if rounds:
        return hits_ranks.textbook(graph, weights, rounds=rounds, tell=tell)
    if restart:
        return hits_ranks.randomised(
            graph, weights, restart=restart, tolerance=tolerance, tell=tell
        )
    if dimensions:
        rng = np.random.default_rng(SEED)
        return hits_ranks.subspace(
            graph, weights, size=dimensions, rng=rng, tolerance=tolerance, tell=tell
        )
    return hits_ranks.hits(graph, weights, tolerance=tolerance, tell=tell)

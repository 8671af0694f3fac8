"""`minicrawl rank degree` and `harmonic`."""

import click
import numpy as np

from minicrawl.cli.parameters import choice, number, switch, with_made, with_options
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks import centrality
from minicrawl.ranks.centrality import Direction
from minicrawl.ranks.commands.base_sets import BaseSetChoice
from minicrawl.ranks.commands.running import ranking
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source

SEED = 1


@click.command()
@with_options
@ranking
@with_made(base=BaseSetChoice)
@click.pass_obj
def degree(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    base: BaseSetChoice,
    direction: Direction = choice(Direction, "Count inlinks or outlinks.", Direction.IN),
) -> Scores:
    """Rank by degree: the share of all links that lead to a page, or from it.

    With --root or --query, only links within the base set count.
    """
    grown = base.grown(source, named)
    scores = centrality.degree(grown.named.graph, grown.named.weights, direction=direction)
    tell(1.0)
    return grown.over_all(scores, named.graph.nodes)


@click.command()
@with_options
@ranking
def harmonic(
    named: NamedGraph,
    tell: Progress,
    precision: int | None = number(
        "Use 2 x 2^BITS one-byte registers per node. The standard error is 1.04 / √2^BITS: "
        "13 % for 6, 6.5 % for 8, 3.3 % for 10.",
        least=centrality.FEWEST_BITS,
        most=centrality.MOST_BITS,
        metavar="BITS",
        usual=centrality.PRECISION,
    ),
    memory_mib: int | None = number(
        "Memory limit of the registers, in MiB.",
        flag="--memory",
        metavar="MIB",
        usual=centrality.MEMORY_BYTES >> 20,
    ),
    exact: bool = switch(
        "Compute exact distances, from every node. Practical up to about 10,000 nodes."
    ),
) -> Scores:
    """Rank by harmonic centrality: the sum of 1 / distance over all pages that lead to a page.

    Without --exact, the scores are estimates, shown with their standard error: two of three scores
    are closer. That is not a bound, so error_bound is null in the JSON. The same graph always gives
    the same scores. Link weights are ignored; guards that drop links work.
    """
    if exact and (precision or memory_mib):
        raise click.UsageError("--precision and --memory do not work with --exact")
    refuse_weights(named, "distances do not count weights")
    if exact:
        return centrality.exact(named.graph, tell=tell)
    return centrality.hyperball(
        named.graph,
        rng=np.random.default_rng(SEED),
        precision=precision or centrality.PRECISION,
        memory_bytes=memory_mib << 20 if memory_mib else centrality.MEMORY_BYTES,
        tell=tell,
    )


def refuse_weights(named: NamedGraph, reason: str) -> None:
    """Refuse options that weight links, as this rank does not count weights.

    Weights in a graph file are ignored, and --weight KIND=0 drops links.
    """
    given = click.get_current_context().params
    options = [f"--weight {kind}={weight:g}" for kind, weight in given["weight"] if weight > 0]
    if given["crawl_weights"]:
        options.append("--crawl-weights")
    if named.weights is not None and options:
        raise click.UsageError(f"{options[-1]} changes nothing: {reason}")

"""`minicrawl rank degree` and `harmonic`."""

import click
import numpy as np

from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks import centrality
from minicrawl.ranks.commands.base_sets import BaseSetChoice, base_set_options
from minicrawl.ranks.commands.running import ranking
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source


@click.command()
@click.option(
    "--direction",
    type=click.Choice([direction.value for direction in centrality.Direction]),
    default=centrality.Direction.IN.value,
    show_default=True,
    help="Count inlinks or outlinks.",
)
@ranking
@base_set_options
@click.pass_obj
def degree(
    source: Source, named: NamedGraph, tell: Progress, direction: str, base: BaseSetChoice | None
) -> Scores:
    """Rank by degree: the share of all links that lead to a page, or from it.

    With --root or --query, only links within the base set count.
    """

    def counted(graph: NamedGraph) -> Scores:
        return centrality.degree(
            graph.graph, graph.weights, direction=centrality.Direction(direction)
        )

    if base is None:
        scores = counted(named)
    else:
        grown = base.grown(source, named)
        scores = grown.over_all(counted(grown.named), named.graph.nodes)
    tell(1.0)
    return scores


SEED = 1


@click.command()
@click.option(
    "--precision",
    metavar="BITS",
    type=click.IntRange(centrality.FEWEST_BITS, centrality.MOST_BITS),
    help="Use 2 x 2^BITS one-byte registers per node. The standard error is 1.04 / √2^BITS: "
    f"13 % for 6, 6.5 % for 8, 3.3 % for 10.  [default: {centrality.PRECISION}]",
)
@click.option(
    "--memory",
    "memory_mib",
    metavar="MIB",
    type=click.IntRange(min=1),
    help=f"Memory limit of the registers, in MiB.  [default: {centrality.MEMORY_BYTES >> 20}]",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Compute exact distances, from every node. Practical up to about 10,000 nodes.",
)
@ranking
def harmonic(
    named: NamedGraph,
    tell: Progress,
    precision: int | None,
    memory_mib: int | None,
    exact: bool,
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

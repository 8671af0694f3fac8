"""`minicrawl rank degree`, `eigenvector` and `harmonic`: centralities without jumps."""

import click
import numpy as np

from minicrawl.analysis.source import Source
from minicrawl.cli.common.base_sets import BaseSetChoice, base_set_options
from minicrawl.cli.rank.running import ranking
from minicrawl.cli.rank.walk_options import tolerance_option
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks import centrality as ranks
from minicrawl.ranks.eigenvector import MOST_STEPS, EigenvectorOptions, LinkMatrix
from minicrawl.ranks.eigenvector import eigenvector as find_eigenvector
from minicrawl.ranks.scores import Scores


@click.command()
@click.option(
    "--direction",
    type=click.Choice([direction.value for direction in ranks.Direction]),
    default=ranks.Direction.IN.value,
    show_default=True,
    help="Count the links to a page, or the links from it.",
)
@ranking
@base_set_options
@click.pass_obj
def degree(
    source: Source, named: NamedGraph, tell: Progress, direction: str, base: BaseSetChoice | None
) -> Scores:
    """Rank by the number of links of a page, as a share of all links.

    With --root or --query, only links within the base set count.
    """

    def counted(graph: NamedGraph) -> Scores:
        return ranks.degree(graph.graph, graph.weights, direction=ranks.Direction(direction))

    if base is None:
        found = counted(named)
    else:
        grown = base.grown(source, named)
        found = grown.over_all(counted(grown.named), named.graph.nodes)
    tell(1.0)
    return found


@click.command()
@click.option(
    "--matrix",
    type=click.Choice([matrix.value for matrix in LinkMatrix]),
    default=LinkMatrix.LINKS.value,
    show_default=True,
    help="The links of a page add up to 1 (walk), each link is 1 (links), or each link is 1 in "
    "both directions (either).",
)
@click.option(
    "--virtual-page",
    is_flag=True,
    help="Add a page with links to and from all others, as in OPIC's paper, so that every page "
    "leads to every other page.",
)
@tolerance_option
@click.option(
    "--rounds",
    "most_rounds",
    metavar="N",
    type=click.IntRange(min=1),
    default=MOST_STEPS,
    show_default=True,
    help="Stop after N rounds.",
)
@ranking
def eigenvector(
    named: NamedGraph,
    tell: Progress,
    matrix: str,
    virtual_page: bool,
    tolerance: float,
    most_rounds: int,
) -> Scores:
    """Rank by the eigenvector of a link matrix: a page is worth what links to it, without jumps.

    These are the three matrices of OPIC's paper. walk with --virtual-page is the importance that
    OPIC computes.
    """
    terms = EigenvectorOptions(LinkMatrix(matrix), virtual_page, tolerance, most_rounds)
    found = find_eigenvector(named.graph, named.weights, options=terms, tell=tell)
    if len(found.values) and not found.iterations and not virtual_page:
        click.echo(
            "no links form a cycle, so no node is worth more than another: add --virtual-page",
            err=True,
        )
    return found


_SEED = 1


@click.command()
@click.option(
    "--precision",
    metavar="BITS",
    type=click.IntRange(ranks.FEWEST_BITS, ranks.MOST_BITS),
    help="Use 2^BITS registers of a byte for each node, twice. Their standard error is "
    f"1.04 / √2^BITS: 13 % for 6, 6.5 % for 8, 3.3 % for 10.  [default: {ranks.PRECISION}]",
)
@click.option(
    "--memory",
    "memory_mib",
    metavar="MIB",
    type=click.IntRange(min=1),
    help=f"Use at most this many MiB for the registers.  [default: {ranks.MEMORY_BYTES >> 20}]",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Walk back from every node instead. Practical up to about 10,000 nodes.",
)
@ranking
@click.pass_obj
def harmonic(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    precision: int | None,
    memory_mib: int | None,
    exact: bool,
) -> Scores:
    """Rank by harmonic centrality: the sum of 1 / distance over all pages that lead to a page.

    The scores are estimates, shown with their standard error: two of three are closer than that. It
    is not a bound, so error_bound is null in the JSON. The same graph always gives the same scores.
    Link weights do not count, and links that guards drop are left out.
    """
    if exact and (precision or memory_mib):
        raise click.UsageError("--precision and --memory do not work with --exact")
    if named.weights is not None and named.weights is not source.graph.weights:
        given = (
            "--crawl-weights" if click.get_current_context().params["crawl_weights"] else "--weight"
        )
        raise click.UsageError(f"{given} changes nothing: distances do not count weights")
    if exact:
        return ranks.exact(named.graph, tell=tell)
    return ranks.hyperball(
        named.graph,
        rng=np.random.default_rng(_SEED),
        precision=precision or ranks.PRECISION,
        memory_bytes=memory_mib << 20 if memory_mib else ranks.MEMORY_BYTES,
        tell=tell,
    )

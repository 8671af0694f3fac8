"""`minicrawl lab eigenvector`: importance by the link matrices of OPIC's paper."""

import click

from minicrawl.cli.parameters import choice, number, switch, with_options
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks import eigenvector as link_matrices
from minicrawl.ranks.commands.running import ranking, tolerance_option
from minicrawl.ranks.eigenvector import MOST_STEPS, EigenvectorOptions, LinkMatrix
from minicrawl.ranks.scores import Scores


@click.command()
@with_options
@ranking
def eigenvector(
    named: NamedGraph,
    tell: Progress,
    matrix: LinkMatrix = choice(
        LinkMatrix,
        "Link matrix: the links of a page add up to 1 (walk), each link counts 1 (links), or 1 in "
        "both directions (either).",
        LinkMatrix.LINKS,
    ),
    virtual_page: bool = switch(
        "Add a virtual page with links to and from all others, as in OPIC's paper."
    ),
    tolerance: float = tolerance_option,
    most_rounds: int = number("Stop after N rounds.", MOST_STEPS, flag="--rounds"),
) -> Scores:
    """Rank by the eigenvector of a link matrix, without jumps.

    The three matrices are those of OPIC's paper; walk with --virtual-page gives the importance that
    OPIC computes.
    """
    options = EigenvectorOptions(matrix, virtual_page, tolerance, most_rounds)
    scores = link_matrices.eigenvector(named.graph, named.weights, options=options, tell=tell)
    if len(scores.values) and not scores.iterations and not virtual_page:
        click.echo(
            "the links form no cycle, so all nodes have equal scores: add --virtual-page",
            err=True,
        )
    return scores

"""`minicrawl rank degree`: pages by the number of their links."""

import click

from minicrawl.analysis.source import Tell
from minicrawl.cli.rank.running import ranking
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks import degree as ranks
from minicrawl.ranks.scores import Scores


@click.command()
@click.option(
    "--direction",
    type=click.Choice([direction.value for direction in ranks.Direction]),
    default=ranks.Direction.IN.value,
    show_default=True,
    help="Links to the page, or from it.",
)
@ranking
def degree(named: NamedGraph, tell: Tell, direction: str) -> Scores:
    """Rank by the links to a page: its share of all links."""
    found = ranks.degree(named.graph, named.weights, direction=ranks.Direction(direction))
    tell(1.0)
    return found

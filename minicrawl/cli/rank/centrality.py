"""`minicrawl rank harmonic`: near to many.

`minicrawl rank degree`: pages by the number of their links.
"""

import click
import numpy as np

from minicrawl.cli.rank.running import ranking
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks import centrality as ranks
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
def degree(named: NamedGraph, tell: Progress, direction: str) -> Scores:
    """Rank by the links to a page: its share of all links."""
    found = ranks.degree(named.graph, named.weights, direction=ranks.Direction(direction))
    tell(1.0)
    return found


_SEED = 1


@click.command()
@click.option(
    "--precision",
    metavar="BITS",
    type=click.IntRange(ranks.FEWEST_BITS, ranks.MOST_BITS),
    default=ranks.PRECISION,
    show_default=True,
    help="2^BITS registers of a byte for each node, twice; they err by 1.04 / √2^BITS (6: 13 %, "
    "8: 6.5 %, 10: 3.3 %).",
)
@click.option(
    "--memory",
    "memory_mib",
    metavar="MIB",
    type=click.IntRange(min=1),
    default=ranks.MEMORY_BYTES >> 20,
    show_default=True,
    help="What registers may take.",
)
@click.option(
    "--exact", is_flag=True, help="Walk back from every node instead: for some 10,000 nodes."
)
@ranking
def harmonic(
    named: NamedGraph, tell: Progress, precision: int, memory_mib: int, exact: bool
) -> Scores:
    """Rank by harmonic centrality: the sum of 1 / distance from all that lead to a page.

    What counters are wrong by is told as their standard error: of three counts two are nearer. It
    is no bound, and the JSON has null for one. The same graph gives the same scores. Weights of
    links do not count, but links that guards leave out are none.
    """
    if exact:
        return ranks.exact(named.graph, tell=tell)
    return ranks.hyperball(
        named.graph,
        rng=np.random.default_rng(_SEED),
        precision=precision,
        memory_bytes=memory_mib << 20,
        tell=tell,
    )

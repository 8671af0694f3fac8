"""`minicrawl rank trust`: TrustRank, the trust that spreads from trusted pages."""

from pathlib import Path

import click

from minicrawl.analysis.ranks import TRUSTED
from minicrawl.cli.rank.running import ranking
from minicrawl.cli.rank.walk_options import (
    NAMES_FILE,
    damping_option,
    lines_of,
    nodes_of,
    tolerance_option,
)
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.walks import trust as ranks


@click.command()
@click.option(
    "--seeds", type=NAMES_FILE, help="Read the trusted nodes from this file, one per line."
)
@click.option(
    "--seed-by",
    type=click.Choice(list(ranks.SEEDS_BY)),
    help="Without --seeds: trust the best nodes by this rank.  [default: inverse]",
)
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Trust N of them.  [default: {TRUSTED}]",
)
@click.option(
    "--bad",
    type=NAMES_FILE,
    help="Read bad nodes from this file, one per line. Distrust spreads from them to the pages "
    "that link to them, and is taken from the trust of a page.",
)
@damping_option
@click.option(
    "--passing",
    type=click.Choice([passing.value for passing in ranks.Passing]),
    default=ranks.Passing.SPLIT.value,
    show_default=True,
    help="A page splits its trust among its links (split), or gives each link all of it. Then a "
    "page gets the maximum or the sum of what the links to it bring.",
)
@click.option(
    "--passes",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N passes, before the scores converge.",
)
@tolerance_option
@ranking
def trust(
    named: NamedGraph,
    tell: Progress,
    seeds: Path | None,
    seed_by: str | None,
    count: int | None,
    bad: Path | None,
    damping: float,
    passing: str,
    passes: int | None,
    tolerance: float,
) -> Scores:
    """Rank by TrustRank: the trust that spreads along links from trusted pages."""
    if seeds and (seed_by or count):
        raise UsageError("--seeds cannot be combined with --seed-by and --count")
    if seeds:
        nodes = nodes_of(named, lines_of(seeds), str(seeds))
    else:
        by = seed_by or "inverse"
        nodes = ranks.chosen_seeds(named.graph, named.weights, by, count or TRUSTED)
    terms = ranks.TrustOptions(
        passing=ranks.Passing(passing), damping=damping, passes=passes, tolerance=tolerance
    )
    if bad is None:
        return ranks.trust(named.graph, nodes, named.weights, options=terms, tell=tell)
    distrusted = nodes_of(named, lines_of(bad), str(bad))
    nodes = nodes if seeds else [node for node in nodes if node not in distrusted]
    return ranks.less_distrust(
        named.graph, nodes, distrusted, named.weights, options=terms, tell=tell
    )

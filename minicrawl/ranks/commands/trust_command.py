"""`minicrawl rank trust`: TrustRank, the trust that spreads from trusted pages."""

from pathlib import Path

import click

from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks.commands.centrality_command import refuse_weights
from minicrawl.ranks.commands.named_ranks import TRUSTED
from minicrawl.ranks.commands.running import ranking
from minicrawl.ranks.commands.walk_options import (
    NAMES_FILE,
    damping_option,
    lines_of,
    nodes_of,
    tolerance_option,
)
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.trust import (
    SEEDS_BY,
    Passing,
    TrustOptions,
    chosen_seeds,
    less_distrust,
    trust as trust_scores,
)


@click.command()
@click.option("--seeds", type=NAMES_FILE, help="Trust the nodes in this file, one per line.")
@click.option(
    "--seed-by",
    type=click.Choice(list(SEEDS_BY)),
    help="Trust the best nodes by this rank, if --seeds is not given.  [default: inverse]",
)
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Number of trusted nodes without --seeds.  [default: {TRUSTED}]",
)
@click.option(
    "--bad",
    type=NAMES_FILE,
    help="Distrust the nodes in this file, one per line. Distrust spreads to pages that link to "
    "them, and is subtracted from trust.",
)
@damping_option
@click.option(
    "--passing",
    type=click.Choice([passing.value for passing in Passing]),
    default=Passing.SPLIT.value,
    show_default=True,
    help="Split a page's trust among its links (split), or pass all of it along each link and "
    "take the maximum or the sum at the target.",
)
@click.option(
    "--passes",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N passes, even if the scores have not converged.",
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
    """Rank by TrustRank: the trust that spreads along links from trusted pages.

    Link weights count only with `--passing split`; otherwise each link gets all of the trust.
    """
    if passing != Passing.SPLIT.value:
        refuse_weights(named, f"with --passing {passing} each link gets all of the trust")
    if seeds and (seed_by or count):
        raise UsageError("--seeds cannot be combined with --seed-by and --count")
    if seeds:
        nodes = nodes_of(named, lines_of(seeds), str(seeds))
    else:
        by = seed_by or "inverse"
        nodes = chosen_seeds(named.graph, named.weights, by, count or TRUSTED)
    terms = TrustOptions(
        passing=Passing(passing), damping=damping, passes=passes, tolerance=tolerance
    )
    if bad is None:
        return trust_scores(named.graph, nodes, named.weights, options=terms, tell=tell)
    distrusted = nodes_of(named, lines_of(bad), str(bad))
    nodes = nodes if seeds else [node for node in nodes if node not in distrusted]
    return less_distrust(named.graph, nodes, distrusted, named.weights, options=terms, tell=tell)

"""`minicrawl rank trust`: TrustRank, the trust that spreads from trusted pages."""

from pathlib import Path

import click

from minicrawl.cli.parameters import choice, number, option, with_options
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks.commands import running
from minicrawl.ranks.commands.centrality_command import refuse_weights
from minicrawl.ranks.commands.named_ranks import TRUSTED
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
@with_options
@running.ranking
def trust(
    named: NamedGraph,
    tell: Progress,
    seeds: Path | None = option(
        "Trust the nodes in this file, one per line.", type=running.NAMES_FILE
    ),
    seed_by: str | None = choice(
        tuple(SEEDS_BY),
        "Trust the best nodes by this rank, if --seeds is not given.",
        usual="inverse",
    ),
    count: int | None = number("Number of trusted nodes without --seeds.", usual=TRUSTED),
    bad: Path | None = option(
        "Distrust the nodes in this file, one per line. Distrust spreads to pages that link to "
        "them, and is subtracted from trust.",
        type=running.NAMES_FILE,
    ),
    damping: float = running.damping_option,
    passing: Passing = choice(
        Passing,
        "Split a page's trust among its links (split), or pass all of it along each link and take "
        "the maximum or the sum at the target.",
        Passing.SPLIT,
    ),
    passes: int | None = number("Stop after N passes, even if the scores have not converged."),
    tolerance: float = running.tolerance_option,
) -> Scores:
    """Rank by TrustRank: the trust that spreads along links from trusted pages.

    Link weights count only with `--passing split`; otherwise each link gets all of the trust.
    """
    if passing is not Passing.SPLIT:
        refuse_weights(named, f"with --passing {passing} each link gets all of the trust")
    if seeds and (seed_by or count):
        raise UsageError("--seeds cannot be combined with --seed-by and --count")
    if seeds:
        nodes = running.nodes_of(named, running.lines_of(seeds), str(seeds))
    else:
        by = seed_by or "inverse"
        nodes = chosen_seeds(named.graph, named.weights, by, count or TRUSTED)
    options = TrustOptions(passing=passing, damping=damping, passes=passes, tolerance=tolerance)
    if bad is None:
        return trust_scores(named.graph, nodes, named.weights, options=options, tell=tell)
    distrusted = running.nodes_of(named, running.lines_of(bad), str(bad))
    nodes = nodes if seeds else [node for node in nodes if node not in distrusted]
    return less_distrust(named.graph, nodes, distrusted, named.weights, options=options, tell=tell)

"""`minicrawl rank trust`: what pages that somebody trusts lead to."""

from pathlib import Path

import click

from minicrawl.analysis.ranks import TRUSTED
from minicrawl.cli.common.options import Number
from minicrawl.cli.rank.running import ranking
from minicrawl.cli.rank.walk_options import NAMES_FILE, damping_option, lines_of, nodes_of
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.walks import trust as ranks
from minicrawl.ranks.walks.pagerank import TOLERANCE


@click.command()
@click.option("--seeds", type=NAMES_FILE, help="The trusted nodes, one a line.")
@click.option(
    "--seed-by",
    type=click.Choice(list(ranks.SEEDS_BY)),
    help="Without --seeds: those who are best by this rank.  [default: inverse]",
)
@click.option(
    "--count", metavar="N", type=click.IntRange(min=1), help=f"So many.  [default: {TRUSTED}]"
)
@damping_option
@click.option(
    "--passing",
    type=click.Choice([passing.value for passing in ranks.Passing]),
    default=ranks.Passing.SPLIT.value,
    show_default=True,
    help="A page splits its trust among its links, or gives it to each in full: they count the "
    "best they get, or the sum.",
)
@click.option(
    "--passes", metavar="N", type=click.IntRange(min=1), help="So often, not to the limit."
)
@click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(0, min_open=True),
    default=TOLERANCE,
    show_default=True,
    help="How far all scores together may be from their limit.",
)
@ranking
def trust(
    named: NamedGraph,
    tell: Progress,
    seeds: Path | None,
    seed_by: str | None,
    count: int | None,
    damping: float,
    passing: str,
    passes: int | None,
    tolerance: float,
) -> Scores:
    """Rank by the trust that comes along links from trusted pages."""
    if seeds and (seed_by or count):
        raise UsageError("--seeds names the seeds: leave out --seed-by and --count")
    if seeds:
        nodes = nodes_of(named, lines_of(seeds), str(seeds))
    else:
        by = seed_by or "inverse"
        nodes = ranks.chosen_seeds(named.graph, named.weights, by, count or TRUSTED)
    return ranks.trust(
        named.graph,
        nodes,
        named.weights,
        options=ranks.TrustOptions(
            passing=ranks.Passing(passing), damping=damping, passes=passes, tolerance=tolerance
        ),
        tell=tell,
    )

"""`minicrawl rank degree`, `harmonic`, `sites` and `trust`."""

from dataclasses import asdict
from math import inf
from pathlib import Path

import click
import numpy as np

from minicrawl.cli.input_options import count_option, json_option, source_options
from minicrawl.errors import UsageError
from minicrawl.graph.csr import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks import centrality as ranks
from minicrawl.ranks import trust as trust_ranks
from minicrawl.ranks.commands.base_sets import BaseSetChoice, base_set_options
from minicrawl.ranks.commands.named_ranks import TRUSTED, keep
from minicrawl.ranks.commands.rank_options import (
    NAMES_FILE,
    as_option,
    damping_option,
    guard_options,
    lines_of,
    nodes_of,
    pagerank_options,
    rank_name,
    ranking,
    refuse_idle_dangling,
    show_ranks,
    tolerance_option,
)
from minicrawl.ranks.pagerank import PageRankOptions, pagerank
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import Guards, of_pages, site_graph, sites_of
from minicrawl.report.store_graph import Source, cash_of_sites


@click.command()
@click.option(
    "--direction",
    type=click.Choice([direction.value for direction in ranks.Direction]),
    default=ranks.Direction.IN.value,
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
        return ranks.degree(graph.graph, graph.weights, direction=ranks.Direction(direction))

    if base is None:
        found = counted(named)
    else:
        grown = base.grown(source, named)
        found = grown.over_all(counted(grown.named), named.graph.nodes)
    tell(1.0)
    return found


_SEED = 1


@click.command()
@click.option(
    "--precision",
    metavar="BITS",
    type=click.IntRange(ranks.FEWEST_BITS, ranks.MOST_BITS),
    help="Use 2 x 2^BITS one-byte registers per node. The standard error is 1.04 / √2^BITS: "
    f"13 % for 6, 6.5 % for 8, 3.3 % for 10.  [default: {ranks.PRECISION}]",
)
@click.option(
    "--memory",
    "memory_mib",
    metavar="MIB",
    type=click.IntRange(min=1),
    help=f"Memory limit of the registers, in MiB.  [default: {ranks.MEMORY_BYTES >> 20}]",
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
    _refuse_weights(named, "distances do not count weights")
    if exact:
        return ranks.exact(named.graph, tell=tell)
    return ranks.hyperball(
        named.graph,
        rng=np.random.default_rng(_SEED),
        precision=precision or ranks.PRECISION,
        memory_bytes=memory_mib << 20 if memory_mib else ranks.MEMORY_BYTES,
        tell=tell,
    )


def _refuse_weights(named: NamedGraph, reason: str) -> None:
    """Refuse options that weight links, as this rank does not count weights.

    Weights in a graph file are ignored, and --weight KIND=0 drops links.
    """
    given = click.get_current_context().params
    options = [f"--weight {kind}={weight:g}" for kind, weight in given["weight"] if weight > 0]
    if given["crawl_weights"]:
        options.append("--crawl-weights")
    if named.weights is not None and options:
        raise click.UsageError(f"{options[-1]} changes nothing: {reason}")


# ================================================================ sites
#
# `minicrawl rank sites`: registrable domains by the links between them.

CASH = "cash"


@click.command()
@click.option(
    "--count",
    "counted",
    type=click.Choice(["links", "pages", CASH]),
    default="links",
    show_default=True,
    help="Weight of a link between sites: number of page links (links), number of linking pages "
    "(pages), or cash flow as in `top --sites` (cash). cash computes no PageRank.",
)
@count_option(100)
@json_option
@as_option
@source_options
@guard_options
@pagerank_options
def sites(
    source: Source,
    guards: Guards,
    terms: PageRankOptions,
    counted: str,
    name: str | None,
    n: int,
    as_json: bool,
) -> None:
    """Rank sites, which are registrable domains, by PageRank of the links between them.

    Links within a site do not count. With --count cash, sites are ranked by the cash that
    flows between them, as in `top --sites`. The score of a site is saved in equal parts for its
    pages, and `top --sites --by sites` adds it up again.
    """
    name = rank_name(name, source)
    if guards.asked_for().keys() - {"most_of_site"}:
        raise UsageError(
            "--intra-cap and --weight change nothing: links within a site do not count"
        )
    named = guards.guarded(source.graph)
    refuse_idle_dangling(terms)
    if counted == "pages" and len(sites_of(named.names).names) == named.graph.nodes:
        raise UsageError("--count pages is the same as links if each site has one page")
    linked = site_graph(named, by_page=counted == "pages")
    if not linked.graph.edges:
        raise UsageError("no site links to another one, so sites cannot be ranked")
    if counted == CASH and (guards.asked_for() or terms != PageRankOptions()):
        raise UsageError("--count cash cannot be combined with guards and options of PageRank")
    with source.progress(name) as tell:
        if counted == CASH:
            found = _by_cash(source, linked, tell)
        else:
            found = pagerank(linked.graph, linked.weights, options=terms, tell=tell)
    asked = {"count": counted} | asdict(terms) | guards.asked_for()
    try:
        kept = of_pages(found, sites_of(named.names))
        keep(source, {name: kept}, linked.graph.edges, asked)
    finally:
        show_ranks(linked, {name: found}, n, as_json)


def _by_cash(source: Source, linked: NamedGraph, tell: Progress) -> Scores:
    if source.snapshot is None:
        raise UsageError("--count cash needs a store: a graph file has no cash")
    cash = cash_of_sites(source.snapshot, tell)
    names = linked.names.of(range(len(linked.names)))
    values = np.array([cash.get(name, 0.0) for name in names])
    return Scores(values=values, iterations=0, error_bound=inf, converged=True)


# ================================================================ trust
#
# `minicrawl rank trust`: TrustRank, the trust that spreads from trusted pages.


@click.command()
@click.option("--seeds", type=NAMES_FILE, help="Trust the nodes in this file, one per line.")
@click.option(
    "--seed-by",
    type=click.Choice(list(trust_ranks.SEEDS_BY)),
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
    type=click.Choice([passing.value for passing in trust_ranks.Passing]),
    default=trust_ranks.Passing.SPLIT.value,
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
    if passing != trust_ranks.Passing.SPLIT.value:
        _refuse_weights(named, f"with --passing {passing} each link gets all of the trust")
    if seeds and (seed_by or count):
        raise UsageError("--seeds cannot be combined with --seed-by and --count")
    if seeds:
        nodes = nodes_of(named, lines_of(seeds), str(seeds))
    else:
        by = seed_by or "inverse"
        nodes = trust_ranks.chosen_seeds(named.graph, named.weights, by, count or TRUSTED)
    terms = trust_ranks.TrustOptions(
        passing=trust_ranks.Passing(passing), damping=damping, passes=passes, tolerance=tolerance
    )
    if bad is None:
        return trust_ranks.trust(named.graph, nodes, named.weights, options=terms, tell=tell)
    distrusted = nodes_of(named, lines_of(bad), str(bad))
    nodes = nodes if seeds else [node for node in nodes if node not in distrusted]
    return trust_ranks.less_distrust(
        named.graph, nodes, distrusted, named.weights, options=terms, tell=tell
    )

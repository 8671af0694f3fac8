"""`minicrawl rank sites`: registrable domains by the links between them."""

from dataclasses import asdict
from math import inf

import click
import numpy as np

from minicrawl.cli.store_options import count_option, json_option, source_options
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks.commands.named_ranks import keep
from minicrawl.ranks.commands.running import as_option, rank_name, show_ranks
from minicrawl.ranks.commands.walk_options import (
    guard_options,
    pagerank_options,
    refuse_idle_dangling,
)
from minicrawl.ranks.guards import Guards
from minicrawl.ranks.pagerank import PageRankOptions, pagerank
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.report.graph.source import Source
from minicrawl.report.graph.top_sites import cash_of_sites

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
            scores = _by_cash(source, linked, tell)
        else:
            scores = pagerank(linked.graph, linked.weights, options=terms, tell=tell)
    options = {"count": counted} | asdict(terms) | guards.asked_for()
    try:
        page_scores = of_pages(scores, sites_of(named.names))
        keep(source, {name: page_scores}, linked.graph.edges, options)
    finally:
        show_ranks(linked, {name: scores}, n, as_json)


def _by_cash(source: Source, linked: NamedGraph, tell: Progress) -> Scores:
    if source.snapshot is None:
        raise UsageError("--count cash needs a store: a graph file has no cash")
    cash = cash_of_sites(source.snapshot, tell)
    names = linked.names.of(range(len(linked.names)))
    values = np.array([cash.get(name, 0.0) for name in names])
    return Scores(values=values, iterations=0, error_bound=inf, converged=True)

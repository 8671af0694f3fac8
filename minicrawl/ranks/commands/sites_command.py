"""`minicrawl rank sites`: registrable domains by the links between them."""

from dataclasses import asdict
from math import inf

import click
import numpy as np

from minicrawl.cli.parameters import choice, with_made, with_options
from minicrawl.cli.store_options import count_option, json_option, source_options
from minicrawl.errors import UsageError
from minicrawl.ranks.commands import running
from minicrawl.ranks.commands.named_ranks import keep
from minicrawl.ranks.guards import Guards
from minicrawl.ranks.pagerank import PageRankOptions, pagerank
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.report.graph.source import Source
from minicrawl.report.graph.top_sites import cash_of_sites

CASH = "cash"


@click.command()
@with_options
@count_option(100)
@json_option
@running.as_option
@source_options
@with_made(guards=running.guards_of, options=running.pagerank_options)
def sites(
    source: Source,
    guards: Guards,
    options: PageRankOptions,
    name: str | None,
    n: int,
    as_json: bool,
    counted: str = choice(
        ("links", "pages", CASH),
        "Weight of a link between sites: number of page links (links), number of linking pages "
        "(pages), or cash flow as in `top --sites` (cash). cash computes no PageRank.",
        "links",
        flag="--count",
    ),
) -> None:
    """Rank sites, which are registrable domains, by PageRank of the links between them.

    Links within a site do not count. With --count cash, sites are ranked by the cash that
    flows between them, as in `top --sites`. The score of a site is saved in equal parts for its
    pages, and `top --sites --by sites` adds it up again.
    """
    name = running.rank_name(name, source)
    if guards.chosen().keys() - {"most_of_site"}:
        raise UsageError(
            "--intra-cap and --weight change nothing: links within a site do not count"
        )
    named = guards.guarded(source.graph)
    running.refuse_idle_dangling(options)
    if counted == "pages" and len(sites_of(named.names).names) == named.graph.nodes:
        raise UsageError("--count pages is the same as links if each site has one page")
    linked = site_graph(named, by_page=counted == "pages")
    if not linked.graph.edges:
        raise UsageError("no site links to another one, so sites cannot be ranked")
    if counted == CASH and (guards.chosen() or options != PageRankOptions()):
        raise UsageError("--count cash cannot be combined with guards and options of PageRank")
    with source.progress(name) as tell:
        if counted == CASH:
            if source.snapshot is None:
                raise UsageError("--count cash needs a store: a graph file has no cash")
            cash = cash_of_sites(source.snapshot, tell)
            names = linked.names.of(range(len(linked.names)))
            values = np.array([cash.get(name, 0.0) for name in names])
            scores = Scores(values=values, iterations=0, error_bound=inf, converged=True)
        else:
            scores = pagerank(linked.graph, linked.weights, options=options, tell=tell)
    kept_options = {"count": counted} | asdict(options) | guards.chosen()
    try:
        page_scores = of_pages(scores, sites_of(named.names))
        keep(source, {name: page_scores}, linked.graph.edges, kept_options)
    finally:
        running.show_ranks(linked, {name: scores}, n, as_json)

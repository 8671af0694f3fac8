"""`minicrawl rank sites`: registrable domains by the links between them."""

from dataclasses import asdict

import click

from minicrawl.analysis.ranks import keep
from minicrawl.analysis.source import Source
from minicrawl.cli.common.stores import count_option, json_option, source_options
from minicrawl.cli.rank.running import as_option, rank_name, show_ranks
from minicrawl.cli.rank.walk_options import guard_options, pagerank_options
from minicrawl.errors import UsageError
from minicrawl.ranks.hits.guards import Guards
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.ranks.walks.pagerank import PageRankOptions, pagerank


@click.command()
@click.option(
    "--count",
    "counted",
    type=click.Choice(["links", "pages"]),
    default="links",
    show_default=True,
    help="The weight of a link between two sites: the number of links between their pages, or of "
    "pages with such links.",
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

    Links within a site do not count. `top --sites` is something else: the cash that flowed to a
    site during the crawl. The score of a site is saved in equal parts for its pages, and
    `top --sites --by sites` adds it up again.
    """
    name = rank_name(name)
    named = guards.guarded(source.graph)
    linked = site_graph(named, by_page=counted == "pages")
    if not linked.graph.edges:
        raise UsageError("no site links to another one, so sites cannot be ranked")
    with source.progress(name) as tell:
        found = pagerank(linked.graph, linked.weights, options=terms, tell=tell)
    asked = {"count": counted} | asdict(terms) | guards.asked_for()
    try:
        kept = of_pages(found, sites_of(named.names))
        keep(source, {name: kept}, linked.graph.edges, asked)
    finally:
        show_ranks(linked, {name: found}, n, as_json)

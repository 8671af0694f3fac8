"""`minicrawl rank sites`: registrable domains by the links between them."""

from dataclasses import asdict

import click

from minicrawl.analysis.ranks import keep
from minicrawl.analysis.source import Source
from minicrawl.cli.common.stores import count_option, json_option, source_options
from minicrawl.cli.rank.running import as_option, rank_name, show_ranks
from minicrawl.cli.rank.walk_options import guard_options, terms_options
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
    help="What a link between two sites weighs: the links it is made of, or the pages that these "
    "leave from.",
)
@count_option(100)
@json_option
@as_option
@source_options
@guard_options
@terms_options
def sites(
    source: Source,
    guards: Guards,
    terms: PageRankOptions,
    counted: str,
    name: str | None,
    n: int,
    as_json: bool,
) -> None:
    """Rank registrable domains by the links between them: PageRank, every site a node.

    A site counts by who links to it, however often its own pages link to each other; `top --sites`
    tells another thing: what cash flowed to a site while the crawl was reading. What is kept of a
    site is shared by its pages alike; `top --sites --by sites` adds it up again.
    """
    name = rank_name(name)
    named = guards.guarded(source.graph)
    linked = site_graph(named, by_page=counted == "pages")
    if not linked.graph.edges:
        raise UsageError("no site links to another one: there is nothing to rank sites by")
    with source.progress(name) as tell:
        found = pagerank(linked.graph, linked.weights, options=terms, tell=tell)
    asked = {"count": counted} | asdict(terms) | guards.asked_for()
    try:
        kept = of_pages(found, sites_of(named.names))
        keep(source, {name: kept}, linked.graph.edges, asked)
    finally:
        show_ranks(linked, {name: found}, n, as_json)

"""`minicrawl rank`: link analysis of the whole graph, a command for each rank."""

import click

from minicrawl.cli.common.lazy import DeferredCommand, LazyGroup

# name -> where the command is and the line that `minicrawl rank --help` shows for it.
COMMANDS = {
    "list": ("minicrawl.cli.rank.listing:list_ranks", "The ranks that are kept."),
    "degree": ("minicrawl.cli.rank.centrality:degree", "How many links lead to a page."),
    "pagerank": ("minicrawl.cli.rank.pagerank:pagerank", "How often a walk over links comes by."),
    "inverse-pagerank": (
        "minicrawl.cli.rank.pagerank:inverse_pagerank",
        "PageRank of the links followed backwards.",
    ),
    "trust": ("minicrawl.cli.rank.trust:trust", "What trusted pages lead to."),
    "hits": ("minicrawl.cli.rank.hits:hits", "Hubs, and the authorities they link to."),
    "communities": (
        "minicrawl.cli.rank.communities:communities",
        "Groups of hubs and authorities.",
    ),
    "harmonic": ("minicrawl.cli.rank.centrality:harmonic", "Near to many."),
    "sites": ("minicrawl.cli.rank.sites:sites", "Registrable domains, by links between them."),
}


@click.group(
    cls=LazyGroup,
    commands=[
        DeferredCommand(name, target=target, summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
)
def rank() -> None:
    """Rank all pages by the links of a crawl, or the nodes of a graph file.

    What is found in a store is kept beside it, for `top --by`, `export --ranks` and `explain`.
    """

"""`minicrawl rank`: link analysis of the whole graph, a command for each rank."""

import click

from minicrawl.cli.lazy import DeferredCommand, LazyGroup

# name -> where the command is and the line that `minicrawl rank --help` shows for it.
COMMANDS = {
    "list": ("minicrawl.cli.rank.listing:list_ranks", "The ranks that are kept."),
    "degree": ("minicrawl.cli.rank.degree:degree", "How many links lead to a page."),
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

"""`minicrawl graph`: what can be done with a whole graph, be it of a crawl or of a file."""

import click

from minicrawl.cli.common.lazy import DeferredCommand, LazyGroup

# name -> where the command is and the line that `minicrawl graph --help` shows for it.
COMMANDS = {
    "import": ("minicrawl.cli.graph.command:import_", "Make a store of a graph file."),
    "info": (
        "minicrawl.cli.graph.command:info",
        "Show how large a graph is, and how it hangs together.",
    ),
}


@click.group(
    cls=LazyGroup,
    commands=[
        DeferredCommand(name, target=target, summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
)
def graph() -> None:
    """Look at the link graph of a crawl, or of a file."""

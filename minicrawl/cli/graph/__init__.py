"""`minicrawl graph`: commands for a whole link graph, of a crawl or of a file."""

import click

from minicrawl.cli import DeferredCommand, LazyGroup

# The name of each command -> where it is, and its line in `minicrawl graph --help`.
COMMANDS = {
    "import": ("minicrawl.cli.graph.command:import_", "Make a store from a graph file."),
    "info": (
        "minicrawl.cli.graph.command:info",
        "Show the size and the structure of a graph.",
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
    """Describe the link graph of a crawl or of a file, or import one."""

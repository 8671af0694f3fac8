"""`minicrawl cluster`: look at a cluster, and say what its nodes should do.

Law: nothing of a cluster is imported before one of its commands runs.
"""

import click

from minicrawl.cli import DeferredCommand, LazyGroup

# name -> where the command is and the line that `minicrawl cluster --help` shows for it.
COMMANDS = {
    "status": ("minicrawl.cli.cluster.status:status", "Show the nodes and the crawl of a cluster."),
    "gather": (
        "minicrawl.cli.cluster.gather:gather",
        "Make one ordinary store of all shards.",
    ),
    "drain": ("minicrawl.cli.cluster.commands:drain", "Let a node give up its shards."),
    "rebalance": ("minicrawl.cli.cluster.commands:rebalance", "Share the shards out evenly now."),
    "workers": (
        "minicrawl.cli.cluster.commands:workers",
        "Change the fetching processes of a node.",
    ),
}


@click.group(
    cls=LazyGroup,
    commands=[
        DeferredCommand(name, target=target, summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
)
def cluster() -> None:
    """Look at a cluster, and say what its nodes should do.

    `minicrawl crawl SEEDS --cluster URL` begins its crawl, and `minicrawl node --cluster URL` adds
    a machine.
    """

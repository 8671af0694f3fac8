"""`minicrawl cluster`: look at a cluster, and say what its nodes should do.

Law: nothing of a cluster is imported before one of its commands runs.
"""

import click

from minicrawl.cli import DeferredCommand, LazyGroup

# name -> where the command is and the line that `minicrawl cluster --help` shows for it.
COMMANDS = {
    "status": (
        "minicrawl.cluster.commands.status:status",
        "Show the nodes and the crawl of a cluster.",
    ),
    "gather": (
        "minicrawl.cluster.commands.gather:gather",
        "Make one ordinary store of all shards.",
    ),
    "drain": ("minicrawl.cluster.commands.nodes:drain", "Let a node give up its shards."),
    "rebalance": (
        "minicrawl.cluster.commands.nodes:rebalance",
        "Share the shards out evenly now.",
    ),
    "workers": (
        "minicrawl.cluster.commands.nodes:workers",
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
    """Look at a cluster, and steer its nodes.

    `minicrawl crawl SEEDS --cluster URL` begins its crawl, and `minicrawl node --cluster URL` adds
    a machine.
    """

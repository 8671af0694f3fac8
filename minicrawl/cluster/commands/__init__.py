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
    "set": (
        "minicrawl.cluster.commands.nodes:set_",
        "Change what a node does, or share the shards out.",
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
    """Inspect a cluster and control its nodes.

    `minicrawl crawl SEEDS --cluster URL` starts a crawl, `minicrawl node --cluster URL` adds a
    machine.
    """

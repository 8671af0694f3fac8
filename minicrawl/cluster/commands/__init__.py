"""`minicrawl cluster`: inspect a cluster and control its nodes.

Law: cluster code is imported only when one of its commands runs.
"""

import click

from minicrawl.cli import DeferredCommand, LazyGroup

# name, target to import, and summary in `minicrawl cluster --help`
_COMMANDS = (
    ("status", "nodes:status", "Show nodes, shards and progress."),
    ("gather", "gather:gather", "Gather all shards into one store."),
    ("reshard", "gather:reshard", "Give a stopped crawl another number of shards."),
    ("set", "nodes:set_", "Drain a node, or let it take shards again."),
)


@click.group(
    cls=LazyGroup,
    commands=[
        DeferredCommand(name, target=f"{__name__}.{target}", summary=summary)
        for name, target, summary in _COMMANDS
    ],
)
def cluster() -> None:
    """Inspect a cluster and control its nodes.

    `minicrawl crawl SEEDS --cluster URL` starts a crawl, `minicrawl node --cluster URL` adds a
    machine.
    """

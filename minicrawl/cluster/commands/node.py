"""`minicrawl node`."""

import asyncio
import re
import signal
import time
from pathlib import Path

import click

from minicrawl.cli.options import CommandWithSettings, loaded_options
from minicrawl.cluster.access import access_of
from minicrawl.config import Loaded
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.channels import MOST_SHARDS
from minicrawl.wording import visible

FOLDER = Path("data/cluster")
_NAME = re.compile("[A-Za-z0-9_-]{1,32}")


@click.command(cls=CommandWithSettings)
@click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    default=FOLDER,
    show_default=True,
    help="Folder for the stores of this node's shards.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the node, unique within the cluster.  [default: name of the machine]",
)
@click.option(
    "--most-shards",
    metavar="N",
    type=click.IntRange(min=1),
    default=MOST_SHARDS,
    help="Hold at most N shards.  [default: an equal share]",
)
@loaded_options(
    *("politeness", "network", "access", "cluster"),
    *("browser", "render-workers", "warc", "objects", "dedupe-with"),
)
def node(loaded: Loaded, folder: Path, name: str | None, most_shards: int) -> None:
    """Join this machine to a cluster.

    The node crawls some of the shards until Ctrl-C or SIGTERM. The crawl and its settings come from
    the cluster; settings of this machine, and those that weaken politeness (--ignore-robots, a
    shorter --delay, --allow-private), are set here. A node that stops hands its shards over first;
    the shards of a killed node are taken over by the others.
    """
    from minicrawl.cluster.node.running import default_node_name, run_node

    name = name or default_node_name()
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name}: use up to 32 letters, digits, - and _")
    access = access_of(loaded.settings)

    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await run_node(name, access, loaded, folder, _say, stopped, most_shards)

    asyncio.run(run())


def _say(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {visible(text)}", err=True)

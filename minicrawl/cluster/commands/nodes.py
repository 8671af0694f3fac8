"""`minicrawl node` and `cluster set`, and access to a cluster's engine for commands."""

import asyncio
import re
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from minicrawl.cli.setting_options import CommandWithSettings, loaded_options, settings_options
from minicrawl.cluster.access import access_of, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.config import Cluster, Loaded, Settings
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible

T = TypeVar("T")


def with_engine(cluster: Cluster, work: Callable[[ClusterEngine], Awaitable[T]]) -> T:
    """Run `work` with the engine of a cluster that has a crawl, and return its result."""

    async def run() -> T:
        async with opened(access_of(cluster), makes=False) as engine:
            return await work(engine)

    return asyncio.run(run())


# ================================================================ wishes
#
# `minicrawl cluster set`.


@click.command("set", cls=CommandWithSettings)
@click.argument("node", required=False)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=0),
    help="Number of fetch processes per shard of NODE, now and later; 0 fetches in the shard's "
    "own process.",
)
@click.option(
    "--drain/--no-drain",
    default=None,
    help="Move all shards of NODE to other nodes and give it no more, or let it take shards again.",
)
@click.option(
    "--rebalance",
    is_flag=True,
    help="Distribute the shards evenly now, without NODE. Nodes also do this a few seconds after "
    "a node joins.",
)
@settings_options("cluster")
def set_(
    settings: Settings,
    node: str | None,
    workers: int | None,
    drain: bool | None,
    rebalance: bool,
) -> None:
    """Configure NODE, or rebalance the shards.

    The command returns at once. Once a drained node holds no shard (`minicrawl cluster status`), it
    can be stopped without pausing the crawl.
    """
    from minicrawl.cluster import overview as wishes

    if rebalance:
        if node is not None or workers is not None or drain is not None:
            raise UsageError("--rebalance is for all nodes: leave out NODE, --workers and --drain")
        with_engine(settings.cluster, wishes.rebalance)
        click.echo("the shards are shared out evenly", err=True)
        return
    if node is None or (workers is None and drain is None):
        raise UsageError("say which NODE, and --workers N, --drain or --no-drain; or --rebalance")

    async def change(engine: ClusterEngine) -> None:
        if workers is not None:
            await wishes.set_workers(engine, node, workers)
        if drain is not None:
            await (wishes.drain if drain else wishes.undrain)(engine, node)

    with_engine(settings.cluster, change)
    if workers is not None:
        click.echo(f"{node}: {workers} fetching processes for each shard", err=True)
    if drain is not None:
        click.echo(f"{node} {'gives up its shards' if drain else 'takes shards again'}", err=True)


# ================================================================ node
#
# `minicrawl node`.

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
    help="Hold at most N shards.  [default: an equal share]",
)
@loaded_options(
    *("politeness", "network", "access", "cluster"),
    *("browser", "render-workers"),
)
def node(loaded: Loaded, folder: Path, name: str | None, most_shards: int | None) -> None:
    """Join this machine to a cluster.

    The node crawls some of the shards until Ctrl-C or SIGTERM. The crawl and its settings come from
    the cluster; settings of this machine, and those that weaken politeness (--ignore-robots, a
    shorter --delay, --allow-private), are set here. A node that stops hands its shards over first;
    the shards of a killed node are taken over by the others.
    """
    from minicrawl.cluster.access import access_of
    from minicrawl.cluster.node.running import NodePlace, run_node, usual_name
    from minicrawl.cluster.terms import settings_of_node, workers_of_node

    place = NodePlace(
        name=_checked(name or usual_name()),
        folder=folder,
        most_shards=most_shards or 1 << 16,
        workers=workers_of_node(loaded),
    )
    access, own = access_of(loaded.settings.cluster), settings_of_node(loaded)

    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await run_node(access, place, own, _say, stopped)

    asyncio.run(run())


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name}: use up to 32 letters, digits, - and _")
    return name


def _say(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {visible(text)}", err=True)

"""Opening the engine of a cluster for a command."""

import asyncio
import re
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from minicrawl.cli.common.options import CommandWithSettings, loaded_options, settings_options
from minicrawl.cluster.access import access_of, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.config import Cluster, Loaded, Settings
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible

T = TypeVar("T")


def with_engine(cluster: Cluster, work: Callable[[ClusterEngine], Awaitable[T]]) -> T:
    """The result of the work with the engine of this cluster, which must have a crawl."""

    async def run() -> T:
        async with opened(access_of(cluster), makes=False) as engine:
            return await work(engine)

    return asyncio.run(run())


# ================================================================ wishes
#
# `minicrawl cluster drain|rebalance|workers`.


@click.command(cls=CommandWithSettings)
@click.argument("node")
@click.option("--undo", is_flag=True, help="Let the node take shards again.")
@settings_options("cluster")
def drain(settings: Settings, node: str, undo: bool) -> None:
    """Let a node give up its shards, which go to the others, and take no more.

    When it holds none (`minicrawl cluster status`), it can be stopped without a pause of the crawl.
    """
    from minicrawl.cluster import overview as wishes

    wish = wishes.undrain if undo else wishes.drain
    with_engine(settings.cluster, lambda engine: wish(engine, node))
    click.echo(f"{node} takes shards again" if undo else f"{node} gives up its shards", err=True)


@click.command(cls=CommandWithSettings)
@settings_options("cluster")
def rebalance(settings: Settings) -> None:
    """Share the shards out evenly now.

    Nodes do that by themselves, a few seconds after another node came. This does not wait.
    """
    from minicrawl.cluster import overview as wishes

    with_engine(settings.cluster, wishes.rebalance)
    click.echo("the shards are shared out evenly", err=True)


@click.command(cls=CommandWithSettings)
@click.argument("node")
@click.argument("count", type=click.IntRange(min=0), metavar="N")
@settings_options("cluster")
def workers(settings: Settings, node: str, count: int) -> None:
    """Let each shard of NODE have N fetching processes; 0 if the shard's own process fetches.

    It changes while the crawl runs, and for shards that the node takes later.
    """
    from minicrawl.cluster import overview as wishes

    with_engine(settings.cluster, lambda engine: wishes.set_workers(engine, node, count))
    click.echo(f"{node}: {count} fetching processes for each shard", err=True)


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
    help="Where the stores of this node's shards are.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="What the node is called; each node of a cluster has another name.  "
    "[default: the name of the machine]",
)
@click.option(
    "--most-shards",
    metavar="N",
    type=click.IntRange(min=1),
    help="Hold at most N shards.  [default: an even part of all]",
)
@loaded_options(
    *("politeness", "network", "access", "cluster"),
    *("browser", "render-workers"),
)
def node(loaded: Loaded, folder: Path, name: str | None, most_shards: int | None) -> None:
    """Add this machine to a cluster.

    It crawls a part of the shards until Ctrl-C or SIGTERM. The crawl and its settings come from the
    cluster. What belongs to this machine is set here, and so is what weakens a promise:
    --ignore-robots, a shorter --delay, --allow-private. A node that ends gives its shards to the
    others first. One that is killed is replaced by them.
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

"""`minicrawl cluster drain|rebalance|workers`."""

import click

from minicrawl.cli.cluster.engines import with_engine
from minicrawl.cli.common.options import CommandWithSettings, settings_options
from minicrawl.config import Settings


@click.command(cls=CommandWithSettings)
@click.argument("node")
@click.option("--undo", is_flag=True, help="Let the node take shards again.")
@settings_options("cluster")
def drain(settings: Settings, node: str, undo: bool) -> None:
    """Let a node give up its shards, which go to the others, and take no more.

    When it holds none (`minicrawl cluster status`), it can be stopped without a pause of the crawl.
    """
    from minicrawl.cluster import wishes

    wish = wishes.undrain if undo else wishes.drain
    with_engine(settings.cluster, lambda engine: wish(engine, node))
    click.echo(f"{node} takes shards again" if undo else f"{node} gives up its shards", err=True)


@click.command(cls=CommandWithSettings)
@settings_options("cluster")
def rebalance(settings: Settings) -> None:
    """Share the shards out evenly now.

    Nodes do that by themselves, a few seconds after another node came. This does not wait.
    """
    from minicrawl.cluster import wishes

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
    from minicrawl.cluster import wishes

    with_engine(settings.cluster, lambda engine: wishes.set_workers(engine, node, count))
    click.echo(f"{node}: {count} fetching processes for each shard", err=True)

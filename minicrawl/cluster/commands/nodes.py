"""`minicrawl cluster set` and `status`, and `control --cluster`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

import click

from minicrawl.cli.options import CommandWithSettings, settings_options
from minicrawl.cli.output import show_facts, show_json, show_list
from minicrawl.cli.store_options import json_option
from minicrawl.cluster import steering
from minicrawl.cluster.access import access_of, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.overview import ClusterStatus, NodeRow, overview
from minicrawl.cluster.server_versions import summary
from minicrawl.config import Settings
from minicrawl.control import ControlRequest, Verb
from minicrawl.errors import UsageError
from minicrawl.wording import counted, rate

T = TypeVar("T")


def with_engine(settings: Settings, work: Callable[[ClusterEngine], Awaitable[T]]) -> T:
    """Run `work` with the engine of a cluster that has a crawl, and return its result."""

    async def run() -> T:
        async with opened(access_of(settings), makes=False) as engine:
            return await work(engine)

    return asyncio.run(run())


@click.command("set", cls=CommandWithSettings)
@click.argument("node")
@click.option(
    "--drain/--no-drain",
    required=True,
    help="Move all shards of NODE to other nodes and give it no more, or let it take shards again.",
)
@settings_options("cluster", "insecure")
def set_(settings: Settings, node: str, drain: bool) -> None:
    """Drain NODE, or let it take shards again.

    The command returns at once. Once a drained node holds no shard (`minicrawl cluster status`), it
    can be stopped without pausing the crawl.
    """
    with_engine(settings, lambda engine: steering.drain(engine, node, undo=not drain))
    click.echo(f"{node} {'gives up its shards' if drain else 'takes shards again'}", err=True)


_HEADINGS = ("pages", "pages/s", "workers", "node", "state", "machine", "shards")


@click.command(cls=CommandWithSettings)
@json_option
@settings_options("cluster", "insecure")
def status(settings: Settings, as_json: bool) -> None:
    """Show the nodes of a cluster, their shards, and the progress of the crawl.

    A node is `silent` after three seconds without a message: it is down or unreachable.
    """
    cluster_status = with_engine(settings, overview)
    if as_json:
        show_json(cluster_status)
        return
    show_facts(facts_of(cluster_status))
    click.echo()
    show_list(_HEADINGS, [cells_of(row) for row in cluster_status.nodes], texts=4)


def facts_of(status_now: ClusterStatus) -> Iterator[tuple[str, str]]:
    reason = f" ({status_now.reason})" if status_now.reason else ""
    budget = f" of {status_now.budget:,}" if status_now.budget is not None else ""
    yield "crawl", f"{status_now.doing}{reason}"
    pace = "" if status_now.is_over else f", {rate(status_now.pace)}"
    yield "fetched", f"{status_now.fetched:,}{budget} pages{pace}"
    yield "waiting", f"{status_now.waiting:,} pages"
    yield "under way", f"{counted(status_now.batches, 'batch', 'batches')} of cash between shards"
    yield "cash threshold", f"{status_now.level:,.2f} units" if status_now.level else "none"
    is_lacking = status_now.unheld and not status_now.is_over
    nobody = f"; nobody holds {as_ranges(status_now.unheld)}" if is_lacking else ""
    yield "shards", f"{status_now.shards:,}{nobody}"
    if status_now.servers:
        yield "servers", summary(status_now.servers)


def as_ranges(numbers: Sequence[int]) -> str:
    """Format numbers as ranges: `0-3, 7`."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)


def cells_of(row: NodeRow) -> list[str]:
    pace = rate(row.pace).removesuffix("/s")
    return [
        f"{row.fetched:,}",
        pace,
        f"{row.workers:,}",
        row.name,
        row.state,
        row.machine,
        as_ranges(row.shards) or "none",
    ]


_INSTEAD = {
    "workers": "start each node again with minicrawl node --workers N",
    "add": "stop the crawl, then start it with more SEEDS",
}
_OTHERWISE = "stop the crawl, then start it with another value"


def steer(settings: Settings, action: str, request: ControlRequest, *, as_json: bool) -> None:
    """Send the request, then show the cluster."""

    async def work(engine: ClusterEngine) -> ClusterStatus:
        if (change := steering.REQUESTS.get(request.verb)) is not None:
            await change(engine)
        elif action == "pages":
            await steering.set_pages(engine, (request.values or {})["pages"])
        elif request.verb is not Verb.SHOW:
            raise UsageError(f"control {action} --cluster: {_INSTEAD.get(action, _OTHERWISE)}")
        return await overview(engine)

    status_after = with_engine(settings, work)
    if as_json:
        show_json(status_after)
    else:
        show_facts(facts_of(status_after))

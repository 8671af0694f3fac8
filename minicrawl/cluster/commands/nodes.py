"""`minicrawl node`, `cluster set`, `cluster status`, `cluster gather`, `control --cluster`."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.options import CommandWithSettings, json_option, loaded_options, settings_options
from minicrawl.cli.output import progress, show_facts, show_json, show_list
from minicrawl.cluster import overview as steering
from minicrawl.cluster.engine import ClusterEngine, access_of, opened
from minicrawl.cluster.overview import ClusterStatus, NodeRow, overview
from minicrawl.config import Cluster, Loaded, Settings
from minicrawl.control import ControlRequest, Verb
from minicrawl.errors import UsageError
from minicrawl.opic.money import UNIT
from minicrawl.wording import counted, rate, visible

if TYPE_CHECKING:
    from minicrawl.cluster.gathering import Gathered


T = TypeVar("T")


def with_engine(settings: Settings, work: Callable[[ClusterEngine], Awaitable[T]]) -> T:
    """Run `work` with the engine of a cluster that has a crawl, and return its result."""

    async def run() -> T:
        async with opened(access_of(settings), makes=False) as engine:
            return await work(engine)

    return asyncio.run(run())


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
    *("browser", "render-workers", "warc"),
)
def node(loaded: Loaded, folder: Path, name: str | None, most_shards: int | None) -> None:
    """Join this machine to a cluster.

    The node crawls some of the shards until Ctrl-C or SIGTERM. The crawl and its settings come from
    the cluster; settings of this machine, and those that weaken politeness (--ignore-robots, a
    shorter --delay, --allow-private), are set here. A node that stops hands its shards over first;
    the shards of a killed node are taken over by the others.
    """
    from minicrawl.cluster.node.node import NodeConfig, default_node_name, run_node
    from minicrawl.cluster.terms import settings_of_node, workers_of_node

    place = NodeConfig(
        name=_checked(name or default_node_name()),
        folder=folder,
        most_shards=most_shards or 1 << 16,
        workers=workers_of_node(loaded),
    )
    access, own = access_of(loaded.settings), settings_of_node(loaded)

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


# ================================================================ set
#
# `minicrawl cluster set`.


@click.command("set", cls=CommandWithSettings)
@click.argument("node")
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
@settings_options("cluster", "insecure")
def set_(settings: Settings, node: str, workers: int | None, drain: bool | None) -> None:
    """Configure NODE.

    The command returns at once. Once a drained node holds no shard (`minicrawl cluster status`), it
    can be stopped without pausing the crawl.
    """
    if workers is None and drain is None:
        raise UsageError("say --workers N, --drain or --no-drain")

    async def change(engine: ClusterEngine) -> None:
        if workers is not None:
            await steering.set_workers(engine, node, workers)
        if drain is not None:
            await (steering.drain if drain else steering.undrain)(engine, node)

    with_engine(settings, change)
    if workers is not None:
        click.echo(f"{node}: {workers} fetching processes for each shard", err=True)
    if drain is not None:
        click.echo(f"{node} {'gives up its shards' if drain else 'takes shards again'}", err=True)


# ================================================================ status

_HEADINGS = ("pages", "pages/s", "workers", "node", "state", "machine", "shards")


@click.command(cls=CommandWithSettings)
@json_option
@settings_options("cluster", "insecure")
def status(settings: Settings, as_json: bool) -> None:
    """Show the nodes of a cluster, their shards, and the progress of the crawl.

    A node is `silent` after three seconds without a message: it is down or unreachable.
    """
    found = with_engine(settings, overview)
    if as_json:
        show_json(found.as_json())
        return
    show_facts(facts_of(found))
    click.echo()
    show_list(_HEADINGS, [cells_of(row) for row in found.nodes], texts=4)


def facts_of(found: ClusterStatus) -> Iterator[tuple[str, str]]:
    reason = f" ({found.reason})" if found.reason else ""
    budget = f" of {found.budget:,}" if found.budget is not None else ""
    yield "crawl", f"{found.doing}{reason}"
    pace = "" if found.is_over else f", {rate(found.pace)}"
    yield "fetched", f"{found.fetched:,}{budget} pages{pace}"
    yield "waiting", f"{found.waiting:,} pages"
    yield "under way", f"{counted(found.batches, 'batch', 'batches')} of cash between shards"
    yield "cash threshold", f"{found.level:,.2f} units" if found.level else "none"
    is_lacking = found.unheld and not found.is_over
    nobody = f"; nobody holds {as_ranges(found.unheld)}" if is_lacking else ""
    yield "shards", f"{found.shards:,}{nobody}"


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


# ================================================================ steering
#
# `minicrawl control --cluster`: pause, resume or stop all nodes, or change the page budget.

_INSTEAD = {
    "workers": "minicrawl cluster set NODE --workers N changes those of a node",
    "add": "stop the crawl, then start it with more SEEDS",
}
_OTHERWISE = "stop the crawl, then start it with another value"


def steer(settings: Settings, action: str, request: ControlRequest, *, as_json: bool) -> None:
    """Send the request, then show the cluster."""

    async def work(engine: ClusterEngine) -> ClusterStatus:
        await _do(engine, action, request)
        return await overview(engine)

    found = with_engine(settings, work)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(facts_of(found))


async def _do(engine: ClusterEngine, action: str, request: ControlRequest) -> None:
    if (change := steering.REQUESTS.get(request.verb)) is not None:
        await change(engine)
    elif action == "pages":
        await steering.set_pages(engine, (request.values or {})["pages"])
    elif request.verb is not Verb.SHOW:
        raise UsageError(f"control {action} --cluster: {_INSTEAD.get(action, _OTHERWISE)}")


# ================================================================ gather

_DIGEST_BYTES = 8


@click.command(cls=CommandWithSettings)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("stores", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@settings_options("cluster", "insecure")
def gather(file: Path, stores: tuple[Path, ...], settings: Settings, as_json: bool) -> None:
    """Gather all shards of a crawl into one store, FILE.

    With --cluster, the shards are restored from the servers, without disturbing a node; otherwise,
    name the files of all shards as STORES. All commands work on FILE, which has the pages of all
    shards, the cash in transit to them, and their kept responses. If cash is missing, FILE is not
    written, and the error says where.
    """
    with progress("gather") as tell:
        if stores:
            from minicrawl.cluster.gathering import gather_stores

            made = gather_stores(stores, file, tell)
        else:
            from minicrawl.cluster.gathering import gather_cluster

            made = with_engine(settings, lambda engine: gather_cluster(engine, file, tell))
    _warn_of_ages(made)
    if as_json:
        show_json(made.as_json())
    else:
        show_facts(_facts(made))


@contextmanager
def store_of_cluster(settings: Settings, *, pages: bool) -> Iterator[Path]:
    """Yield a store of the whole cluster, with or (faster) without kept pages.

    The store exists until the context is left, even if a newer one is gathered meanwhile.
    """
    from minicrawl.cluster.gathering import kept_store

    folder = folder_of(settings.cluster)
    with ExitStack() as reading:
        with progress("gather") as tell:
            found = with_engine(
                settings,
                lambda engine: kept_store(engine, folder, tell, pages=pages, reading=reading),
            )
        if (made := found.made) is not None:
            _warn_of_ages(made)
            read, shards = counted(made.pages, "page"), counted(made.shards, "shard")
            _warn(f"gathered {read} of {shards} into {found.store}")
        yield found.store


def folder_of(cluster: Cluster) -> Path:
    """Return the folder of this cluster in the user's cache."""
    if cluster.url is None:
        raise UsageError("no cluster: name its servers with --cluster nats://host:4222")
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = blake2b(cluster.url.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return Path(usual) / PROGRAM / "clusters" / name


def _warn_of_ages(made: "Gathered") -> None:
    """Warn if some stores are older than others."""
    if made.ahead:
        batches = counted(sum(one.batches for one in made.ahead), "batch", "batches")
        units = sum(one.atoms for one in made.ahead) / UNIT
        _warn(
            f"the stores are from different moments: a newer one received {batches} with "
            f"{units:,.2f} units that an older one has not sent yet; the pot paid for them"
        )


def _warn(line: str) -> None:
    click.echo(f"{PROGRAM}: {visible(line)}", err=True)


def _facts(made: "Gathered") -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "shards", f"{made.shards:,}"
    yield "pages", f"{made.pages:,}"
    yield "cash", f"{made.minted:,.2f} units, none missing"
    yield "waited in outboxes", f"{made.in_outboxes:,.2f} units"
    yield "was under way", f"{made.under_way:,.2f} units"
    if made.unheard:
        yield "unheard", f"{counted(made.unheard, 'page')} that their own shards did not know yet"
    if made.circles:
        yield "broken", f"{counted(made.circles, 'circle')} of pages that stand for each other"

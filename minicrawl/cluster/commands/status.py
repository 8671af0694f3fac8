"""`minicrawl cluster status`."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from minicrawl.cli.input_options import json_option
from minicrawl.cli.output import show_facts, show_json, show_list
from minicrawl.cli.setting_options import CommandWithSettings, settings_options
from minicrawl.cluster import overview as wishes
from minicrawl.cluster.commands.nodes import with_engine
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.overview import ClusterStatus, overview
from minicrawl.config import Cluster, Settings
from minicrawl.config.parts import BY_NAME
from minicrawl.config.settings import Given
from minicrawl.control.requests import ControlRequest, Verb
from minicrawl.errors import UsageError
from minicrawl.wording import counted, rate

if TYPE_CHECKING:
    from minicrawl.cluster.overview import NodeRow


_HEADINGS = ("pages", "pages/s", "workers", "node", "state", "machine", "shards")


@click.command(cls=CommandWithSettings)
@json_option
@settings_options("cluster")
def status(settings: Settings, as_json: bool) -> None:
    """Show the nodes of a cluster, their shards, and the progress of the crawl.

    A node is `silent` after three seconds without a message: it is down or unreachable.
    """
    from minicrawl.cluster.overview import overview

    found = with_engine(settings.cluster, overview)
    if as_json:
        show_json(found.as_json())
        return
    show_facts(facts_of(found))
    click.echo()
    show_list(_HEADINGS, [cells_of(row) for row in found.nodes], texts=4)


def facts_of(found: "ClusterStatus") -> Iterator[tuple[str, str]]:
    """Return facts about the whole cluster."""
    reason = f" ({found.reason})" if found.reason else ""
    budget = f" of {found.budget:,}" if found.budget is not None else ""
    yield "crawl", f"{found.doing}{reason}"
    pace = "" if found.is_over else f", {rate(found.pace)}"
    yield "fetched", f"{found.fetched:,}{budget} pages{pace}"
    yield "waiting", f"{found.waiting:,} pages"
    yield "under way", f"{counted(found.batches, 'batch', 'batches')} of cash between shards"
    yield "water level", f"{found.level:,.2f} units" if found.level else "none"
    nobody = f"; nobody holds {as_ranges(found.unheld)}" if found.unheld else ""
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


def cells_of(row: "NodeRow") -> list[str]:
    """Return a node as a row of the table."""
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

_WISHES: dict[Verb, Callable[[ClusterEngine], Awaitable[object]]] = {
    Verb.PAUSE: wishes.pause,
    Verb.RESUME: wishes.resume,
    Verb.STOP: wishes.stop,
}
_INSTEAD = {
    "workers": "minicrawl cluster set NODE --workers N changes those of a node",
    "add": "stop the crawl, then start it with more SEEDS",
}
_OTHERWISE = "stop the crawl, then start it with another value"


def steer(cluster: Cluster, action: str, request: ControlRequest, *, as_json: bool) -> None:
    """Send the request, then show the cluster."""

    async def work(engine: ClusterEngine) -> ClusterStatus:
        await _do(engine, action, request)
        return await overview(engine)

    found = with_engine(cluster, work)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(facts_of(found))


async def _do(engine: ClusterEngine, action: str, request: ControlRequest) -> None:
    if (wish := _WISHES.get(request.verb)) is not None:
        await wish(engine)
    elif action == "pages":
        pages = Given((request.values or {})["pages"], "pages", " ").read_as(BY_NAME["pages"])
        assert pages is None or isinstance(pages, int)
        await wishes.set_pages(engine, pages)
    elif request.verb is not Verb.SHOW:
        raise UsageError(f"control {action} --cluster: {_INSTEAD.get(action, _OTHERWISE)}")

"""Nodes in processes of their own, each in a control group."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from minicrawl.cluster.engine import ClusterEngine
from minicrawl.config import Loaded
from tests.bench.cluster.groups import ControlGroup, control_group
from tests.cluster import node_process
from tests.cluster.node_process import shards_of, until

_IDLE_CORES = 0.1
"""Most cores that an idle node uses."""


@asynccontextmanager
async def nodes(
    urls: Sequence[str], folder: Path, loaded: Loaded
) -> AsyncIterator[Mapping[str, ControlGroup]]:
    """Start a node for each URL, without waiting for their shards; give their groups by name."""
    named = {f"node-{number}": url for number, url in enumerate(urls, 1)}
    with ExitStack() as stack:
        groups = {name: stack.enter_context(control_group(name)) for name in named}
        async with node_process.nodes(named, folder, loaded) as started:
            for name, node in started.items():
                groups[name].add(node.process.pid)
            yield groups


async def settled(engine: ClusterEngine, groups: Mapping[str, ControlGroup]) -> None:
    """Wait until the shards are evenly distributed, and the nodes have become idle."""
    await until(
        engine,
        lambda found: (
            not found.unheld
            and all(len(shards_of(found, name)) >= found.shards // len(groups) for name in groups)
        ),
        "the shards are not shared out",
    )
    before = [group.cpu_s() for group in groups.values()]
    while True:
        await asyncio.sleep(1)
        now = [group.cpu_s() for group in groups.values()]
        if all(b - a < 2 * _IDLE_CORES for a, b in zip(before, now, strict=True)):
            return
        before = now

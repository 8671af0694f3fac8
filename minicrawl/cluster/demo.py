"""A cluster on this machine, to see one: three servers, four nodes, and the demo web.

Law: nothing of it is left when it ends, whatever ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.node.held import Tell
from minicrawl.cluster.node.running import NodePlace, run_node
from minicrawl.cluster.servers import local_servers
from minicrawl.config import Loaded
from minicrawl.demo.server import DemoServer
from minicrawl.demo.settings import demo_settings
from minicrawl.demo.web import DemoWeb

SERVERS, NODES, SHARDS = 3, 4, 8


class DemoCluster(NamedTuple):
    """Where it is, and what is crawled."""

    access: ClusterAccess
    loaded: Loaded
    seeds: list[str]


@asynccontextmanager
async def demo_cluster(loaded: Loaded, pages: int, tell: Tell) -> AsyncIterator[DemoCluster]:
    """Servers and nodes that wait for the crawl of a web of so many pages."""
    web, stopped = DemoWeb(pages), asyncio.Event()
    with TemporaryDirectory(prefix="minicrawl-cluster-") as folder, DemoServer(web) as server:
        settings = demo_settings(loaded, pages, server.address)
        async with local_servers(Path(folder) / "servers", SERVERS) as servers:
            access = ClusterAccess(servers.url)
            async with asyncio.TaskGroup() as nodes:
                for number in range(1, NODES + 1):
                    name = f"demo-{number}"
                    place = NodePlace(name=name, folder=Path(folder) / name)
                    nodes.create_task(run_node(access, place, {}, _named(name, tell), stopped))
                try:
                    yield DemoCluster(access, settings, list(web.seeds))
                finally:
                    stopped.set()


def _named(name: str, tell: Tell) -> Tell:
    return lambda text: tell(f"{name}: {text}")

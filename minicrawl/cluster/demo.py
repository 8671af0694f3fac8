"""A cluster on this machine, to see one: three servers, four nodes, and the demo web.

Laws: nothing of it is left when it ends but the pages that it found; after a kill -9, its folder
for temporary files, too.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gather.restoring import gather_cluster
from minicrawl.cluster.node.held import Tell
from minicrawl.cluster.node.running import NodePlace, run_node
from minicrawl.cluster.servers import local_servers
from minicrawl.cluster.terms import settings_of_node, workers_of_node
from minicrawl.config import Loaded
from minicrawl.demo.server import DemoServer
from minicrawl.demo.settings import demo_settings
from minicrawl.demo.web import DemoWeb
from minicrawl.store.beside.files import files_of

SERVERS, NODES, SHARDS = 3, 4, 8
STORE = Path("data/demo-cluster.db")
"""What was found, in one store."""


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
            names = [f"demo-{number}" for number in range(1, NODES + 1)]
            workers = workers_of_node(loaded)
            own = settings_of_node(settings)
            places = [
                NodePlace(name=name, folder=Path(folder) / name, workers=workers) for name in names
            ]
            nodes = [
                asyncio.create_task(run_node(access, one, own, _named(one.name, tell), stopped))
                for one in places
            ]
            try:
                yield DemoCluster(access, settings, list(web.seeds))
            finally:
                stopped.set()
                await asyncio.gather(*nodes)


async def keep_what_was_found(engine: ClusterEngine) -> None:
    """Gather all shards into one store, in the place of that of an earlier demo."""
    for file in files_of(STORE):
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()
    await gather_cluster(engine, STORE)


def _named(name: str, tell: Tell) -> Tell:
    return lambda text: tell(f"{name}: {text}")

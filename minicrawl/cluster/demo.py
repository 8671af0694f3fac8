"""A cluster on this machine to look at: three servers, four nodes, and the demo web.

Law: at its end only the store of the pages found remains, and after a kill -9 the folder of
temporary files.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gathering.kept_store import gather_cluster
from minicrawl.cluster.node.running import NodeConfig, run_node
from minicrawl.cluster.node.supervisor import Tell
from minicrawl.cluster.servers import PROGRAM, WHEEL, WHEEL_VERSION, local_servers, server_program
from minicrawl.cluster.shared_settings import settings_of_node, workers_of_node
from minicrawl.config import Loaded
from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb, demo_settings
from minicrawl.store.files import files_of

DEMO_SERVERS, DEMO_NODES, DEMO_SHARDS = 3, 4, 8
DEMO_STORE = Path("data/demo-cluster.db")
"""Store of all pages found."""


@asynccontextmanager
async def demo_cluster(
    loaded: Loaded, pages: int, emit: Tell
) -> AsyncIterator[tuple[ClusterAccess, Loaded, list[str]]]:
    """Start servers and nodes, which wait for the crawl of a web of `pages` pages.

    Yield access to the cluster, and settings and seeds of the crawl to begin in it.
    """
    web, stopped = DemoWeb(pages), asyncio.Event()
    with TemporaryDirectory(prefix="minicrawl-cluster-") as folder, DemoServer(web) as server:
        settings = demo_settings(loaded, pages, server.address)
        async with local_servers(Path(folder) / "servers", DEMO_SERVERS) as servers:
            if WHEEL in (server_program() or ""):
                emit(f"{PROGRAM} is that of {WHEEL_VERSION}, for demos and tests only")
            access = ClusterAccess(servers.url)
            workers, own = workers_of_node(loaded), settings_of_node(settings)
            nodes = []
            for name in (f"demo-{number}" for number in range(1, DEMO_NODES + 1)):
                config = NodeConfig(name=name, folder=Path(folder) / name, workers=workers)
                node = run_node(access, config, own, _named(name, emit), stopped)
                nodes.append(asyncio.create_task(node))
            try:
                yield access, settings, list(web.seeds)
            finally:
                stopped.set()
                await asyncio.gather(*nodes)


async def save_demo_store(engine: ClusterEngine) -> None:
    """Gather all shards into one store, in place of an earlier demo's."""
    for file in files_of(DEMO_STORE):
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()
    await gather_cluster(engine, DEMO_STORE)


def _named(name: str, emit: Tell) -> Tell:
    return lambda text: emit(f"{name}: {text}")

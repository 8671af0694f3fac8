"""Opening the engine of a cluster for a command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from minicrawl.cluster.access import access_of, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.config import Cluster

T = TypeVar("T")


def with_engine(cluster: Cluster, work: Callable[[ClusterEngine], Awaitable[T]]) -> T:
    """The result of the work with the engine of this cluster, which must have a crawl."""

    async def run() -> T:
        async with opened(access_of(cluster), makes=False) as engine:
            return await work(engine)

    return asyncio.run(run())

"""Program that takes a shard over and commits documents 1, 2, 3 and so on until it is killed.

It prints each number once the commit is confirmed.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.nats.connecting import connect
from minicrawl.cluster.replica.restoring import Restored, take_over
from minicrawl.cluster.replica.shipping import ReplicaLimits, ShardReplica
from minicrawl.store.writer import StoreWriter
from tests.cluster.documents import SHARD, document, documents
from tests.cluster.engines import connected

OFTEN = ReplicaLimits(wal_bytes=500_000, log_bytes=50_000)


async def taken(settings: ClusterAccess, path: Path) -> Restored:
    async with connected(settings) as engine:
        return await take_over(engine, SHARD, path)


def main(url: str, path: Path) -> None:
    settings = ClusterAccess(url=url)
    replica = ShardReplica(
        SHARD, path, asyncio.run(taken(settings, path)), lambda: connect(settings), OFTEN
    )
    store = StoreWriter.open(path, replica)
    store.compact()
    for number in count(len(documents(store.connection)) + 1):
        store.commit(document(number))
        print(number, flush=True)  # noqa: T201  # the test reads the output


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

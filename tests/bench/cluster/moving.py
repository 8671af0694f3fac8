"""Pause in the crawl of a large shard that moves from one node to another.

The store of the shard is synthetic, and put into the engine as a snapshot before the nodes start.
So are the headers of its kept pages, if it has any; they are in a folder as object store.
Its hosts are on loopback, and their server logs the times of requests. One of two nodes is drained;
the longest pause between two requests after that is the move.
"""

import asyncio
import time
from bisect import bisect
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, closing
from itertools import count, islice, pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from minicrawl.cluster import steering
from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.replica.restoring import take_over
from minicrawl.cluster.replica.snapshots import SnapshotWriter
from minicrawl.cluster.servers import local_servers
from minicrawl.cluster.terms import start_or_join
from minicrawl.demo.pages import DemoResponse, refused
from minicrawl.demo.server import DemoServer
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.store import tables
from minicrawl.store.records import Batch, StoreTerms
from minicrawl.store.writer import StoreWriter
from minicrawl.web.sites import site
from tests.bench.cluster.kept import PAGE_BYTES, KeptArchive, kept_archive, name_in_log
from tests.bench.cluster.nodes import nodes
from tests.bench.endless import origin
from tests.bench.made import make
from tests.bench.notes import head, row
from tests.cluster.logged_web import settings
from tests.cluster.node_process import shards_of, until

SERVERS, NODES, SHARDS = 3, 2, 2
PAGES_A_HOST, SEEDS = 100, 100
DELAY_S = 1.0
MOVED = 0
"""The shard with all pages but one. The other shard has that one, so that it exists."""
_OTHER = 1
_SOME = 200
"""Number of requests after which a crawl counts as running."""
_POLL_S = 0.05


class AskedWeb:
    """Web whose pages link to their home page. It logs the times of requests to the shard."""

    def __init__(self, without: str) -> None:
        """Log no requests to the host `without`."""
        self.asked: list[float] = []
        self._without = without

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if host == self._without:
            return DemoResponse(200, {"Content-Type": "text/html"}, b"<p>Alone")
        self.asked.append(time.monotonic())
        if target == "/robots.txt":
            return refused(404, "not found")
        body = f'<title>{host}{target}</title><p>{host} {target} <a href="/">Home</a>'
        return DemoResponse(200, {"Content-Type": "text/html"}, body.encode())


class Move(NamedTuple):
    """Durations of a move."""

    until_silent_s: float  # from the request to drain to the last request of the old node
    silent_s: float  # from then to the first request of the new node

    @property
    def all_s(self) -> float:
        return self.until_silent_s + self.silent_s


def moves(folder: Path, pages: int, kept: int, number: int) -> Iterator[str]:
    """Measure some moves of a shard with so many pages, some of them kept, and yield a table."""
    store = folder / "made.db"
    place = ShardPlace(MOVED, SHARDS)
    hosts = max(SEEDS, pages // PAGES_A_HOST)
    own = (origin(host) for host in count() if _owner(origin(host), place) == MOVED)
    terms = StoreTerms(shard=MOVED, shards=SHARDS)
    make(store, pages, [*islice(own, hosts)], SEEDS, terms)
    archive = kept_archive(folder / "bucket", kept) if kept else None
    if archive is not None:
        with closing(StoreWriter.open(store)) as writer:
            counters = tables.counters(writer.connection) | {tables.ARCHIVE_END: archive.end}
            writer.commit(Batch(counters=counters))
            writer.compact()
    found, memory = asyncio.run(_moved(folder, store, archive, number))
    yield (
        f"A shard of {pages:,} pages of {hosts:,} hosts, {store.stat().st_size / 1e6:,.0f} MB, and "
        f"{kept * PAGE_BYTES / 1e9:g} GB of kept pages; {SERVERS} servers, {number} moves; seconds."
    )
    yield ""
    yield from head("", "median", "from", "to")
    for name, values in (
        ("from the drain to the last request of the node", [m.until_silent_s for m in found]),
        ("pause without a request", [m.silent_s for m in found]),
        ("from the drain to the first request of the other node", [m.all_s for m in found]),
    ):
        yield row(name, *(f"{value:.1f}" for value in (median(values), min(values), max(values))))
    yield ""
    yield f"The node of the shard takes {memory / 1e6:,.0f} MB."


def _owner(at: str, place: ShardPlace) -> int:
    return place.owner(site(at.removeprefix("http://")))


async def _moved(
    folder: Path, store: Path, archive: KeptArchive | None, number: int
) -> tuple[list[Move], int]:
    place = ShardPlace(MOVED, SHARDS)
    alone = next(origin(host) for host in count() if _owner(origin(host), place) == _OTHER)
    web = AskedWeb(alone.removeprefix("http://"))
    async with AsyncExitStack() as stack:
        server = stack.enter_context(DemoServer(web))
        servers = await stack.enter_async_context(local_servers(folder / "servers", SERVERS))
        engine = await stack.enter_async_context(opened(ClusterAccess(servers.url)))
        keeping: dict[str, str] = {}
        if archive is not None:
            keeping = {"keep": "pages", "objects": (folder / "bucket").as_uri()}
        loaded = settings(server.address, delay=DELAY_S, **keeping)
        await start_or_join(engine, loaded, [f"{alone}/"], SHARDS)
        taken = await take_over(engine, MOVED, folder / "empty.db")
        await SnapshotWriter(engine, MOVED, store, taken.snapshots).store(taken.entry)
        if archive is not None:
            await name_in_log(engine, MOVED, archive)
        groups = await stack.enter_async_context(nodes([servers.url] * NODES, folder, loaded))
        await _shared_out(engine, web)
        found = [await _move(engine, web) for _ in range(number)]
        memory = max(group.memory_bytes() for group in groups.values())
    return found, memory


async def _shared_out(engine: ClusterEngine, web: AskedWeb) -> None:
    """Wait until each node has a shard and the large shard is being crawled."""
    await until(
        engine,
        lambda now: not now.unheld and all(len(one.shards) == 1 for one in now.nodes),
        "the shards are not shared out",
    )
    await _some_requests(web)


async def _some_requests(web: AskedWeb) -> None:
    before = len(web.asked)
    while len(web.asked) < before + _SOME:
        await asyncio.sleep(_POLL_S)


async def _move(engine: ClusterEngine, web: AskedWeb) -> Move:
    """Drain the node of the shard, measure the move, and undo the drain."""
    now = await until(engine, lambda found: not found.unheld, "no node has the lease of a shard")
    holder = next(one.name for one in now.nodes if MOVED in one.shards)
    began = time.monotonic()
    await steering.drain(engine, holder)
    await until(
        engine,
        lambda found: not found.unheld and not shards_of(found, holder),
        "a drained node keeps its shards",
    )
    await _some_requests(web)
    asked = web.asked[bisect(web.asked, began) - 1 :]
    last, first = max(pairwise(asked), key=lambda pair: pair[1] - pair[0])
    await steering.drain(engine, holder, undo=True)
    await _shared_out(engine, web)
    return Move(last - began, first - last)

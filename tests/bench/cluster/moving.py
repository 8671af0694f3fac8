"""How long a large shard is read by nobody when it moves from one node to another.

Its store is written, not crawled, and laid into the engine as a snapshot, before there are nodes.
The hosts of the shard are on loopback, and their server notes when each was asked. One of two nodes
is drained; the longest pause between two requests after that is the move.
"""

import asyncio
import time
from bisect import bisect
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from itertools import count, islice, pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from minicrawl.cluster import overview as steering
from minicrawl.cluster.engine import ClusterAccess, ClusterEngine, opened
from minicrawl.cluster.replica import store_snapshot, take_over
from minicrawl.cluster.servers import local_servers
from minicrawl.cluster.terms import start_or_join
from minicrawl.demo.small_web import DemoResponse, refused
from minicrawl.demo.web import DemoServer
from minicrawl.opic.shard_channels import ShardPlace
from minicrawl.store.records import StoreTerms
from minicrawl.web.urls import site
from tests.bench.cluster.nodes import (
    crawl_settings,
    nodes,
    shards_of,
    until,
)
from tests.bench.endless import origin
from tests.bench.made import make
from tests.bench.notes import head, row

SERVERS, NODES, SHARDS = 3, 2, 2
PAGES_A_HOST, SEEDS = 100, 100
DELAY_S = 1.0
MOVED = 0
"""The shard that has all pages. The other one has a single one, so that it is there."""
_OTHER = 1
_SOME = 200
"""Requests after which a crawl is under way."""
_POLL_S = 0.05


class AskedWeb:
    """Pages that link to others of their host; notes when it was asked for one of the shard."""

    def __init__(self, without: str) -> None:
        """Requests to this host are not noted."""
        self.asked: list[float] = []
        self._without = without

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if host == self._without:
            return DemoResponse(200, {"Content-Type": "text/html"}, b"<p>Alone")
        self.asked.append(time.monotonic())
        if target == "/robots.txt":
            return refused(404, "there is none")
        body = f'<title>{host}{target}</title><p>{host} {target} <a href="/">Home</a>'
        return DemoResponse(200, {"Content-Type": "text/html"}, body.encode())


class Move(NamedTuple):
    """Seconds."""

    until_silent_s: float  # from the wish to the last request of the node that gives the shard up
    silent_s: float  # from there to the first request of the other one

    @property
    def all_s(self) -> float:
        return self.until_silent_s + self.silent_s


def moves(folder: Path, pages: int, number: int) -> Iterator[str]:
    """Some moves, and what they say."""
    store = folder / "made.db"
    place = ShardPlace(MOVED, SHARDS)
    hosts = max(SEEDS, pages // PAGES_A_HOST)
    own = (origin(host) for host in count() if _owner(origin(host), place) == MOVED)
    terms = StoreTerms(shard=MOVED, shards=SHARDS)
    make(store, pages, [*islice(own, hosts)], SEEDS, terms)
    found, memory = asyncio.run(_moved(folder, store, number))
    yield (
        f"A shard of {pages:,} pages of {hosts:,} hosts, {store.stat().st_size / 1e6:,.0f} MB; "
        f"{SERVERS} servers, {number} moves; seconds."
    )
    yield ""
    yield from head("", "median", "from", "to")
    for name, values in (
        (
            "from the wish to drain to the last request of that node",
            [m.until_silent_s for m in found],
        ),
        ("then no request", [m.silent_s for m in found]),
        (
            "from the wish to drain to the first request of the other node",
            [m.all_s for m in found],
        ),
    ):
        yield row(name, *(f"{one:.1f}" for one in (median(values), min(values), max(values))))
    yield ""
    yield f"The node that holds it takes {memory / 1e6:,.0f} MB, with a process that waits for one."


def _owner(at: str, place: ShardPlace) -> int:
    return place.owner(site(at.removeprefix("http://")))


async def _moved(folder: Path, store: Path, number: int) -> tuple[list[Move], int]:
    place = ShardPlace(MOVED, SHARDS)
    alone = next(origin(host) for host in count() if _owner(origin(host), place) == _OTHER)
    web = AskedWeb(alone.removeprefix("http://"))
    async with AsyncExitStack() as stack:
        server = stack.enter_context(DemoServer(web))
        servers = await stack.enter_async_context(local_servers(folder / "servers", SERVERS))
        engine = await stack.enter_async_context(opened(ClusterAccess(servers.url)))
        loaded = crawl_settings(server.address, DELAY_S)
        await start_or_join(engine, loaded, [f"{alone}/"], SHARDS)
        taken = await take_over(engine, MOVED, folder / "empty.db")
        await store_snapshot(engine, MOVED, store, taken.entry)
        started = await stack.enter_async_context(nodes(servers.url, folder, NODES))
        await _shared_out(engine, web)
        found = [await _move(engine, web) for _ in range(number)]
        memory = max(node.group.memory_bytes() for node in started)
    return found, memory


async def _shared_out(engine: ClusterEngine, web: AskedWeb) -> None:
    """Each node has a shard, and the large one is read."""
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
    """Drain the node that holds the shard, then let it take one again."""
    now = await until(engine, lambda found: not found.unheld, "a shard is held by nobody")
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
    await steering.undrain(engine, holder)
    await _shared_out(engine, web)
    return Move(last - began, first - last)

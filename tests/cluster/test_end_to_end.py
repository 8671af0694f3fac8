"""A real cluster: servers, nodes that are processes, and a web on loopback that keeps a log.

One crawl, in which a node is killed, another one is paused for longer than its leases last, and the
last one is cut off from the servers for so long, and then drained. Then each page was fetched, no
atom is missing, and no host was asked sooner than its delay allows.
"""

import asyncio
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

import pytest

from minicrawl.cluster import overview as steering
from minicrawl.cluster.engine import ClusterAccess, ClusterEngine, opened
from minicrawl.cluster.gathering import gather_cluster
from minicrawl.cluster.servers import local_servers
from minicrawl.cluster.terms import start_or_join
from minicrawl.config import Loaded, Settings
from minicrawl.demo.small_web import DemoResponse, refused
from minicrawl.demo.web import DemoServer
from minicrawl.model import State
from minicrawl.report.audit import audit
from minicrawl.results import Store
from tests.cluster.engines import needs_server
from tests.cluster.node_process import PATIENCE_S, NodeProcess, nodes, shards_of, until
from tests.cluster.relay import Relay, relays

pytestmark = [needs_server, pytest.mark.proof]

SITES, SHARDS = 8, 6
ENDLESS = 10_000
DELAY_S = 0.4
SLACK_S = 0.03
"""Between the moment at which a request is sent and that at which its server looks at the clock, in
a process that is never late.
"""
TICK_S = 0.005


class Lateness:
    """How late a server may look at the clock: as late as other threads that wait for a core."""

    slack_s = SLACK_S

    @contextmanager
    def watched(self) -> Iterator[None]:
        has_ended = Event()

        def watch() -> None:
            before = time.monotonic()
            while not has_ended.wait(TICK_S):
                now = time.monotonic()
                self.slack_s = max(self.slack_s, SLACK_S + now - before - TICK_S)
                before = now

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            has_ended.set()
            watcher.join()


class LoggedWeb(Lateness):
    """Sites whose pages link to the next pages and to other sites; notes when each was asked.

    They have no end before `end` says so: whatever takes long, the crawl goes on meanwhile.
    """

    def __init__(self) -> None:
        self.pages = ENDLESS
        self.asked: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        self.asked[host].append((time.monotonic(), target))
        if not target.removeprefix("/").isdigit() or int(target[1:]) >= self.pages:
            return refused(404, "there is no such page")
        page, site = int(target[1:]), int(host[1])
        links = [
            f"http://s{site}.example/{page + 1}",
            f"http://s{site}.example/{max(0, page - 2)}",
            f"http://s{(site + page) % SITES}.example/{page // 2}",
        ]
        body = "".join(f'<p>{host} {page} <a href="{link}">{link}</a>' for link in links)
        return DemoResponse(200, {"Content-Type": "text/html"}, body.encode())

    def end(self) -> None:
        """Have no pages behind those that every site was asked for."""
        self.pages = min(
            max(int(target[1:]) for _, target in asked if target[1:].isdigit())
            for asked in self.asked.values()
        )


def settings(address: str) -> Loaded:
    return Loaded.of(
        Settings.of(
            delay=DELAY_S,
            resolve=[f"*={address}"],
            allow_private=True,
            per_address=64,
            address_delay=0,
            barren_pages=1000,
        )
    )


def run(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(4 * PATIENCE_S):
            await work

    asyncio.run(bounded())


def test_nodes_are_killed_paused_cut_off_and_drained_and_nothing_is_lost(tmp_path: Path) -> None:
    web = LoggedWeb()

    async def crawl() -> None:
        async with AsyncExitStack() as stack:
            server = stack.enter_context(DemoServer(web))
            stack.enter_context(web.watched())
            servers = await stack.enter_async_context(local_servers(tmp_path / "servers", 1))
            engine = await stack.enter_async_context(opened(ClusterAccess(servers.url)))
            seeds = [f"http://s{site}.example/1" for site in range(SITES)]
            loaded = settings(server.address)
            await start_or_join(engine, loaded, seeds, SHARDS)
            (relay,) = await stack.enter_async_context(relays([servers.servers[0].address]))
            host, port = relay.place
            urls = dict.fromkeys("ab", servers.url) | {"c": f"nats://{host}:{port}"}
            started = await stack.enter_async_context(nodes(urls, tmp_path, loaded))
            await upset(engine, started, relay)
            web.end()
            end = await until(engine, lambda now: now.doing == "ended", "the crawl goes on")
            assert end.reason == "nothing left to fetch"
            await gather_cluster(engine, tmp_path / "all.db")

    run(crawl())
    assert list(audit(tmp_path / "all.db").wrong) == []
    with Store.open(tmp_path / "all.db") as store:
        read = {row.url for row in store.pages() if row.state == State.FETCHED.label}
    assert read >= {
        f"http://s{site}.example/{page}" for site in range(SITES) for page in range(web.pages)
    }
    for host, asked in web.asked.items():
        for (before, _), (after, target) in pairwise(asked):
            assert after - before >= DELAY_S - web.slack_s, (host, target)


async def upset(engine: ClusterEngine, started: dict[str, NodeProcess], relay: Relay) -> None:
    """A node is killed, another one is paused, the third one is cut off, and then drained."""
    await until(
        engine,
        lambda now: now.fetched >= SITES and all(shards_of(now, name) for name in started),
        "nodes do not begin",
    )
    started["a"].process.kill()
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, "a"),
        "nobody takes the shards of a killed node over",
    )
    started["b"].process.send_signal(signal.SIGSTOP)
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, "b"),
        "nobody takes the shards of a paused node over",
    )
    started["b"].process.send_signal(signal.SIGCONT)
    back = await until(
        engine, lambda now: len(shards_of(now, "b")) == SHARDS // 2, "a paused node does not go on"
    )
    assert not back.unheld
    assert "lost the lease on shard" in started["b"].said
    relay.cut()
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, "c"),
        "nobody takes the shards of a node over that is cut off",
    )
    relay.heal()
    await until(
        engine,
        lambda now: len(shards_of(now, "c")) == SHARDS // 2,
        "a node that was cut off does not go on",
    )
    assert "the cluster answers again; lost the lease on shards" in started["c"].said
    await steering.drain(engine, "c")
    await until(engine, lambda now: not shards_of(now, "c"), "a drained node keeps its shards")

"""What servers see of a cluster: it is as polite as one machine, while shards move and nodes die.

Six sites at one address. Two of them ask for a pause, and the node that crawls them is drained;
then another one, and its node is killed. The logs of the servers are what is judged.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from minicrawl.cluster import overview as steering
from minicrawl.cluster.engine import ClusterAccess, ClusterEngine, opened
from minicrawl.cluster.servers import local_servers
from minicrawl.cluster.terms import start_or_join
from minicrawl.config import Loaded, Settings
from minicrawl.demo.small_web import DemoResponse, refused
from minicrawl.demo.web import DemoServer
from minicrawl.opic.shard_channels import shard_of
from tests.cluster.engines import needs_server
from tests.cluster.node_process import PATIENCE_S, NodeProcess, nodes, shards_of, until
from tests.cluster.test_end_to_end import Lateness, run

pytestmark = [needs_server, pytest.mark.proof]

SITES, SHARDS = 6, 4
DELAY_S, ADDRESS_DELAY_S = 0.4, 0.1
MOVED, LOST = ("s0.example", "s1.example"), ("s2.example",)
"""Sites of a shard that moves, and of one whose node is killed."""
PAUSES = {"s0.example": (503, 8), "s1.example": (429, 12), "s2.example": (503, 14)}
COMMITS = 3
"""After so many, what a shard knew before them is in its log."""


class PoliteWeb(Lateness):
    """Sites without an end before `end`; notes when each was asked, and for what."""

    def __init__(self) -> None:
        self.has_end = False
        self.asked: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        self.to_pause: set[str] = set()
        self.paused: dict[str, float] = {}

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        now = time.monotonic()
        self.asked[host].append((now, target))
        if target == "/robots.txt":
            text = b"User-agent: *\nDisallow: /secret"
            return DemoResponse(200, {"Content-Type": "text/plain"}, text)
        if host in self.to_pause:
            self.to_pause.remove(host)
            self.paused[host] = now
            status, pause_s = PAUSES[host]
            return refused(status, "later", Retry_After=str(pause_s))
        return self._page(host, int(target.removeprefix("/")))

    def _page(self, host: str, page: int) -> DemoResponse:
        ways = [f"/secret/{page}", f"http://s{(int(host[1]) + page) % SITES}.example/{page}"]
        ways += [] if self.has_end else [f"/{2 * page}", f"/{2 * page + 1}"]
        body = f"<p>{host} {page}" + "".join(f'<a href="{way}">{way}</a>' for way in ways)
        return DemoResponse(200, {"Content-Type": "text/html"}, body.encode())

    def times(self, host: str) -> list[float]:
        return [at for at, _ in self.asked[host]]


def settings(address: str) -> Loaded:
    return Loaded.of(
        Settings.of(
            delay=DELAY_S,
            address_delay=ADDRESS_DELAY_S,
            resolve=[f"*={address}"],
            allow_private=True,
            barren_pages=1000,
        )
    )


def test_servers_see_no_more_of_a_cluster_than_of_one_machine(tmp_path: Path) -> None:
    web = PoliteWeb()

    async def crawl() -> None:
        async with AsyncExitStack() as stack:
            server = stack.enter_context(DemoServer(web))
            stack.enter_context(web.watched())
            servers = await stack.enter_async_context(local_servers(tmp_path / "servers", 1))
            engine = await stack.enter_async_context(opened(ClusterAccess(servers.url)))
            seeds = [f"http://s{site}.example/1" for site in range(SITES)]
            loaded = settings(server.address)
            await start_or_join(engine, loaded, seeds, SHARDS)
            urls = dict.fromkeys("abc", servers.url)
            started = await stack.enter_async_context(nodes(urls, tmp_path, loaded))
            await upset(engine, started, web)
            web.has_end = True
            await until(engine, lambda now: now.doing == "ended", "the crawl goes on")

    run(crawl())
    for host in web.asked:
        check_host(web, host)
    check_address(sorted(at for host in web.asked for at in web.times(host)), web.slack_s)


def check_host(web: PoliteWeb, host: str) -> None:
    """Its delay, its pause and its robots.txt were obeyed."""
    for (before, _), (after, target) in pairwise(web.asked[host]):
        assert after - before >= DELAY_S - web.slack_s, (host, target)
    targets = [target for _, target in web.asked[host]]
    assert targets[0] == "/robots.txt"
    assert targets.count("/robots.txt") == 1, host
    assert not [target for target in targets if target.startswith("/secret")]
    if (paused := web.paused.get(host)) is not None:
        again = min(at for at in web.times(host) if at > paused)
        assert again - paused >= PAUSES[host][1] - web.slack_s


def check_address(times: list[float], slack_s: float) -> None:
    """In any span there are no more requests than its pace allows, and one at once for a shard."""
    for first, since in enumerate(times):
        for last in range(first + 1, len(times)):
            most = (times[last] - since + slack_s) / ADDRESS_DELAY_S + SHARDS
            assert last - first <= most, (first, last)


async def upset(engine: ClusterEngine, started: dict[str, NodeProcess], web: PoliteWeb) -> None:
    """A site asks for a pause and its node is drained; another one, and its node is killed."""
    await until(
        engine,
        lambda now: (
            all(shards_of(now, name) for name in started)
            and all(len(web.times(f"s{site}.example")) > 3 for site in range(SITES))
        ),
        "nodes do not begin",
    )
    moved, killed = shard_of(MOVED[0], SHARDS), shard_of(LOST[0], SHARDS)
    assert {shard_of(host, SHARDS) for host in MOVED} == {moved}
    await pause(web, MOVED)
    await steering.drain(engine, name := await holder_of(engine, moved))
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, name),
        "a drained node keeps its shards",
    )
    await pause(web, LOST)
    last = (await engine.log_span(killed)).last
    while (await engine.log_span(killed)).last < last + COMMITS:
        await asyncio.sleep(0.05)
    started[lost := await holder_of(engine, killed)].kill()
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, lost),
        "nobody takes the shards of a killed node over",
    )
    async with asyncio.timeout(PATIENCE_S):
        while any(max(web.times(host)) == web.paused[host] for host in PAUSES):
            await asyncio.sleep(0.1)


async def pause(web: PoliteWeb, hosts: Collection[str]) -> None:
    """The next answer of each of these hosts asks for a pause."""
    web.to_pause.update(hosts)
    async with asyncio.timeout(PATIENCE_S):
        while not web.paused.keys() >= set(hosts):
            await asyncio.sleep(0.05)


async def holder_of(engine: ClusterEngine, shard: int) -> str:
    found = await until(engine, lambda now: not now.unheld, "a shard is held by nobody")
    return next(row.name for row in found.nodes if shard in row.shards)

"""Sites on loopback that log their requests, and a cluster that has begun to crawl them."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from minicrawl import Loaded, Settings
from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.servers import LocalServers, local_servers
from minicrawl.cluster.terms import start_or_join
from minicrawl.demo.pages import DemoResponse, refused
from minicrawl.demo.server import DemoServer, ServedWeb

SITES, DELAY_S = 8, 0.4
SLACK_S = 0.03
"""Time from sending a request until its server reads the clock, if neither waits for a core."""
_ENDLESS = 10_000
_TICK_S = 0.005


class LoggedWeb:
    """Sites whose pages link to the next pages and to other sites; logs all requests.

    The sites are endless until `end` is called, so that a crawl goes on however long a test takes.
    """

    slack_s = SLACK_S

    def __init__(self) -> None:
        self.pages = _ENDLESS
        self.asked: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Measure how late the server may read the clock: as a thread that waits for a core."""
        has_ended = Event()

        def watch() -> None:
            before = time.monotonic()
            while not has_ended.wait(_TICK_S):
                now = time.monotonic()
                self.slack_s = max(self.slack_s, SLACK_S + now - before - _TICK_S)
                before = now

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            has_ended.set()
            watcher.join()

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

    @property
    def urls(self) -> set[str]:
        return {
            f"http://s{site}.example/{page}" for site in range(SITES) for page in range(self.pages)
        }

    def check_delays(self) -> None:
        """Check that no host got a request sooner than its delay allows."""
        for host, asked in self.asked.items():
            for (before, _), (after, target) in pairwise(asked):
                assert after - before >= DELAY_S - self.slack_s, (host, target)

    def end(self) -> None:
        """Have no pages beyond those that every site was asked for."""
        self.pages = min(
            max(int(target[1:]) for _, target in asked if target[1:].isdigit())
            for asked in self.asked.values()
        )


def settings(address: str, **more: Any) -> Loaded:
    """Return settings of a crawl of hosts at one address, which sets no limits; `more` counts."""
    usual: Any = {"delay": DELAY_S, "per_address": 1024, "address_delay": 0, "barren_pages": 10**6}
    return Settings.given(resolve=[f"*={address}"], allow_private=True, **usual | more)


class Begun(NamedTuple):
    servers: LocalServers
    engine: ClusterEngine
    loaded: Loaded


@asynccontextmanager
async def begun(
    folder: Path, web: ServedWeb, settings: Callable[[str], Loaded], shards: int
) -> AsyncIterator[Begun]:
    """Serve the sites, run a server, and begin a crawl with `settings` for the sites' address."""
    with DemoServer(web) as server:
        loaded = settings(server.address)
        async with (
            local_servers(folder / "servers", 1) as servers,
            opened(ClusterAccess(servers.url)) as engine,
        ):
            seeds = [f"http://s{site}.example/1" for site in range(SITES)]
            await start_or_join(engine, loaded, seeds, shards)
            yield Begun(servers, engine, loaded)

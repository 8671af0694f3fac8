"""Pace of a crawl with a growing number of nodes, each limited to a part of a core.

The servers of the engine and of the web are not limited. The crawl is paused until all shards are
in place, and for some seconds more, because shards of a young crawl exchange messages more often.
Then the nodes are limited, the crawl resumes, and pages, processor time and messages are counted.

A machine with few cores is slower the more processes it runs, whatever they do. So as many nodes
are measured apart, too: at the same time and with the same servers, but each with a crawl of its
own share of the hosts. A host answers one request at a time, so a node that has fewer hosts than
another waits for them; in both measurements a node has the same number.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.request import ProxyHandler, build_opener

from minicrawl.cluster import steering
from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.servers import LocalServers, local_servers
from minicrawl.cluster.terms import start_or_join
from tests.bench.cluster.groups import ControlGroup
from tests.bench.cluster.nodes import nodes, settled
from tests.bench.cluster.served import HOSTS, HostsServed, served_hosts
from tests.bench.notes import head, row
from tests.bench.processes import cpu_s_of
from tests.cluster.logged_web import settings
from tests.real.daemons import free_port

FIRST_PAGES = 2 * HOSTS
"""Pages that are not counted, while the robots.txt of all hosts are fetched."""
_POLL_S = 0.1
_TRAFFIC = ("in_msgs", "out_msgs", "in_bytes", "out_bytes")


class Scene(NamedTuple):
    """Sizes of a cluster."""

    nodes: int
    servers: int
    shards: int  # 0 for as many as there are nodes
    apart: bool = False  # True if each node has a crawl of its own, of one shard

    @property
    def crawls(self) -> int:
        return self.nodes if self.apart else 1

    @property
    def shards_of_crawl(self) -> int:
        return 1 if self.apart else self.shards or self.nodes


class Moment(NamedTuple):
    """Totals at one moment."""

    pages: int
    nodes_cpu_s: float
    servers_cpu_s: float
    messages: int
    bytes: int

    def since(self, before: "Moment") -> "Moment":
        """Return the differences from an earlier moment."""
        return Moment(
            self.pages - before.pages,
            self.nodes_cpu_s - before.nodes_cpu_s,
            self.servers_cpu_s - before.servers_cpu_s,
            self.messages - before.messages,
            self.bytes - before.bytes,
        )


class Pace(NamedTuple):
    """Measurements of a cluster."""

    scene: Scene
    seconds: float
    done: Moment
    memory_bytes: int  # of all nodes

    @property
    def pages_a_second(self) -> float:
        return self.done.pages / self.seconds

    @property
    def pages_a_cpu_second(self) -> float:
        return self.done.pages / self.done.nodes_cpu_s


class Times(NamedTuple):
    """Age of the crawl before the measurement, and length of the measurement."""

    age_s: float
    counted_s: float


def paces(folder: Path, scenes: Sequence[Scene], cores: float, times: Times) -> Iterator[Pace]:
    """Measure the clusters one after the other."""
    for scene in scenes:
        with TemporaryDirectory(dir=folder) as name, served_hosts(folder) as web:
            yield asyncio.run(_measured(Path(name), web, scene, cores, times))


async def _measured(
    folder: Path, web: HostsServed, scene: Scene, cores: float, times: Times
) -> Pace:
    port = free_port("127.0.0.2")
    more = f"http_port: {port}"
    loaded = settings(web.address, delay=0)
    async with (
        local_servers(folder / "servers", scene.servers, more=more) as servers,
        AsyncExitStack() as crawls,
    ):
        engines = []
        for number in range(scene.crawls):
            access = ClusterAccess(servers.url, f"crawl-{number}")
            engine = await crawls.enter_async_context(opened(access))
            seeds = web.seeds[number :: scene.crawls]
            await start_or_join(engine, loaded, seeds, scene.shards_of_crawl)
            await steering.pause(engine)
            engines.append(engine)
        urls = [f"{servers.url}/crawl-{number % scene.crawls}" for number in range(scene.nodes)]
        async with nodes(urls, folder, loaded) as groups:
            for number, engine in enumerate(engines):
                names = list(groups)[number :: scene.crawls]
                await settled(engine, {name: groups[name] for name in names})
            await asyncio.sleep(times.age_s)
            for group in groups.values():
                group.limit(cores)
            for engine in engines:
                await steering.resume(engine)
            while web.pages() < FIRST_PAGES:
                await asyncio.sleep(_POLL_S)
            began, before = _now(), _moment(web, groups, servers, port)
            await asyncio.sleep(times.counted_s)
            ended, after = _now(), _moment(web, groups, servers, port)
            done = after.since(before)
            memory = sum(group.memory_bytes() for group in groups.values())
    return Pace(scene, ended - began, done, memory)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _moment(
    web: HostsServed, groups: Mapping[str, ControlGroup], servers: LocalServers, port: int
) -> Moment:
    traffic = [_traffic(server.address[0], port) for server in servers.servers]
    return Moment(
        pages=web.pages(),
        nodes_cpu_s=sum(group.cpu_s() for group in groups.values()),
        servers_cpu_s=sum(cpu_s_of(server.pid) for server in servers.servers if server.pid),
        messages=sum(one["in_msgs"] + one["out_msgs"] for one in traffic),
        bytes=sum(one["in_bytes"] + one["out_bytes"] for one in traffic),
    )


def _traffic(host: str, port: int) -> dict[str, int]:
    """Return the traffic of a server, including that to other servers."""
    with build_opener(ProxyHandler({})).open(f"http://{host}:{port}/varz") as answer:
        found = json.load(answer)
    return {name: int(found[name]) for name in _TRAFFIC}


def scaling_table(measured: Sequence[Pace], cores: float) -> Iterator[str]:
    """Yield a row for each cluster, compared with as many nodes apart."""
    yield from head(
        *("nodes", "shards", "servers", "pages/s", "of nodes apart", "pages a CPU s of nodes"),
        *("of nodes apart", "of the cores that they may use", "messages a page", "KB a page"),
        *("CPU ms of servers a page", "MB a node"),
    )
    apart = {pace.scene[:2]: pace for pace in measured if pace.scene.apart}
    for pace in measured:
        scene, done = pace.scene, pace.done
        other = apart.get(scene[:2], pace)
        used = done.nodes_cpu_s / (scene.nodes * cores * pace.seconds)
        yield row(
            str(scene.nodes),
            "apart" if scene.apart else str(scene.shards_of_crawl),
            str(scene.servers),
            f"{pace.pages_a_second:,.0f}",
            f"{pace.pages_a_second / other.pages_a_second:.2f}",
            f"{pace.pages_a_cpu_second:,.0f}",
            f"{pace.pages_a_cpu_second / other.pages_a_cpu_second:.2f}",
            f"{used:.0%}",
            f"{done.messages / done.pages:.1f}",
            f"{done.bytes / done.pages / 1e3:.1f}",
            f"{done.servers_cpu_s / done.pages * 1e3:.2f}",
            f"{pace.memory_bytes / scene.nodes / 1e6:.0f}",
        )

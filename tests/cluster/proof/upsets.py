"""Upsets of a cluster: kills, cuts, power failures, moves and upgrades.

Law: each upset but an upgrade is undone. It is over when a live node holds every shard again, and a
server leads every log.
"""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import NamedTuple

from minicrawl.cluster import steering
from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable
from minicrawl.cluster.nats.connecting import NatsEngine
from minicrawl.cluster.node.leases import HOLD_S
from minicrawl.cluster.overview import ClusterStatus
from minicrawl.cluster.servers import LocalServer
from tests.cluster.engines import leader_of
from tests.cluster.node_process import NodeProcess, shards_of, until
from tests.cluster.proof.disks import LoopDisk
from tests.cluster.proof.judging import Silence, Upset
from tests.cluster.proof.servers import RelayedServers

_SHORT_S, _LONG_S = 2.0, 15.0
"""Shortest and longest time of a cut: less and more than a lease."""
_DOWN_S = 3.0
"""Longest time from a kill to the restart."""
ADDRESSES = {name: f"127.0.1.{number}" for number, name in enumerate("abcd", 1)}
"""Address of each node, by which the log of the web server tells them apart."""


class Upsettable(NamedTuple):
    engine: ClusterEngine
    servers: RelayedServers
    nodes: dict[str, NodeProcess]
    newer: str | None
    """Program that servers are upgraded to."""
    disks: Mapping[str, LoopDisk] = {}
    """Disks of servers and nodes by name, if power is cut."""


Work = Callable[[Upsettable, Random], Awaitable[Silence | None]]
"""An upset; it returns the node that had to be silent meanwhile, if any."""


async def kill_a_node(cluster: Upsettable, chance: Random) -> None:
    """Kill a node as `kill -9` does, and start it again."""
    await _killed(await _a_holder(cluster, chance), chance, loses_folder=False)


async def kill_a_node_and_its_folder(cluster: Upsettable, chance: Random) -> None:
    """Kill a node, delete its folder, and start it again, as if on another machine."""
    await _killed(await _a_holder(cluster, chance), chance, loses_folder=True)


async def kill_a_server(cluster: Upsettable, chance: Random) -> None:
    await _server_killed(chance.choice(cluster.servers.servers), chance)


async def kill_the_server_of_the_keys(cluster: Upsettable, chance: Random) -> None:
    """Kill the server that leads the keys: no lease can change until another one leads them."""
    engine = cluster.engine
    assert isinstance(engine, NatsEngine)
    leader = await leader_of(engine, engine._streams.keys)
    server = next((one for one in cluster.servers.servers if one.name == leader), None)
    await _server_killed(server or chance.choice(cluster.servers.servers), chance)


async def _server_killed(server: LocalServer, chance: Random) -> None:
    await server.end(signal.SIGKILL)
    await asyncio.sleep(chance.uniform(0, _DOWN_S))
    await server.start()


async def upgrade_a_server(cluster: Upsettable, chance: Random) -> None:
    """End one of the servers with an older program in order, and start it with the newer one."""
    server = chance.choice([one for one in cluster.servers.servers if one.program != cluster.newer])
    await server.end()
    server.program = cluster.newer
    await server.start()


async def cut_a_node_off(cluster: Upsettable, chance: Random) -> Silence:
    """Cut a node off from all servers, for less or more than the time of a lease."""
    node = await _a_holder(cluster, chance)
    with cluster.servers.node_cut(node.name):
        since = time.time()
        await asyncio.sleep(chance.uniform(_SHORT_S, _LONG_S))
        return Silence(ADDRESSES[node.name], since + HOLD_S, time.time())


async def cut_a_server_off(cluster: Upsettable, chance: Random) -> None:
    """Cut a server and its clients off from the other servers."""
    with cluster.servers.server_cut(chance.randrange(len(cluster.servers.servers))):
        await asyncio.sleep(chance.uniform(_SHORT_S, _LONG_S))


async def cut_the_power_of_a_node(cluster: Upsettable, chance: Random) -> None:
    node = await _a_holder(cluster, chance)
    node.kill()
    await asyncio.to_thread(cluster.disks[node.name].cut)
    await asyncio.sleep(chance.uniform(0, _DOWN_S))
    node.start()


async def cut_the_power_of_a_server(cluster: Upsettable, chance: Random) -> None:
    await _power_cut(cluster, [chance.choice(cluster.servers.servers)], chance)


async def cut_the_power_of_two_servers(cluster: Upsettable, chance: Random) -> None:
    await _power_cut(cluster, chance.sample(cluster.servers.servers, 2), chance)


async def cut_the_power_of_a_server_while_others_pause(cluster: Upsettable, chance: Random) -> None:
    """Let the third server lead that which has lost power: each in turn lacks what the other has.

    First one server is paused, so that two acknowledge. One of these loses power, and the other is
    paused instead of the first.
    """
    slow, cut, other = chance.sample(cluster.servers.servers, 3)
    with _paused(slow):
        await asyncio.sleep(chance.uniform(0, _SHORT_S))
        await cut.end(signal.SIGKILL)
        await asyncio.to_thread(cluster.disks[cut.name].cut)
    with _paused(other):
        await cut.start()
        await asyncio.sleep(chance.uniform(_SHORT_S, _LONG_S))


@contextmanager
def _paused(server: LocalServer) -> Iterator[None]:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


async def _power_cut(cluster: Upsettable, servers: Sequence[LocalServer], chance: Random) -> None:
    """Cut the power of these servers at once, and start them again in a random order."""
    await asyncio.gather(*(server.end(signal.SIGKILL) for server in servers))
    for server in servers:
        await asyncio.to_thread(cluster.disks[server.name].cut)
    for server in chance.sample(servers, len(servers)):
        await asyncio.sleep(chance.uniform(0, _DOWN_S))
        await server.start()


async def move(cluster: Upsettable, chance: Random) -> None:
    """Drain a node, then let it take shards again."""
    engine, name = cluster.engine, (await _a_holder(cluster, chance)).name
    await steering.drain(engine, name)
    await until(
        engine,
        lambda now: now.doing == "ended" or not shards_of(now, name),
        f"the drained node {name} keeps its shards",
    )
    await steering.drain(engine, name, undo=True)


KILLS: tuple[Work, ...] = (
    *(kill_a_node, kill_a_node_and_its_folder),
    *(kill_a_server, kill_the_server_of_the_keys),
)
CUTS: tuple[Work, ...] = (cut_a_node_off, cut_a_server_off)
POWER: tuple[Work, ...] = (
    *(cut_the_power_of_a_server, cut_the_power_of_two_servers),
    *(cut_the_power_of_a_server_while_others_pause, cut_the_power_of_a_node),
)
MOVES: tuple[Work, ...] = (move,)
UPGRADES: tuple[Work, ...] = (upgrade_a_server,)


def named(work: Work) -> str:
    return work.__name__.replace("_", " ")


async def upset(cluster: Upsettable, work: Work, chance: Random) -> Upset:
    """Upset the cluster, and wait until it has recovered."""
    began = time.time()  # as the log of the web server has it
    silence = await work(cluster, chance)
    await until(
        cluster.engine,
        lambda now: now.doing == "ended" or _is_whole(now, cluster),
        f"not all shards are held after this: {named(work)}",
    )
    await _led(cluster.engine)
    return Upset(named(work), work in MOVES, began, time.time(), silence)


async def _led(engine: ClusterEngine) -> None:
    shards = (await until(engine, lambda _: True, "the cluster does not answer")).shards
    for shard in range(shards):
        with suppress(EngineUnavailable):  # the call has waited for longer than an election takes
            await engine.log_span(shard)


def _is_whole(now: ClusterStatus, cluster: Upsettable) -> bool:
    live = {row.name for row in now.nodes if row.state != "silent"}
    return not now.unheld and live >= set(cluster.nodes)


async def _a_holder(cluster: Upsettable, chance: Random) -> NodeProcess:
    """Return a random node that holds shards, or any node once the crawl has ended."""
    now = await until(
        cluster.engine,
        lambda now: now.doing == "ended" or any(row.shards for row in now.nodes),
        "no node holds a shard",
    )
    holders = [row.name for row in now.nodes if row.shards]
    return cluster.nodes[chance.choice(holders or sorted(cluster.nodes))]


async def _killed(node: NodeProcess, chance: Random, *, loses_folder: bool) -> None:
    node.kill()
    if loses_folder:
        shutil.rmtree(node.folder, ignore_errors=True)  # its crawls may still be ending in it
    await asyncio.sleep(chance.uniform(0, _DOWN_S))
    node.start()

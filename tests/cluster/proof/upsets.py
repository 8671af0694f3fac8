"""What is done to a cluster at random moments.

Law: each of them is undone, and it is over when every shard is held by a live node again, and some
server leads every log.
"""

import asyncio
import shutil
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import NamedTuple

from minicrawl.cluster import overview as steering
from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable
from minicrawl.cluster.nats.connecting import NatsEngine
from minicrawl.cluster.node.leases import HOLD_S
from minicrawl.cluster.overview import ClusterStatus
from minicrawl.cluster.servers import LocalServer
from tests.cluster.node_process import NodeProcess, shards_of, until
from tests.cluster.proof.judging import Silence, Upset
from tests.cluster.proof.servers import RelayedServers

_SHORT_S, _LONG_S = 2.0, 15.0
"""Of a cut: shorter and longer than a lease."""
_DOWN_S = 3.0
"""The longest time until what was killed is started again."""
ADDRESSES = {name: f"127.0.1.{number}" for number, name in enumerate("abcd", 1)}
"""Of nodes: the web server sees which of them asks."""


class Upsettable(NamedTuple):
    """A cluster that runs."""

    engine: ClusterEngine
    servers: RelayedServers
    nodes: dict[str, NodeProcess]


Work = Callable[[Upsettable, Random], Awaitable[Silence | None]]
"""Who must have been silent meanwhile, if anybody."""


async def kill_a_node(cluster: Upsettable, chance: Random) -> None:
    """As `kill -9` does; then it is started again."""
    await _killed(await _a_holder(cluster, chance), chance, loses_folder=False)


async def kill_a_node_and_its_folder(cluster: Upsettable, chance: Random) -> None:
    """As when a machine is lost, and another one comes in its place."""
    await _killed(await _a_holder(cluster, chance), chance, loses_folder=True)


async def kill_a_server(cluster: Upsettable, chance: Random) -> None:
    """It is started again with what it keeps."""
    await _server_killed(chance.choice(cluster.servers.servers), chance)


async def kill_the_server_of_the_keys(cluster: Upsettable, chance: Random) -> None:
    """The one that leads them: nobody may change a lease until another one does."""
    engine = cluster.engine
    assert isinstance(engine, NatsEngine)
    leader = await engine.leader_of_keys()
    server = next((one for one in cluster.servers.servers if one.name == leader), None)
    await _server_killed(server or chance.choice(cluster.servers.servers), chance)


async def _server_killed(server: LocalServer, chance: Random) -> None:
    await server.end(signal.SIGKILL)
    await asyncio.sleep(chance.uniform(0, _DOWN_S))
    await server.start()


async def cut_a_node_off(cluster: Upsettable, chance: Random) -> Silence:
    """From all servers, for a time that is shorter or longer than a lease."""
    node = await _a_holder(cluster, chance)
    with cluster.servers.node_cut(node.name):
        since = time.time()
        await asyncio.sleep(chance.uniform(_SHORT_S, _LONG_S))
        return Silence(ADDRESSES[node.name], since + HOLD_S, time.time())


async def cut_a_server_off(cluster: Upsettable, chance: Random) -> None:
    """From the other servers, with the nodes that are at it."""
    with cluster.servers.server_cut(chance.randrange(len(cluster.servers.servers))):
        await asyncio.sleep(chance.uniform(_SHORT_S, _LONG_S))


async def move(cluster: Upsettable, chance: Random) -> None:
    """A node is drained, then takes shards again."""
    engine, name = cluster.engine, (await _a_holder(cluster, chance)).name
    await steering.drain(engine, name)
    await until(
        engine,
        lambda now: now.doing == "ended" or not shards_of(now, name),
        f"the drained node {name} keeps its shards",
    )
    await steering.undrain(engine, name)
    await steering.rebalance(engine)


KILLS: tuple[Work, ...] = (
    *(kill_a_node, kill_a_node_and_its_folder),
    *(kill_a_server, kill_the_server_of_the_keys),
)
CUTS: tuple[Work, ...] = (cut_a_node_off, cut_a_server_off)
MOVES: tuple[Work, ...] = (move,)


def named(work: Work) -> str:
    """What it is called in the table."""
    return work.__name__.replace("_", " ")


async def upset(cluster: Upsettable, work: Work, chance: Random) -> Upset:
    """Do it, and wait until the cluster has got over it."""
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
    """Wait until servers have chosen who leads each log."""
    shards = (await until(engine, lambda _: True, "the cluster does not answer")).shards
    for shard in range(shards):
        with suppress(EngineUnavailable):  # it has waited for longer than a choice takes
            await engine.log_span(shard)


def _is_whole(now: ClusterStatus, cluster: Upsettable) -> bool:
    live = {row.name for row in now.nodes if row.state != "silent"}
    return not now.unheld and live >= set(cluster.nodes)


async def _a_holder(cluster: Upsettable, chance: Random) -> NodeProcess:
    """One of the nodes that hold shards, as long as the crawl goes on."""
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

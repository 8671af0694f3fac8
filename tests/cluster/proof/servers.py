"""Servers whose connections to each other and to each node go through relays.

Laws: servers and nodes know no other addresses than those of the relays. A cut separates one node
from all servers, or one server with its clients from the other servers.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.nats.connecting import await_answer
from minicrawl.cluster.servers import LocalServer, LocalServers
from tests.cluster.relay import ADDRESS, CALM, Place, Relay, Weather, relays
from tests.real.daemons import free_port

ALWAYS = "sync_interval: always"
_NOWHERE = "127.0.0.1:9"
"""Address that servers advertise to each other, so that they only use the relays."""
_CLUSTER = """\
cluster {{
    name: "minicrawl"
    listen: "{address}:{port}"
    routes: [{routes}]
    advertise: "{nowhere}"
    no_advertise: true
}}
"""


class RelayedServers(NamedTuple):
    """Servers, the relays between them by client and server, and the relays of each node."""

    servers: list[LocalServer]
    between: dict[tuple[int, int], Relay]
    of_node: dict[str, list[Relay]]

    @property
    def url(self) -> str:
        """URL of all servers without relays, which is never cut off."""
        return LocalServers(self.servers).url

    def url_of(self, node: str) -> str:
        return ",".join(f"nats://{host}:{port}" for host, port in self._places(node))

    def _places(self, node: str) -> Iterable[Place]:
        return (relay.place for relay in self.of_node[node])

    @contextmanager
    def node_cut(self, node: str) -> Iterator[None]:
        with _cut(self.of_node[node]):
            yield

    @contextmanager
    def server_cut(self, number: int) -> Iterator[None]:
        with _cut([relay for ends, relay in self.between.items() if number in ends]):
            yield


@contextmanager
def _cut(ways: Iterable[Relay]) -> Iterator[None]:
    cut = list(ways)
    for relay in cut:
        relay.cut()
    try:
        yield
    finally:
        for relay in cut:
            relay.heal()


@asynccontextmanager
async def relayed_servers(
    folder: Path, count: int, nodes: Iterable[str], weather: Weather = CALM, sync: str = ALWAYS
) -> AsyncIterator[RelayedServers]:
    """Run so many servers, with relays between them and for these nodes, until all answer.

    `sync` is the interval at which servers sync their files.
    """
    folder.mkdir(exist_ok=True)
    places = [(ADDRESS, free_port(ADDRESS)) for _ in range(2 * count)]
    listens, routes = places[:count], places[count:]
    servers = [LocalServer(f"server-{n}", place, folder) for n, place in enumerate(listens)]
    ends = list(permutations(range(count), 2))
    async with AsyncExitStack() as stack:
        between = await stack.enter_async_context(relays((routes[to] for _, to in ends), weather))
        of_node = {
            name: await stack.enter_async_context(relays(listens, weather)) for name in nodes
        }
        found = RelayedServers(servers, dict(zip(ends, between, strict=True)), of_node)
        for number, server in enumerate(servers):
            server.write_config(_cluster(found, number, routes[number]), "")
            config = folder / f"{server.name}.conf"
            config.write_text(config.read_text().replace(ALWAYS, sync))
        try:
            for server in servers:
                await server.start()
            await asyncio.gather(*(await_answer(ClusterAccess(url=one.url)) for one in servers))
            yield found
        finally:
            await asyncio.gather(*(server.end() for server in servers))


def _cluster(found: RelayedServers, number: int, place: Place) -> str:
    ways = [relay.place for (begin, _), relay in found.between.items() if begin == number]
    routes = ", ".join(f'"nats-route://{host}:{port}"' for host, port in ways)
    address, port = place
    return _CLUSTER.format(address=address, port=port, routes=routes, nowhere=_NOWHERE)

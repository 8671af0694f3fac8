"""A server is cut off from the others, but not from its clients."""

from pathlib import Path

import pytest

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.nats.connecting import NatsEngine, connect
from tests.cluster.engines import needs_server
from tests.cluster.proof.servers import relayed_servers

pytestmark = [needs_server, pytest.mark.proof, pytest.mark.anyio]

SHARD = 3
LONG_S = 90


def server_of(engine: NatsEngine) -> str:
    # Crawls need not know the server that they reach.
    found = engine._jetstream.client.connected_url
    assert found is not None
    return found.geturl()


async def test_a_client_leaves_a_server_that_is_cut_off_from_the_others(tmp_path: Path) -> None:
    async with relayed_servers(tmp_path / "servers", 3, ()) as servers:
        engine = await connect(ClusterAccess(url=servers.url, patience_s=LONG_S))
        try:
            assert await engine.append(SHARD, 0, b"before") == 1
            at = server_of(engine)
            (number,) = (n for n, one in enumerate(servers.servers) if one.url == at)
            with servers.server_cut(number):
                assert await engine.append(SHARD, 1, b"meanwhile") == 2
                assert server_of(engine) != at
            assert await engine.append(SHARD, 2, b"after") == 3
            at = server_of(engine)
            await engine.beats.switch_server()
            assert await engine.append(SHARD, 2, b"after") == 3
            assert server_of(engine) != at
            assert [one.content async for one in engine.entries(SHARD)] == [
                *(b"before", b"meanwhile", b"after")
            ]
        finally:
            await engine.close()

"""Nothing of a connection outlives it."""

import asyncio
import gc
import ssl

import pytest
import trustme

from minicrawl.fetch.connection import Connection
from tests.fetch.connection.clients import client, get, request_to, run
from tests.fetch.wire import answer, wire


def ours(port: int) -> list[object]:
    """What there is in memory of connections to this port."""
    found: list[object] = []
    for one in gc.get_objects():
        if isinstance(one, asyncio.Transport):
            place = one.get_extra_info("peername") or ("", 0)
            if place[1] == port:
                found.append(one)
        elif isinstance(one, Connection):
            found.append(one)
    return found


async def fetch_once(scheme: str) -> None:
    """Fetch a page, close the client, and find nothing of the connection in memory."""
    authority = trustme.CA()
    server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("a.example").configure_cert(server_tls)
    client_tls = ssl.create_default_context()
    authority.configure_trust(client_tls)

    async with wire(answer(b"a"), tls=server_tls if scheme == "https" else None) as server:
        asker = client(tls=client_tls)
        request = request_to(server, url=f"{scheme}://a.example:{server.port}/")
        assert await get(asker, request) == b"a"
        assert ours(server.port)
        await asker.aclose()
        await asyncio.sleep(0)  # the loop itself held it for this turn
        assert not ours(server.port)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nothing_is_left_of_a_connection_without_the_garbage_collector(scheme: str) -> None:
    gc.collect()
    gc.disable()
    try:
        run(fetch_once(scheme))
    finally:
        gc.enable()

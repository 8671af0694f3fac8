"""A closed connection leaves no reference cycle, so that its memory is freed at once."""

import asyncio
import gc

import pytest

from minicrawl.fetch.client.connection import Connection
from tests.fetch.connection.clients import get, http_client, request_to
from tests.fetch.wire import answer, certified, wire


def objects_of_connections(port: int) -> list[object]:
    found: list[object] = []
    for each in gc.get_objects():
        if isinstance(each, asyncio.Transport):
            place = each.get_extra_info("peername") or ("", 0)
            if place[1] == port:
                found.append(each)
        elif isinstance(each, Connection):
            found.append(each)
    return found


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_closed_connection_is_freed_without_the_garbage_collector(scheme: str) -> None:
    server_tls, client_tls = certified("a.example")
    gc.collect()
    gc.disable()
    try:
        async with wire(answer(b"a"), tls=server_tls if scheme == "https" else None) as server:
            async with http_client(tls=client_tls) as client:
                request = request_to(server, url=f"{scheme}://a.example:{server.port}/")
                assert await get(client, request) == b"a"
                assert objects_of_connections(server.port)
            await asyncio.sleep(0)  # the event loop holds the connection until this turn ends
            assert not objects_of_connections(server.port)
    finally:
        gc.enable()

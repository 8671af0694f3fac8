"""Nothing of a connection outlives it, and all works as before where asyncio is not what it was."""

import asyncio
import gc
import ssl
from asyncio import sslproto

import pytest
import trustme

from minicrawl.fetch.connection import connection
from minicrawl.fetch.connection.connection import Connection, socket_transport
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


async def fetch_once(scheme: str, *, collects: bool) -> None:
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
        if collects:
            gc.collect()
        assert not ours(server.port)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nothing_is_left_of_a_connection_without_the_garbage_collector(scheme: str) -> None:
    gc.collect()
    gc.disable()
    try:
        run(fetch_once(scheme, collects=False))
    finally:
        gc.enable()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_where_asyncio_is_unfamiliar_all_works_and_the_garbage_collector_frees_the_memory(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_IS_FAMILIAR", False)
    run(fetch_once(scheme, collects=True))


def test_asyncio_is_familiar_only_with_the_private_parts_that_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unlike:
        def __init__(self, loop: object, protocol: object) -> None:
            self.loop, self.protocol = loop, protocol

    assert connection._is_familiar()
    monkeypatch.setattr(sslproto, "_SSLProtocolTransport", Unlike)
    assert not connection._is_familiar()
    monkeypatch.delattr(sslproto, "_SSLProtocolTransport")
    assert not connection._is_familiar()


def test_without_tls_the_transport_is_its_own_socket_transport() -> None:
    transport = asyncio.Transport()
    assert socket_transport(transport) is transport

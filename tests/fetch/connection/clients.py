"""A client of the tests, and requests to servers on loopback."""

import asyncio
import ssl
from collections.abc import Coroutine
from typing import Any

from minicrawl.fetch.connection import Connector, DirectDialer, HttpClient, Pace
from minicrawl.fetch.transport import ConnectTarget, TransportRequest, target
from tests.fetch.wire import Wire


def run(play: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await play

    asyncio.run(bounded())


def client(
    connections: int = 9,
    kept: int | None = None,
    keep_s: float = 1000.0,
    timeout_s: float = 60.0,
    pause_s: float = 0.0,
    tls: ssl.SSLContext | None = None,
) -> HttpClient:
    return HttpClient(
        Pace(connections, connections if kept is None else kept, keep_s, pause_s),
        DirectDialer(Connector(timeout_s), lambda _: tls or ssl.create_default_context()),
        max_head_bytes=10_000,
    )


def request_to(server: Wire, *addresses: str, url: str | None = None) -> TransportRequest:
    asked = target(url or server.url())
    assert asked
    places = (ConnectTarget(address, server.port) for address in addresses or ("127.0.0.1",))
    return TransportRequest(asked, tuple(places), [(b"A", b"b")])


async def get(asker: HttpClient, asked: TransportRequest) -> bytes:
    found = await asker.send(asked)
    try:
        return b"".join([piece async for piece in found.body])
    finally:
        await found.aclose()

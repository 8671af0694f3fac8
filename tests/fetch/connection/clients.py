"""HTTP client for tests, and requests to servers on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from minicrawl.fetch.client.client import HttpClient, Pace
from minicrawl.fetch.client.dialing import Connector, Dialer
from minicrawl.fetch.http.messages import TransportRequest
from minicrawl.fetch.http.targets import ConnectTarget, target
from tests.fetch.wire import Wire


@asynccontextmanager
async def http_client(
    connections: int = 9,
    kept: int | None = None,
    keep_s: float = 1000.0,
    timeout_s: float = 60.0,
    pause_s: float = 0.0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[HttpClient]:
    client = HttpClient(
        Pace(connections, connections if kept is None else kept, keep_s, pause_s),
        Dialer(Connector(timeout_s), lambda _: tls or ssl.create_default_context()),
        max_head_bytes=10_000,
    )
    try:
        yield client
    finally:
        await client.aclose()


def request_to(server: Wire, *addresses: str, url: str | None = None) -> TransportRequest:
    place = target(url or server.url())
    assert place
    places = (ConnectTarget(address, server.port) for address in addresses or ("127.0.0.1",))
    return TransportRequest(place, tuple(places), [(b"A", b"b")])


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def get(client: HttpClient, request: TransportRequest) -> bytes:
    response = await client.send(request)
    try:
        return b"".join([piece async for piece in response.body])
    finally:
        await response.aclose()

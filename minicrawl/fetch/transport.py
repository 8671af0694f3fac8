"""httpx over aiohttp: connections as httpx's client wants them, through our resolver.

httpx's own pool slows down with many connections, and the adapter that others made writes URLs
anew (%7E becomes ~), which may ask for another page than the one that was linked.

Laws: a URL is asked for as it was given. Nothing is remembered but open connections. What
aiohttp raises passes through, for `minicrawl.fetch.failures` to name.
"""

import asyncio
import socket
import ssl
from functools import cached_property
from typing import Self

import httpx
from aiohttp import (
    ClientPayloadError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from minicrawl.fetch.resolving import Resolver

_MAX_HEADER = 32 * 1024  # bytes of one header, or of the status line
_MAX_HEADERS = 128
_PATIENCE_S = 1.0  # with a body that says nothing, before its connection is looked at
_UNTIMED = ClientTimeout(total=None, sock_connect=None)  # whoever fetches has a deadline


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Holds at most `connections` at work; an idle one is kept for `keep_s`."""

    def __init__(
        self, resolver: Resolver, *, tls: ssl.SSLContext, connections: int, keep_s: float
    ) -> None:
        self._resolver = resolver
        self._tls = tls
        self._connections = connections
        self._keep_s = keep_s

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url, name = URL(str(request.url), encoded=True), None
        # The Host header is in the request already; the name is for SNI and the certificate.
        if place := self._resolver.detour(url.raw_host or "", url.port or 0):
            name = url.raw_host
            url = url.with_host(place.address).with_port(place.port)
        # Names of headers go out as they are written here: some servers mind.
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        answer = await self._session.get(
            url, headers=headers, allow_redirects=False, server_hostname=name
        )
        return httpx.Response(answer.status, headers=answer.raw_headers, stream=_Body(answer))

    async def aclose(self) -> None:
        await self._session.close()

    @cached_property
    def _session(self) -> ClientSession:
        """Made at the first use, because it must be made where the loop runs."""
        return ClientSession(
            connector=TCPConnector(
                resolver=_GuardedResolver(self._resolver),
                use_dns_cache=False,
                ssl=self._tls,
                limit=self._connections,
                keepalive_timeout=self._keep_s,
            ),
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            timeout=_UNTIMED,
            max_line_size=_MAX_HEADER,
            max_field_size=_MAX_HEADER,
            max_headers=_MAX_HEADERS,
        )


class _Body(httpx.AsyncByteStream):
    """The bytes as they come. Closed before its end, it closes the connection undrained."""

    def __init__(self, answer: ClientResponse) -> None:
        self._answer = answer

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    chunk = await self._answer.content.readany()
            except TimeoutError:
                self._check_connection()
                continue
            if not chunk:
                raise StopAsyncIteration
            return chunk

    def _check_connection(self) -> None:
        # aiohttp hangs up on chunks that are none, but never says so to those who read.
        connection = self._answer.connection
        protocol = connection.protocol if connection else None
        if protocol is None or not protocol.is_connected():
            raise ClientPayloadError("what came of the body was no HTTP")

    async def aclose(self) -> None:
        self._answer.release()


class _GuardedResolver(AbstractResolver):
    """Names what may be connected to, each time anew: a connection cannot go past the guard."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        places = await self._resolver.locate(host, port)
        if not isinstance(places, tuple):
            raise OSError(places.detail)
        return [
            ResolveResult(
                hostname=host, host=address, port=to_port, family=family, proto=0, flags=0
            )
            for address, to_port in places
        ]

    async def close(self) -> None:
        """It holds nothing."""

"""Adapter that sends requests through any httpx transport: a proxy, HTTP/2, a mock.

Such a transport resolves names itself: the resolver can refuse a host, but cannot choose the
address.
"""

from collections.abc import AsyncIterator

import httpx

from minicrawl.fetch.http1 import joined_headers
from minicrawl.fetch.transport import Fault, TransportRequest
from minicrawl.model import FailureKind

# The first match counts, so subclasses precede their bases.
_KINDS: tuple[tuple[type[Exception], FailureKind], ...] = (
    (httpx.TimeoutException, FailureKind.TIMEOUT),
    (httpx.ConnectError, FailureKind.CONNECT),
    (httpx.NetworkError, FailureKind.RESET),
    (httpx.TransportError, FailureKind.PROTOCOL),
    (httpx.InvalidURL, FailureKind.PROTOCOL),
)
_EXPECTED = tuple(exception for exception, _ in _KINDS)


class HttpxTransport:
    """Transport of this package over an httpx transport."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def send(self, request: TransportRequest) -> "HttpxResponseStream":
        try:
            sent = httpx.Request(request.method, request.target.url, headers=[*request.headers])
            return HttpxResponseStream(await self._transport.handle_async_request(sent))
        except _EXPECTED as error:
            raise fault(error) from error

    async def aclose(self) -> None:
        await self._transport.aclose()


class HttpxResponseStream:
    """Response stream of this package over an httpx response."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = joined_headers(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in response.headers.raw
        )

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._chunks()

    def take_whole(self) -> bytes | None:
        return None  # httpx does not say whether the body is complete

    async def aclose(self) -> None:
        await self._response.aclose()

    async def _chunks(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        try:
            async for chunk in self._response.stream:
                yield chunk
        except _EXPECTED as error:
            raise fault(error) from error


def fault(error: Exception) -> Fault:
    """Return the Fault for an httpx exception."""
    kind = next(kind for exception, kind in _KINDS if isinstance(error, exception))
    return Fault(kind, str(error))

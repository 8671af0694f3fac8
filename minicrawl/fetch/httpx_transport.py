"""Asks through any transport of httpx: a proxy, HTTP/2, a mock.

Such a transport connects as it likes: the guard still refuses a host, but cannot choose the
address that is connected to.
"""

from collections.abc import AsyncIterator

import httpx

from minicrawl.fetch.connection.heads import joined_headers
from minicrawl.fetch.failures import Fault
from minicrawl.fetch.transport import TransportRequest
from minicrawl.model import FailureKind

# The first line that fits counts, so the special stand before the general.
_KINDS: tuple[tuple[type[Exception], FailureKind], ...] = (
    (httpx.TimeoutException, FailureKind.TIMEOUT),
    (httpx.ConnectError, FailureKind.CONNECT),
    (httpx.NetworkError, FailureKind.RESET),
    (httpx.TransportError, FailureKind.PROTOCOL),
    (httpx.InvalidURL, FailureKind.PROTOCOL),
)
_EXPECTED = tuple(exception for exception, _ in _KINDS)


class HttpxTransport:
    """A transport of ours that is one of httpx's."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def ask(self, question: TransportRequest) -> "HttpxResponseStream":
        try:
            request = httpx.Request("GET", question.target.url, headers=[*question.headers])
            return HttpxResponseStream(await self._transport.handle_async_request(request))
        except _EXPECTED as error:
            raise fault(error) from error

    async def aclose(self) -> None:
        await self._transport.aclose()


class HttpxResponseStream:
    """A response of httpx."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = joined_headers(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in response.headers.raw
        )

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._pieces()

    async def aclose(self) -> None:
        await self._response.aclose()

    async def _pieces(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        try:
            async for piece in self._response.stream:
                yield piece
        except _EXPECTED as error:
            raise fault(error) from error


def fault(error: Exception) -> Fault:
    """The same in the words of the house."""
    kind = next(kind for exception, kind in _KINDS if isinstance(error, exception))
    return Fault(kind, str(error))

"""Adapter that sends requests through any httpx transport, such as a mock.

Such a transport resolves names itself: the resolver can refuse a host, but cannot choose the
address.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.heads import joined_headers
from minicrawl.fetch.http.messages import TransportRequest
from minicrawl.model import Wire
from minicrawl.states import State

if TYPE_CHECKING:
    import httpx


class HttpxTransport:
    def __init__(self, transport: "httpx.AsyncBaseTransport") -> None:
        self._transport, self.aclose = transport, transport.aclose

    async def send(self, request: TransportRequest) -> "HttpxResponseStream":
        import httpx

        with _naming_faults():
            sent = httpx.Request(
                request.method,
                request.target.url,
                headers=[*request.headers],
                content=request.body or None,
            )
            began = perf_counter()
            response = await self._transport.handle_async_request(sent)
            return HttpxResponseStream(response, perf_counter() - began)


class HttpxResponseStream:
    def __init__(self, response: "httpx.Response", first_byte_s: float) -> None:
        self._response, self.first_byte_s = response, first_byte_s
        self.aclose = response.aclose
        self.status = response.status_code
        self.wire: Wire | None = None  # httpx hides the raw heads
        raw = response.headers.raw
        self.headers = joined_headers(
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
        )

    @property
    async def body(self) -> AsyncIterator[bytes]:
        import httpx

        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        with _naming_faults():
            async for chunk in self._response.stream:
                yield chunk

    def take_whole(self) -> bytes | None:
        return None  # httpx does not say whether the body is complete


def answering(
    answer: Callable[[str], tuple[int, dict[str, str], bytes]],
) -> "httpx.MockTransport":
    """Return a transport without a network: a URL has a status, headers and a body."""
    import httpx

    def respond(request: httpx.Request) -> httpx.Response:
        status, headers, content = answer(str(request.url))
        return httpx.Response(status, headers=headers, content=content)

    return httpx.MockTransport(respond)


@contextmanager
def _naming_faults() -> Iterator[None]:
    import httpx

    try:
        yield
    except httpx.TimeoutException as error:
        raise Fault(State.TIMEOUT, str(error)) from error
    except httpx.ConnectError as error:
        raise Fault(State.CONNECT, str(error)) from error
    except httpx.NetworkError as error:
        raise Fault(State.RESET, str(error)) from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise Fault(State.PROTOCOL, str(error)) from error

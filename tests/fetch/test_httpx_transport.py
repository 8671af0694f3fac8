from collections.abc import AsyncIterator

import httpx
import pytest

from minicrawl.config import Network, Politeness
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.model import Failed, FailureKind, FetchResult, Request
from tests.fetch.results import page_of


class Breaking(httpx.AsyncByteStream):
    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece
        raise httpx.ReadError("gone")

    async def aclose(self) -> None:
        self.closed = True


class Canned(httpx.AsyncBaseTransport):
    def __init__(self, response: httpx.Response | Exception) -> None:
        self.response = response
        self.asked: list[httpx.Request] = []
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if isinstance(self.response, Exception):
            raise self.response
        return self.response

    async def aclose(self) -> None:
        self.closed = True


async def fetch(transport: Canned) -> FetchResult:
    async with HttpFetcher(Network(), Politeness(), transport=transport) as fetcher:
        return await fetcher.fetch(Request(url="http://me@1.2.3.4/a%7Eb#c", etag='"é"'))


def page(body: httpx.AsyncByteStream) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/html"}, stream=body)


async def test_a_transport_of_httpx_replaces_the_client_and_is_closed() -> None:
    body = Breaking(b"abc")
    transport = Canned(page(body))
    fetched = page_of(await fetch(transport))
    assert (fetched.body, fetched.cut) == (b"abc", FailureKind.RESET)
    (asked,) = transport.asked
    assert (asked.method, str(asked.url)) == ("GET", "http://1.2.3.4/a%7Eb")
    assert asked.headers["host"] == "1.2.3.4"
    assert asked.headers.raw[-1] == (b"If-None-Match", '"é"'.encode())
    assert body.closed
    assert transport.closed


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectTimeout("bad"), FailureKind.TIMEOUT),
        (httpx.ConnectError("bad"), FailureKind.CONNECT),
        (httpx.ReadError("bad"), FailureKind.RESET),
        (httpx.RemoteProtocolError("bad"), FailureKind.PROTOCOL),
        (httpx.InvalidURL("bad"), FailureKind.PROTOCOL),
    ],
)
async def test_each_error_of_httpx_is_a_failure_of_its_kind(
    error: Exception, kind: FailureKind
) -> None:
    failed = await fetch(Canned(error))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.detail) == (kind, "bad")

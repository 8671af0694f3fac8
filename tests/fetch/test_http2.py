"""HTTP/2 with a scripted server on loopback: pages, and faults."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import h2.config
import h2.connection
import h2.events
import pytest

from minicrawl.config import Access, Network, Politeness
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.model import Failed, FailureKind, FetchResult, Request, Response, Unchanged, Want
from tests.fetch.results import http_fetcher, kind_of, page_of
from tests.fetch.wire import certified, listening

HOST = "a.example"
PAGE = b"<html>page"
OK = [(":status", "200"), ("content-type", "text/html")]
SERVER = h2.config.H2Configuration(client_side=False, validate_outbound_headers=False)


Say: TypeAlias = Callable[["Http2Server", h2.connection.H2Connection, int], None]


@dataclass
class Http2Server:
    """Server whose `say` answers each request, given the connection and the stream's number."""

    say: "Say"
    asked: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    waiting: list[int] = field(default_factory=list)
    port: int = 0
    hangs_up: bool = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = h2.connection.H2Connection(config=SERVER)
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        while piece := await reader.read(65536):
            for event in connection.receive_data(piece):
                if isinstance(event, h2.events.RequestReceived):
                    self.asked.append({k.decode(): v.decode() for k, v in event.headers or []})
                    self.say(self, connection, event.stream_id)
                if isinstance(event, h2.events.DataReceived):
                    self.bodies.append(event.data)
            writer.write(connection.data_to_send())
            if self.hangs_up:
                self.hangs_up = False  # once: the next connection is served
                break


@asynccontextmanager
async def http2_fetcher(
    served: Http2Server, contact: str | None = None, access: Access | None = None, **limits: Any
) -> AsyncIterator[HttpFetcher]:
    server_tls, client_tls = certified(HOST)
    server_tls.set_alpn_protocols(["h2", "http/1.1"])
    async with listening(served.serve, server_tls) as served.port:
        network = Network(http2="auto", resolve=(f"{HOST}=127.0.0.1:{served.port}",), **limits)
        politeness = Politeness(delay_s=0, contact=contact)
        given = {"access": access} if access else {}
        async with http_fetcher(network, politeness, tls=client_tls, **given) as fetcher:
            yield fetcher


def fetch(served: Http2Server, *requests: Request, **limits: Any) -> list[FetchResult]:
    async def fetch_all() -> list[FetchResult]:
        async with http2_fetcher(served, **limits) as fetcher:
            return [await fetcher.fetch(request) for request in requests]

    return asyncio.run(fetch_all())


def page(path: str = "/", **fields: object) -> Request:
    return Request(url=f"https://{HOST}{path}", **fields)  # type: ignore[arg-type]  # a test's fields are a request's


def says(*headers: tuple[str, str], body: bytes = PAGE) -> Say:
    def say(_: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        connection.send_headers(stream, list(headers) or OK, end_stream=not body)
        if body:
            connection.send_data(stream, body, end_stream=True)

    return say


def test_pages_are_fetched_over_one_connection() -> None:
    served = Http2Server(says())
    found = fetch(served, *(page(f"/{number}%7E|") for number in range(3)))
    assert [page_of(one).body for one in found] == [PAGE] * 3
    assert served.connections == 1
    assert (served.asked[2][":path"], served.asked[2][":authority"]) == ("/2%7E|", HOST)
    assert served.asked[2]["user-agent"].startswith("minicrawl/")
    assert "connection" not in served.asked[2]


def test_an_archive_gets_protocols_cipher_and_heads_of_http_1() -> None:
    twice = ("x-twice", "1"), ("x-twice", "2")
    (found,) = fetch(Http2Server(says(*OK, *twice)), page("/a?b=1"))
    wire = page_of(found).wire
    assert wire is not None
    assert wire.protocols[0] == "h2"
    assert re.fullmatch(r"tls/1\.[23]", wire.protocols[1])
    assert re.fullmatch(r"TLS_\w+|ECDHE-[\w-]+", wire.cipher)
    assert wire.request.startswith(b"GET /a?b=1 HTTP/1.1\r\nHost: a.example\r\n")
    assert wire.response.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"x-twice: 1\r\nx-twice: 2\r\n" in wire.response
    assert b"\n:" not in wire.request + wire.response


def _late(late_s: float) -> Say:
    def say(server: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        time.sleep(late_s)
        says()(server, connection, stream)

    return say


def test_the_first_byte_is_timed() -> None:
    (found,) = fetch(Http2Server(_late(0.01)), page())
    assert found.first_byte_s is not None
    assert 0.0099 < found.first_byte_s < found.elapsed_s


async def test_concurrent_requests_share_one_connection() -> None:
    def say(server: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        server.waiting.append(stream)
        if len(server.asked) in (1, 6):  # answer the first request alone, then five together
            for waiting in server.waiting:
                says()(server, connection, waiting)
            server.waiting.clear()

    served = Http2Server(say)
    async with http2_fetcher(served) as fetcher:
        await fetcher.fetch(page())
        found = await asyncio.gather(*(fetcher.fetch(page(f"/{number}")) for number in range(5)))
    assert all(isinstance(one, Response) for one in found)
    assert served.connections == 1


@pytest.mark.parametrize("want", [Want.HEAD, Want.PAGE])
def test_a_response_without_a_body_leaves_its_connection_open(want: Want) -> None:
    served = Http2Server(says((":status", "200"), ("content-length", "0"), body=b""))
    fetch(served, page(want=want), page(want=want))
    assert served.connections == 1


def test_an_unchanged_page_is_reported() -> None:
    (found,) = fetch(Http2Server(says((":status", "304"), body=b"")), page(etag='"a"'))
    assert isinstance(found, Unchanged)


def test_a_connection_with_an_unread_body_is_not_used_again() -> None:
    served = Http2Server(says((":status", "200"), ("content-type", "image/png")))
    fetch(served, page(), page())
    assert served.connections == 2


def test_a_transfer_coding_is_ignored() -> None:
    (found,) = fetch(Http2Server(says(*OK, ("transfer-encoding", "gzip"))), page())
    assert page_of(found).body == PAGE


@pytest.mark.parametrize(("kib", "is_read"), [(60, True), (64, False), (70, False)])
def test_a_head_has_at_most_64_kib(kib: int, is_read: bool) -> None:
    lines = [(f"x-{number:02}", "y" * (1024 - len("x-00: \r\n"))) for number in range(kib)]
    (found,) = fetch(Http2Server(says(*OK, *lines)), page(keeps_failures=True))
    assert isinstance(found, Response) == is_read
    assert is_read or kind_of(found) is FailureKind.TOO_LARGE


def test_the_beginning_of_a_head_over_the_limit_is_kept() -> None:
    large = says(*OK, *((f"x-{number}", "y" * 1000) for number in range(10)))
    (found,) = fetch(Http2Server(large), page(keeps_failures=True), max_head_bytes=5000)
    assert isinstance(found, Failed)
    assert found.answer
    assert found.answer.wire
    assert found.answer.wire.response.startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(found.answer.wire.response) > 5000


def _reset(_: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
    connection.reset_stream(stream, 2)


def _go_away(server: Http2Server, connection: h2.connection.H2Connection, _: int) -> None:
    connection.close_connection(11)
    server.hangs_up = True


def _hang_up(server: Http2Server, _: h2.connection.H2Connection, __: int) -> None:
    server.hangs_up = True


def _odd_status(_: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
    connection.send_headers(stream, [(":status", "ok")], end_stream=True)


def _short(_: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
    connection.send_headers(stream, [*OK, ("content-length", "99")])
    connection.send_data(stream, b"abc", end_stream=True)


@pytest.mark.parametrize(
    ("say", "kind"),
    [
        (_reset, FailureKind.RESET),
        (_go_away, FailureKind.RESET),
        (_hang_up, FailureKind.RESET),
        (_odd_status, FailureKind.PROTOCOL),
        (_short, FailureKind.PROTOCOL),
    ],
)
def test_each_fault_is_a_failure_of_its_kind(say: Say, kind: FailureKind) -> None:
    assert kind_of(*fetch(Http2Server(say), page())) is kind


@pytest.mark.parametrize(
    ("head", "trailers"),
    [
        ([("content-type", "text/html")], []),
        ([(":path", "/"), ("content-type", "text/html")], []),
        ([*OK, (":status", "200")], []),
        ([(":status", "200"), (":status", "404")], []),
        ([(":status", "200"), (":path", "/")], []),
        ([("content-type", "text/html"), (":status", "200")], []),
        ([(":status", "20")], []),
        ([(":status", "+200")], []),
        ([(":status", "")], []),
        (OK, [(":status", "200")]),
        (OK, [(":method", "GET")]),
    ],
)
async def test_a_response_with_malformed_pseudo_fields_fails_alone(
    head: list[tuple[str, str]], trailers: list[tuple[str, str]]
) -> None:
    def say(server: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        server.waiting.append(stream)
        if len(server.waiting) < 2:  # both are requested before either is answered
            return
        for number in server.waiting:
            connection.send_headers(number, head if number == server.waiting[-1] else OK)
            connection.send_data(number, PAGE, end_stream=not (trailers and number == stream))
        if trailers:
            connection.send_headers(stream, trailers, end_stream=True)

    served = Http2Server(say)
    async with http2_fetcher(served) as fetcher:
        found = await asyncio.gather(fetcher.fetch(page()), fetcher.fetch(page("/second")))
    (failed,) = (one for one in found if not isinstance(one, Response))
    assert kind_of(failed) is FailureKind.PROTOCOL
    assert served.connections == 1


def test_interim_responses_and_trailers_are_accepted() -> None:
    def say(_: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        connection.send_headers(stream, [(":status", "103"), ("link", "</s.css>; rel=preload")])
        connection.send_headers(stream, OK)
        connection.send_data(stream, PAGE)
        connection.send_headers(stream, [("x-sum", "1")], end_stream=True)

    (found,) = fetch(Http2Server(say), page())
    assert (page_of(found).status, page_of(found).body) == (200, PAGE)


def test_the_part_of_a_body_that_breaks_off_is_used() -> None:
    def say(_: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        connection.send_headers(stream, OK)
        connection.send_data(stream, PAGE)
        connection.reset_stream(stream, 2)

    (found,) = fetch(Http2Server(say), page())
    assert (page_of(found).body, page_of(found).cut) == (PAGE, FailureKind.RESET)


def test_silence_ends_at_the_deadline_and_its_connection_is_not_used_again() -> None:
    served = Http2Server(lambda *_: None)
    found = fetch(served, page(), page(), timeout_s=0.3)
    assert list(map(kind_of, found)) == [FailureKind.TIMEOUT] * 2
    assert served.connections == 2


def test_a_body_without_end_is_cut_at_its_cap() -> None:
    def say(_: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        connection.send_headers(stream, OK)
        for _number in range(3):
            connection.send_data(stream, PAGE + b"x" * 16_000)

    (found,) = fetch(Http2Server(say), page(max_bytes=20_000))
    assert len(page_of(found).body) == 20_000
    assert page_of(found).cut is FailureKind.TOO_LARGE


def test_a_kept_connection_that_the_server_closed_is_replaced() -> None:
    def say(server: Http2Server, connection: h2.connection.H2Connection, stream: int) -> None:
        says()(server, connection, stream)
        server.hangs_up = True

    served = Http2Server(say)
    found = fetch(served, page(), page())
    assert all(isinstance(one, Response) for one in found)
    assert served.connections == 2

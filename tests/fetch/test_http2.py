"""HTTP/2 by a server of the tests that says what it is told: good pages, and faults."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import pytest
import trustme

from minicrawl.config import Network, Politeness
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.model import Failed, FailureKind, FetchResult, Request, Response, Unchanged, Want

HOST = "a.example"
PAGE = b"<html>page"
OK = [(":status", "200"), ("content-type", "text/html")]
SERVER = h2.config.H2Configuration(client_side=False, validate_outbound_headers=False)


@dataclass
class Http2Server:
    """`say` answers a request, given the connection and the number of its stream."""

    say: Callable[["Http2Server", h2.connection.H2Connection, int], None]
    asked: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    most_at_once: int = 0
    waiting: list[int] = field(default_factory=list)
    port: int = 0
    hangs_up: bool = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        spoken = h2.connection.H2Connection(config=SERVER)
        spoken.initiate_connection()
        writer.write(spoken.data_to_send())
        while piece := await reader.read(65536):
            for event in spoken.receive_data(piece):
                if isinstance(event, h2.events.RequestReceived):
                    self.asked.append({k.decode(): v.decode() for k, v in event.headers or []})
                    self.say(self, spoken, event.stream_id)
                if isinstance(event, h2.events.DataReceived):
                    self.bodies.append(event.data)
            writer.write(spoken.data_to_send())
            if self.hangs_up:
                self.hangs_up = False  # the next connection may say something
                break


@asynccontextmanager
async def http2(served: Http2Server) -> AsyncIterator[ssl.SSLContext]:
    """Serve until this is left; the context trusts the server."""
    authority = trustme.CA()
    tls, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(HOST).configure_cert(tls)
    authority.configure_trust(ours)
    tls.set_alpn_protocols(["h2", "http/1.1"])
    turns: set[asyncio.Task[None]] = set()

    async def turn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        turns.add(task)
        with suppress(asyncio.CancelledError, ConnectionError, ssl.SSLError):
            await served.serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(turn, "127.0.0.1", ssl=tls)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield ours
    finally:
        server.close()
        for task in turns:
            task.cancel()
        await asyncio.gather(*turns, return_exceptions=True)


def fetch(
    served: Http2Server,
    *requests: Request,
    at_once: bool = False,
    max_head_bytes: int = 64 * 1024,
    timeout_s: float = 10,
) -> list[FetchResult]:
    async def asking() -> list[FetchResult]:
        async with http2(served) as tls:
            network = Network(
                http2="auto",
                timeout_s=timeout_s,
                max_head_bytes=max_head_bytes,
                resolve=(f"{HOST}=127.0.0.1:{served.port}",),
            )
            async with HttpFetcher(network, Politeness(delay_s=0), tls=tls) as asker:
                if at_once:
                    return list(await asyncio.gather(*map(asker.fetch, requests)))
                return [await asker.fetch(request) for request in requests]

    return asyncio.run(asking())


def page(path: str = "/", **fields: object) -> Request:
    return Request(url=f"https://{HOST}{path}", **fields)  # type: ignore[arg-type]  # a test's fields are a request's


def says(*headers: tuple[str, str], body: bytes = PAGE) -> Callable[..., None]:
    def say(_: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
        spoken.send_headers(stream, list(headers) or OK, end_stream=not body)
        if body:
            spoken.send_data(stream, body, end_stream=True)

    return say


def test_a_page_comes_and_its_connection_is_kept() -> None:
    served = Http2Server(says())
    found = fetch(served, *(page(f"/{number}%7E|") for number in range(3)))
    assert [isinstance(one, Response) and one.body for one in found] == [PAGE] * 3
    assert served.connections == 1
    assert served.asked[2][":path"] == "/2%7E|"
    assert served.asked[2][":authority"] == HOST
    assert served.asked[2]["user-agent"].startswith("minicrawl/")
    assert "connection" not in served.asked[2]


def test_requests_at_once_share_one_connection() -> None:
    def say(server: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
        server.waiting.append(stream)
        server.most_at_once = max(server.most_at_once, len(server.waiting))
        if len(server.asked) in (1, 6):  # the first one alone, then five together
            for one in server.waiting:
                says()(server, spoken, one)
            server.waiting.clear()

    served = Http2Server(say)

    async def asking() -> list[FetchResult]:
        async with http2(served) as tls:
            rules = (f"{HOST}=127.0.0.1:{served.port}",)
            network = Network(http2="auto", timeout_s=10, resolve=rules)
            async with HttpFetcher(network, Politeness(delay_s=0), tls=tls) as asker:
                await asker.fetch(page())
                asked = (asker.fetch(page(f"/{number}")) for number in range(5))
                return list(await asyncio.gather(*asked))

    assert all(isinstance(one, Response) for one in asyncio.run(asking()))
    assert (served.connections, served.most_at_once) == (1, 5)


@pytest.mark.parametrize("want", [Want.HEAD, Want.PAGE])
def test_what_has_no_body_leaves_its_connection_open(want: Want) -> None:
    nothing = says((":status", "200"), ("content-length", "0"), body=b"")
    served = Http2Server(nothing)
    fetch(served, page(want=want), page(want=want))
    assert served.connections == 1


def test_a_page_that_has_not_changed_is_told() -> None:
    (found,) = fetch(Http2Server(says((":status", "304"), body=b"")), page(etag='"a"'))
    assert isinstance(found, Unchanged)


def test_a_connection_on_which_a_body_was_left_unread_takes_no_further_request() -> None:
    picture = says((":status", "200"), ("content-type", "image/png"))
    served = Http2Server(picture)
    fetch(served, page(), page())
    assert served.connections == 2


def test_a_transfer_coding_has_no_meaning() -> None:
    (found,) = fetch(Http2Server(says(*OK, ("transfer-encoding", "gzip"))), page())
    assert isinstance(found, Response)
    assert found.body == PAGE


def test_a_head_over_the_limit_is_a_failure() -> None:
    big = says(*OK, *((f"x-{number}", "y" * 1000) for number in range(10)))
    (found,) = fetch(Http2Server(big), page(), max_head_bytes=5000)
    assert isinstance(found, Failed)
    assert found.kind is FailureKind.TOO_LARGE
    huge = says(*OK, *((f"x-{number}", "y" * 1000) for number in range(99)))
    (found,) = fetch(Http2Server(huge), page())
    assert isinstance(found, Failed)
    assert found.kind is FailureKind.TOO_LARGE


def _reset(_: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
    spoken.reset_stream(stream, 2)


def _go_away(server: Http2Server, spoken: h2.connection.H2Connection, _: int) -> None:
    spoken.close_connection(11)
    server.hangs_up = True


def _hang_up(server: Http2Server, _: h2.connection.H2Connection, __: int) -> None:
    server.hangs_up = True


def _odd_status(_: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
    spoken.send_headers(stream, [(":status", "ok")], end_stream=True)


def _short(_: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
    spoken.send_headers(stream, [*OK, ("content-length", "99")])
    spoken.send_data(stream, b"abc", end_stream=True)


@pytest.mark.parametrize(
    ("say", "kind"),
    [
        (_reset, FailureKind.RESET),
        (_go_away, FailureKind.RESET),
        (_hang_up, FailureKind.RESET),
        (_odd_status, FailureKind.PROTOCOL),
    ],
)
def test_a_fault_is_a_failure_of_a_named_kind(
    say: Callable[[Http2Server, h2.connection.H2Connection, int], None], kind: FailureKind
) -> None:
    (found,) = fetch(Http2Server(say), page())
    assert isinstance(found, Failed)
    assert found.kind is kind, found


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
def test_a_response_with_malformed_pseudo_fields_is_a_failure_and_fails_alone(
    head: list[tuple[str, str]], trailers: list[tuple[str, str]]
) -> None:
    def say(server: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
        server.waiting.append(stream)
        if len(server.waiting) < 2:  # both are asked for before either is answered
            return
        for number in server.waiting:
            spoken.send_headers(number, head if number == server.waiting[-1] else OK)
            spoken.send_data(number, PAGE, end_stream=not (trailers and number == stream))
        if trailers:
            spoken.send_headers(stream, trailers, end_stream=True)

    server = Http2Server(say)
    found = fetch(server, page(), page("/second"), at_once=True)
    malformed = next(i for i, asked in enumerate(found) if not isinstance(asked, Response))
    assert isinstance(found[malformed], Failed)
    assert found[malformed].kind is FailureKind.PROTOCOL  # type: ignore[union-attr]
    assert isinstance(found[1 - malformed], Response)
    assert server.connections == 1


def test_interim_responses_and_trailers_may_come() -> None:
    def say(_: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
        spoken.send_headers(stream, [(":status", "103"), ("link", "</s.css>; rel=preload")])
        spoken.send_headers(stream, OK)
        spoken.send_data(stream, PAGE)
        spoken.send_headers(stream, [("x-sum", "1")], end_stream=True)

    (found,) = fetch(Http2Server(say), page())
    assert isinstance(found, Response)
    assert (found.status, found.body) == (200, PAGE)


def test_of_a_body_that_breaks_off_what_came_is_used() -> None:
    def say(_: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
        spoken.send_headers(stream, OK)
        spoken.send_data(stream, PAGE)
        spoken.reset_stream(stream, 2)

    (found,) = fetch(Http2Server(say), page())
    assert isinstance(found, Response)
    assert (found.body, found.cut) == (PAGE, FailureKind.RESET)


def test_a_body_shorter_than_its_length_is_cut() -> None:
    (found,) = fetch(Http2Server(_short), page())
    assert isinstance(found, Response | Failed)
    assert (found.cut if isinstance(found, Response) else found.kind) is FailureKind.PROTOCOL


def test_silence_ends_at_the_deadline_and_its_connection_is_not_used_again() -> None:
    served = Http2Server(lambda *_: None)
    found = fetch(served, page(), page(), timeout_s=0.3)
    assert [one.kind for one in found if isinstance(one, Failed)] == [FailureKind.TIMEOUT] * 2
    assert served.connections == 2


def test_a_body_without_end_is_cut_at_its_cap() -> None:
    def say(_: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
        spoken.send_headers(stream, OK)
        for _number in range(3):
            spoken.send_data(stream, PAGE + b"x" * 16_000)

    (found,) = fetch(Http2Server(say), page(max_bytes=20_000))
    assert isinstance(found, Response)
    assert (len(found.body), found.cut) == (20_000, FailureKind.TOO_LARGE)


def test_a_kept_connection_that_the_server_ended_is_replaced() -> None:
    def say(server: Http2Server, spoken: h2.connection.H2Connection, stream: int) -> None:
        says()(server, spoken, stream)
        server.hangs_up = True

    served = Http2Server(say)
    found = fetch(served, page(), page())
    assert all(isinstance(one, Response) for one in found)
    assert served.connections == 2

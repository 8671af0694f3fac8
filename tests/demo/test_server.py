import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPResponse

import pytest

from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb

FRONT = "www.harbour-museum.example"
CHANGING = "www.daybreak-portal.example"
SLOW = "www.sleepy-ferry.example"
GET = b"GET / HTTP/1.1\r\nHost: www.harbour-museum.example\r\n\r\n"
SLOW_GET = GET.replace(FRONT.encode(), SLOW.encode())
WEB = DemoWeb(100)


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer(WEB) as server:
        yield server


@pytest.fixture
def client(server: DemoServer) -> Iterator[HTTPConnection]:
    with closing(HTTPConnection(server.address, timeout=60)) as client:
        yield client


def connected(server: DemoServer) -> socket.socket:
    host, port = server.address.split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def exchanged(server: DemoServer, *chunks: bytes) -> bytes:
    """Send bytes and return everything that the server sends until it closes the connection."""
    with connected(server) as client:
        for chunk in chunks:
            client.sendall(chunk)
        return b"".join(iter(lambda: client.recv(65536), b""))


def ask(
    client: HTTPConnection, target: str, host: str = FRONT, method: str = "GET", **headers: str
) -> HTTPResponse:
    client.request(method, target, headers={"Host": host, **headers})
    return client.getresponse()


def test_a_response_has_the_status_headers_and_body_of_the_web(client: HTTPConnection) -> None:
    expected = WEB.answer(FRONT, "/", {}, 0)
    response = ask(client, "/")
    assert (response.status, response.read()) == (200, expected.body)
    assert expected.headers.items() <= dict(response.getheaders()).items()


def test_a_connection_serves_many_requests(client: HTTPConnection) -> None:
    ask(client, "/").read()
    sock = client.sock
    assert ask(client, "/nowhere").read() == b"There is no such page."
    assert ask(client, "/", host="calendar.town-hall.example").read()
    assert ask(client, "/", host="www.else.example").status == 421
    assert client.sock is sock


def test_responses_depend_on_the_number_of_requests_for_the_url(
    server: DemoServer, client: HTTPConnection
) -> None:
    bodies = [ask(client, "/", host=f"{CHANGING.upper()}:80").read() for _ in range(2)]
    assert bodies == [WEB.answer(CHANGING, "/", {}, visits).body for visits in (0, 1)]
    assert bodies[0] != bodies[1]
    assert server.requests == {f"http://{CHANGING}/": 2}


def test_head_has_the_headers_of_get_without_a_body(client: HTTPConnection) -> None:
    response = ask(client, "/", method="HEAD")
    assert response.read() == b""
    assert int(response.headers["Content-Length"]) == len(WEB.answer(FRONT, "/", {}, 0).body)
    assert ask(client, "/").status == 200


def test_an_unchanged_page_is_304_without_a_body(client: HTTPConnection) -> None:
    first = ask(client, "/")
    etag = first.headers["ETag"]
    first.read()
    response = ask(client, "/", **{"If-None-Match": etag})
    assert (response.status, response.read()) == (304, b"")
    assert response.headers["Content-Length"] is None


def test_pipelined_requests_are_answered_in_order(server: DemoServer) -> None:
    received = exchanged(
        server, SLOW_GET + GET + GET[:20], GET[20:-2] + b"Connection: close\r\n\r\n"
    )
    bodies = [WEB.answer(host, "/", {}, 0).body for host in (SLOW, FRONT, FRONT)]
    assert received.count(b"HTTP/1.1 200 OK") == 3
    assert received.index(bodies[0]) < received.index(bodies[1])
    assert received.endswith(bodies[2])


@pytest.mark.parametrize(
    ("part", "other"), [(b"HTTP/1.1", b"HTTP/1.0"), (b"\n\r\n", b"\nConnection: Close\r\n\r\n")]
)
def test_the_connection_is_closed_on_request(server: DemoServer, part: bytes, other: bytes) -> None:
    received = exchanged(server, GET.replace(part, other) + GET)
    assert received.count(b"HTTP/1.1") == 1
    assert b"\r\nConnection: close\r\n" in received


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400),
        (b"GET nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", 405),
        (b"GET /" + b"x" * 20_000, 431),
        (GET[:-2] + b"X: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    ],
)
def test_garbage_gets_one_error_and_closes_the_connection(
    server: DemoServer, garbage: bytes, status: int
) -> None:
    received = exchanged(server, garbage)
    assert received.startswith(f"HTTP/1.1 {status} ".encode())
    assert received.count(b"HTTP/1.1") == 1
    assert server.requests.total() == 0


def test_half_a_request_gets_no_answer(server: DemoServer) -> None:
    with connected(server) as client:
        client.sendall(GET[:-1])
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""


def test_exit_ends_connections_delayed_responses_and_the_thread() -> None:
    before = threading.active_count()
    with ExitStack() as clients:
        with DemoServer(WEB) as server:
            waiting, unheard = (clients.enter_context(connected(server)) for _ in range(2))
            waiting.sendall(GET + SLOW_GET)
            # The server reads both requests at once, so the second response is now delayed.
            assert waiting.recv(1) == b"H"
        assert threading.active_count() == before
        received = b"".join(iter(lambda: waiting.recv(65536), b""))
        assert received.count(b"HTTP/1.1") <= 1
        assert ended(unheard)
        with pytest.raises(ConnectionRefusedError):
            connected(server)


def ended(client: socket.socket) -> bool:
    """Return whether the other side has closed or reset the connection."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True

"""Limits of the HTTP server that all servers of minicrawl share, by raw connections."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from minicrawl.dashboard import http_server
from minicrawl.dashboard.http_server import LimitedServer, listening, network_of
from tests.dashboard.servers import wait_until
from tests.processes import PATIENCE_S

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CLOSE = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
LARGE = 8_000_000
"""Bytes of a response that no buffer of the system takes as a whole."""


class Answers:
    """Application that reads bodies, has a large response, and one that waits for a signal."""

    server: LimitedServer

    def __init__(self) -> None:
        self.paths = list[str]()
        self.waiting = threading.Semaphore(0)
        self.goes_on = threading.Event()
        routes = [Route(path, self._answer, methods=["GET", "POST"]) for path in ("/", "/{path}")]
        self.app = Starlette(routes=routes)

    async def _answer(self, request: Request) -> Response:
        self.paths.append(request.url.path)
        body = await request.body()
        if request.url.path == "/wait":
            self.waiting.release()
            await asyncio.get_running_loop().run_in_executor(None, self.goes_on.wait, PATIENCE_S)
        text = "x" * LARGE if request.url.path == "/large" else f"{len(body)} bytes"
        return PlainTextResponse(text)


@contextmanager
def served(answers: Answers) -> Iterator[int]:
    """Run a server inside the block, and give its port."""
    with listening("127.0.0.1", 0) as listener:
        port = int(listener.getsockname()[1])
        answers.server = server = LimitedServer(answers.app)
        thread = threading.Thread(target=server.run_at, args=(listener,))
        thread.start()
        try:
            yield port
        finally:
            answers.goes_on.set()
            server.should_exit = True
            thread.join()


def opened(port: int, sent: bytes = b"", address: str = "127.0.0.1") -> socket.socket:
    """Connect from an address, and send the beginning of a request."""
    made = socket.create_connection(("127.0.0.1", port), PATIENCE_S, (address, 0))
    made.sendall(sent)
    return made


def rest(connection: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    pieces = list[bytes]()
    try:
        while piece := connection.recv(1 << 20):
            pieces.append(piece)
    except ConnectionError:  # closed while it had something unread
        pass
    return b"".join(pieces)


def answer(port: int, request: bytes = CLOSE, address: str = "127.0.0.1") -> bytes:
    with opened(port, request, address) as connection:
        return rest(connection)


def is_open(connection: socket.socket) -> bool:
    """Return True unless the server has closed the connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        connection.settimeout(PATIENCE_S)


OWED = {
    "nothing sent": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: a\r\nX: ",
    "half a body": POST % 1000 + b"x",
    "a body without need": b"POST /none/at/all HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
    "nothing after a response": GET,
    "half a head after a response": GET + b"GET / HT",
    "a response unread": b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("sent", OWED.values(), ids=OWED)
def test_connections_that_owe_keep_nobody_out(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 8)
    with served(Answers()) as port, ExitStack() as stack:
        for _ in range(4):
            for _ in range(6):
                stack.enter_context(opened(port, sent))
            assert answer(port).endswith(b"0 bytes")


@pytest.mark.slow
@pytest.mark.parametrize("sent", OWED.values(), ids=OWED)
def test_time_to_owe_is_limited(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEAD_S", "BODY_S", "READ_S", "_LINGER_S"):
        monkeypatch.setattr(http_server, name, 0.0)
    with served(Answers()) as port, opened(port, sent) as connection:
        assert b"200" not in rest(connection).partition(b"\r\n")[2]


@pytest.mark.parametrize("piece", [b"", b"X"])
def test_pieces_of_a_request_win_no_time(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_S", 0.5)
    with served(Answers()) as port, opened(port, OWED["half a head"]) as connection:
        while is_open(connection):
            try:
                connection.sendall(piece)
            except ConnectionError:
                break
        assert answer(port).endswith(b"0 bytes")


def test_the_address_with_most_connections_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 12)
    with served(Answers()) as port, ExitStack() as stack:
        first = stack.enter_context(opened(port, b"GET ", "127.0.0.2"))
        many = [stack.enter_context(opened(port, b"GET ")) for _ in range(40)]
        assert answer(port, address="127.0.0.3").endswith(b"0 bytes")
        assert is_open(first)
        assert sum(map(is_open, many)) < 12
        first.sendall(CLOSE.removeprefix(b"GET "))
        assert rest(first).endswith(b"0 bytes")


def test_an_address_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_OF_ADDRESS", 4)
    with served(Answers()) as port, ExitStack() as stack:
        other = [stack.enter_context(opened(port, b"GET ", "127.0.0.2")) for _ in range(3)]
        for _ in range(20):
            stack.enter_context(opened(port, b"GET "))
        assert answer(port).endswith(b"0 bytes")
        assert all(map(is_open, other))


def test_a_connection_that_waits_for_the_server_is_never_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "MOST_OF_ADDRESS", 4)
    answers = Answers()
    with served(answers) as port, ExitStack() as stack:
        request = CLOSE.replace(b"/ ", b"/wait ", 1)
        waiting = [stack.enter_context(opened(port, request)) for _ in range(4)]
        for _ in waiting:
            assert answers.waiting.acquire(timeout=PATIENCE_S)
        for _ in range(8):
            assert answer(port) == b""
        assert answer(port, address="127.0.0.2").endswith(b"0 bytes")
        answers.goes_on.set()
        assert all(rest(one).endswith(b"0 bytes") for one in waiting)


def test_bodies_are_limited_each_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "LONGEST_BODY", 1000)
    monkeypatch.setattr(http_server, "MOST_HELD", 1500)
    answers = Answers()
    with served(answers) as port:
        assert b" 413 " in answer(port, POST % 1001)
        head = POST.replace(b"Host", b"Connection: close\r\nHost")
        for _ in range(3):  # the bytes of an answered request count no more
            assert answer(port, head % 1000 + b"x" * 1000).endswith(b"1000 bytes")
        wait = (
            b"POST /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n"
        )
        with opened(port, wait + b"x" * 1000) as first:
            assert answers.waiting.acquire(timeout=PATIENCE_S)
            assert b" 503 " in answer(port, wait + b"x" * 1000)
            answers.goes_on.set()
            assert rest(first).endswith(b"1000 bytes")


@pytest.mark.slow
def test_unsent_responses_are_limited_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_HELD", LARGE)
    answers = Answers()
    with served(answers) as port, ExitStack() as stack:
        slow = [stack.enter_context(opened(port, OWED["a response unread"])) for _ in range(3)]
        wait_until(lambda: len(answers.paths) == 3, "three requests")
        wait_until(lambda: len(answers.server.server_state.connections) == 1, "two are closed")
        assert sum(len(rest(one)) > LARGE for one in slow) == 1
        assert answer(port).endswith(b"0 bytes")


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


def framed(*headers: bytes, body: bytes = SMUGGLED) -> bytes:
    return b"\r\n".join((b"POST /outer HTTP/1.1", b"Host: a", *headers, b"", body))


AMBIGUOUS: Sequence[bytes] = (
    framed(b"Content-Length: 4", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED),
    framed(b"Transfer-Encoding: chunked", b"Content-Length: 4", body=b"0\r\n\r\n" + SMUGGLED),
    framed(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED),
    framed(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n" + SMUGGLED),
    framed(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + SMUGGLED),
    framed(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + SMUGGLED),
    framed(b"Transfer-Encoding:\x0bchunked", body=b"0\r\n\r\n" + SMUGGLED),
    framed(b"Content-Length: 0", b"Content-Length: 9"),
    framed(b"Content-Length: +0"),
    framed(b"Content-Length: 0x0"),
    framed(b"Content-Length: 0, 9"),
    framed(b"Content-Length : 0"),
    framed(b"Content-Length: -1"),
    framed(b"Content-Length:"),
)


@pytest.mark.parametrize("request_text", AMBIGUOUS)
def test_a_request_of_ambiguous_length_is_refused_with_all_behind_it(request_text: bytes) -> None:
    answers = Answers()
    with served(answers) as port:
        found = answer(port, request_text)
    assert found.split(b" ", 2)[1] in {b"400", b"411", b"501"}
    assert found.count(b"HTTP/1.1 ") == 1
    assert answers.paths == []


def test_pipelined_garbage_ends_the_connection_and_says_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with served(Answers()) as port:
        for garbage in (b"\0" * 100_000, b"\x16\x03\x01" * 9, b"x" * 100_000, b"\r\n" * 9_000):
            found = answer(port, GET + garbage + b"\r\n\r\n")
            assert found.startswith(b"HTTP/1.1 200 ")
            assert found.count(b"HTTP/1.1 ") <= 2
        assert answer(port).endswith(b"0 bytes")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2::3", "2001:db8:1:2::/64"),
        ("", ""),
    ],
)
def test_a_client_is_an_address_or_a_network(address: str, network: str) -> None:
    assert network_of(address) == network


def test_clients_that_owe_do_not_delay_the_end() -> None:
    with ExitStack() as stack, served(Answers()) as port:
        for sent in OWED.values():
            stack.enter_context(opened(port, sent))
        assert answer(port).endswith(b"0 bytes")

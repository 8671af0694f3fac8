"""An HTTP/1.1 server on loopback, in a thread with an event loop of its own.

Law: whatever it sends, a client gets responses in the order of its requests, or an error after
which the connection is closed. Leaving the `with` block ends every connection and the thread.
Only the line and the headers of a request are read: a GET has no body, and methods other than GET
and HEAD are refused. Each server counts visits from 0, so pages that change begin with version 0.
"""

import asyncio
import re
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from threading import Thread
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from minicrawl.demo.pages import DemoResponse, refused

_LONGEST_HEAD: Final = 16_384
_BACKLOG: Final = 1_024
_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (/[!-~]*) HTTP/1\.([01])")
_METHODS: Final = ("GET", "HEAD")
_END_OF_HEAD: Final = b"\r\n\r\n"


class ServedWeb(Protocol):
    """A web that can be served."""

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        """Answer a GET by a visitor who comes after `visits` others."""


class _Request(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]  # by lower-case name
    keeps_alive: bool


class DemoServer:
    """Server of a web, as a context manager; `requests` counts requests by URL."""

    address: str
    """Address of the server, as host:port; known inside the `with` block."""

    def __init__(self, web: ServedWeb) -> None:
        self.requests: Counter[str] = Counter()
        self._web = web

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = Thread(target=self._run, args=(listener,), name="demo web", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _answer(self, request: _Request) -> DemoResponse:
        """Count the visit, and return the web's response."""
        host = request.headers["host"].partition(":")[0].lower()
        url = f"http://{host}{request.target}"
        visits = self.requests[url]
        self.requests[url] = visits + 1
        return self._web.answer(host, request.target, request.headers, visits)

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        open_connections: set[_Connection] = set()
        server = await self._loop.create_server(
            lambda: _Connection(self._answer, open_connections), sock=listener, backlog=_BACKLOG
        )
        async with server:
            await self._stop.wait()
            server.close()
            # A connection that is being accepted is not in the set yet: wait for its task.
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
            for connection in open_connections:
                connection.abort()
            # The transports release their sockets in the next turn of the loop.
            await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """A connection: received bytes without a response yet, and the pending response."""

    def __init__(
        self, answer: Callable[[_Request], DemoResponse], open_connections: set["_Connection"]
    ) -> None:
        self._answer = answer
        self._open_connections = open_connections
        self._received = bytearray()
        self._delayed: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open_connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._open_connections.discard(self)
        if self._delayed:
            self._delayed.cancel()

    def data_received(self, received: bytes) -> None:
        self._received += received
        self._answer_what_is_there()

    def abort(self) -> None:
        self._transport.abort()

    def _answer_what_is_there(self) -> None:
        """Answer received requests until one is delayed or incomplete, or the connection closes."""
        while self._delayed is None and not self._transport.is_closing():
            end = self._received.find(_END_OF_HEAD)
            length = len(self._received) if end < 0 else end
            if length > _LONGEST_HEAD:
                self._refuse(refused(431, "That is too long."))
            elif end < 0:
                return
            else:
                head = self._received[:end].decode("latin-1")
                del self._received[: end + len(_END_OF_HEAD)]
                self._take(head)

    def _take(self, head: str) -> None:
        request = _parsed(head)
        if isinstance(request, DemoResponse):
            self._refuse(request)
            return
        answer = self._answer(request)
        if answer.delay_s:
            loop = asyncio.get_running_loop()
            self._delayed = loop.call_later(answer.delay_s, self._send_late, request, answer)
        else:
            self._send(request, answer)

    def _send_late(self, request: _Request, answer: DemoResponse) -> None:
        self._delayed = None
        self._send(request, answer)
        self._answer_what_is_there()

    def _send(self, request: _Request, answer: DemoResponse) -> None:
        self._transport.write(
            _written(answer, has_body=request.method == "GET", is_last=not request.keeps_alive)
        )
        if not request.keeps_alive:
            self._transport.close()

    def _refuse(self, answer: DemoResponse) -> None:
        """Send an error and close: after a malformed request the next one cannot be found."""
        self._transport.write(_written(answer, has_body=True, is_last=True))
        self._transport.close()


def _parsed(head: str) -> _Request | DemoResponse:
    """Parse a request, or return the response to one that cannot be served."""
    line, *fields = head.split("\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    headers = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
    if match is None or "host" not in headers:
        return refused(400, "This is not a request.")
    method, target, minor_version = match.groups()
    if method not in _METHODS:
        return refused(405, "One can only read here.", Allow=", ".join(_METHODS))
    connection = headers.get("connection", "").lower()
    keeps_alive = minor_version == "1" and connection != "close"
    return _Request(method, target, headers, keeps_alive)


def _written(answer: DemoResponse, *, has_body: bool, is_last: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    if answer.status != HTTPStatus.NOT_MODIFIED:
        lines.append(f"Content-Length: {len(answer.body)}")
    if is_last:
        lines.append("Connection: close")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    return head + answer.body if has_body else head

"""Scripted server on loopback: it sends given bytes and records the requests.

Each request, on whichever connection, gets the next answer; the last answer serves all that follow.
"""

import asyncio
import os
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

import trustme

_TURNS = 5  # of the event loop, which client and server share
_TLS_HELLO = b"\x16"  # first byte
_PATIENCE_S = 60
_ENOUGH_TO_FILL_A_BACKLOG = 4
_DRIPS_EVERY_S = 0.05
_FLOOD_BYTES, _FLOODS_EVERY_S = 4096, 0.002


class Then(Enum):
    KEEP = auto()  # wait for the next request
    CLOSE = auto()
    RESET = auto()
    HOLD = auto()  # send nothing more, keep the connection open
    REPEAT = auto()  # send the last piece again and again
    DRIP = auto()  # repeat slowly
    GARBAGE = auto()  # send bytes below TLS that are no TLS record, and close


class Answer(NamedTuple):
    """Bytes to send: each piece is sent when the one before it has left."""

    pieces: tuple[bytes, ...]
    then: Then = Then.KEEP


def answer(
    body: bytes = b"",
    *,
    status: str = "200 OK",
    headers: Sequence[str] = ("Content-Type: text/html",),
    then: Then = Then.KEEP,
) -> Answer:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return Answer(("\r\n".join(lines).encode() + body,), then)


@dataclass
class Wire:
    answers: Sequence[Answer]
    port: int = 0
    asked: list[bytes] = field(default_factory=list)  # heads of requests
    connections: int = 0
    left: int = 0  # connections that ended
    sent: int = 0  # bytes

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (then := await self._turn(reader, writer)) is Then.KEEP:
                pass
            if then is Then.HOLD:
                await reader.read()
            if then is Then.RESET:
                reset(writer)
            if then is Then.GARBAGE:
                os.write(writer.get_extra_info("socket").fileno(), b"garbage" * 10)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left, as it may
        finally:
            writer.close()
            self.left += 1

    def next(self) -> Answer:
        """Return the answer to the latest request."""
        return self.answers[min(len(self.asked), len(self.answers)) - 1]

    async def until_asked(self, requests: int) -> None:
        """Wait for this number of requests."""
        await self._until(lambda: len(self.asked) >= requests)

    async def until_left(self, connections: int) -> None:
        """Wait until this number of connections ended."""
        await self._until(lambda: self.left >= connections)

    async def _until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while not happened():
                await asyncio.sleep(0)

    async def _turn(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Then:
        self.asked.append(await _request(reader))
        pieces, then = self.next()
        for piece in pieces:
            await self.send(writer, piece)
        while then in (Then.REPEAT, Then.DRIP):
            await self.send(writer, pieces[-1])
            if then is Then.DRIP:
                await asyncio.sleep(_DRIPS_EVERY_S)
            elif len(pieces[-1]) >= _FLOOD_BYTES:  # leave time for other connections
                await asyncio.sleep(_FLOODS_EVERY_S)
        return then

    async def send(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        writer.write(piece)
        await writer.drain()
        self.sent += len(piece)
        for _ in range(_TURNS):  # so that the client reads this piece by itself
            await asyncio.sleep(0)


async def _request(reader: asyncio.StreamReader) -> bytes:
    first = await reader.readexactly(1)
    return first if first == _TLS_HELLO else first + await reader.readuntil(b"\r\n\r\n")


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with a TCP reset."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def wire(
    *answers: Answer,
    tls: ssl.SSLContext | None = None,
    address: str = "127.0.0.1",
    port: int = 0,
) -> AsyncIterator[Wire]:
    """Serve these answers, on a free port unless `port` names one."""
    async with serving(Wire(answers), tls, address, port) as served:
        yield served


@asynccontextmanager
async def serving(
    served: Wire, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Wire]:
    async with listening(served.serve, tls, address, port) as served.port:
        yield served


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    tls: ssl.SSLContext | None = None,
    address: str = "127.0.0.1",
    port: int = 0,
) -> AsyncIterator[int]:
    """Serve each connection with `serve`; yield the port. Connections that remain are cancelled."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        # asyncio would log a cancelled task, and a client that leaves, as errors.
        with suppress(
            asyncio.CancelledError, ConnectionError, ssl.SSLError, asyncio.IncompleteReadError
        ):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve_one, address, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def deaf(address: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Yield a port that accepts no connection and refuses none: its backlog is full."""
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind((address, port))
        full.listen(0)
        for _ in range(_ENOUGH_TO_FILL_A_BACKLOG):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield full.getsockname()[1]


def certified(*names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = trustme.CA()
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client


def _raw(*pieces: bytes, then: Then = Then.CLOSE) -> Answer:
    return Answer(pieces, then)


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

FAULTS = {
    "closed at once": _raw(),
    "reset at once": _raw(then=Then.RESET),
    "closed in the headers": _raw(_HEAD),
    "no HTTP": _raw(b"<html>hello</html>\r\n\r\n"),
    "no HTTP, and no end": _raw(b"<html>hello</html>", then=Then.HOLD),
    "HTTP/2": _raw(b"\0\0\x12\4\0\0\0\0\0"),
    "a status of two digits": _raw(b"HTTP/1.1 99 Odd\r\n\r\n"),
    "two lengths": _raw(_HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    "a header too long": _raw(_HEAD + b"X: " + b"x" * 100_000 + b"\r\n\r\n"),
    "a header without end": _raw(_HEAD + b"X: ", b"x" * 10_000, then=Then.REPEAT),
    "too many headers": _raw(_HEAD + b"X: y\r\n" * 12_000 + b"\r\n"),
    "headers without end": _raw(_HEAD, b"X: y\r\n" * 20, then=Then.REPEAT),
    "headers too long in all": _raw(_HEAD + (b"X: " + b"x" * 10_000 + b"\r\n") * 7 + b"\r\n"),
    "a reason too long": _raw(b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n"),
    "silence": _raw(then=Then.HOLD),
    "silence in the headers": _raw(_HEAD, then=Then.HOLD),
    "silence in the body": _raw(_HEAD + b"Content-Length: 9\r\n\r\nabc", then=Then.HOLD),
    "blank lines without end": _raw(b"\r\n" * 1000, then=Then.REPEAT),
    "nothing but 100 Continue": _raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 9, then=Then.REPEAT),
    "a length and no body": _raw(_HEAD + b"Content-Length: 9\r\n\r\n"),
    "a body too short": _raw(_HEAD + b"Content-Length: 9\r\n\r\n", b"abc"),
    "a body reset": _raw(_HEAD + b"Content-Length: 9\r\n\r\n", b"abc", then=Then.RESET),
    "chunks that end early": _raw(_CHUNKED, b"3\r\nabc\r\n9\r\nd"),
    "chunks and no body": _raw(_CHUNKED),
    "chunks that are none": _raw(_CHUNKED, b"zz\r\n"),
    "a chunk's size without end": _raw(_CHUNKED, b"3;" + b"x" * 1000, then=Then.REPEAT),
    "trailers without end": _raw(_CHUNKED, b"3\r\nabc\r\n0\r\n", b"X: y\r\n", then=Then.REPEAT),
    "chunks that turn to junk": _raw(_CHUNKED, b"3\r\nabc\r\n", b"zz\r\n"),
    "a body without end": _raw(_HEAD + b"\r\n", b"x" * 10_000, then=Then.REPEAT),
}
"""Faults of servers, each as an answer to serve."""

ODD_PAGE = b"<html>odd"
_OK = b"HTTP/1.1 200 OK\r\n"
_TYPE = b"Content-Type: text/html\r\n"
_LENGTH = b"Content-Length: 9\r\n"

ODDITIES = {
    "lines without carriage returns": _raw(
        b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 9\n\n" + ODD_PAGE
    ),
    "blank lines first": _raw(b"\r\n\r\n" + _HEAD + _LENGTH + b"\r\n" + ODD_PAGE),
    "an old version": _raw(b"HTTP/1.0 200 OK\r\n" + _TYPE + b"\r\n" + ODD_PAGE),
    "a version to come": _raw(b"HTTP/2 200\r\n" + _TYPE + _LENGTH + b"\r\n" + ODD_PAGE),
    "no reason": _raw(b"HTTP/1.1 200\r\n" + _TYPE + _LENGTH + b"\r\n" + ODD_PAGE),
    "a header without a colon": _raw(_HEAD + b"hello\r\n" + _LENGTH + b"\r\n" + ODD_PAGE),
    "a header on two lines": _raw(
        _OK + b"Content-Type:\r\n text/html\r\n" + _LENGTH + b"\r\n" + ODD_PAGE
    ),
    "the same length twice": _raw(_HEAD + _LENGTH * 2 + b"\r\n" + ODD_PAGE),
    "a length that is no number": _raw(_HEAD + b"Content-Length: x\r\n\r\n" + ODD_PAGE),
    "neither length nor chunks": _raw(_HEAD + b"\r\n", ODD_PAGE),
    "more than its length": _raw(_HEAD + _LENGTH + b"\r\n" + ODD_PAGE + b"more"),
    "a length beside chunks": _raw(
        _HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"9\r\n" + ODD_PAGE + b"\r\n0\r\n\r\n",
    ),
    "chunks with extensions": _raw(_CHUNKED, b"9 ;a=b\r\n" + ODD_PAGE + b"\r\n0;c\r\n\r\n"),
    "chunks in pieces": _raw(_CHUNKED, b"9", b"\r", b"\n<htm", b"l>odd", b"\r\n0\r\n\r", b"\n"),
    "trailers": _raw(_CHUNKED, b"9\r\n" + ODD_PAGE + b"\r\n0\r\nX: y\r\n\r\n"),
    "answers before the answer": _raw(
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + _HEAD,
        _LENGTH + b"\r\n" + ODD_PAGE,
    ),
}
"""Oddities of servers that browsers forgive: each is a page with the body `ODD_PAGE`."""

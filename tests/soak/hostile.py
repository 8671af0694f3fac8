"""Hosts that misbehave, on a socket of their own: of all that they answer every third is a fault.

Law: the faults of a host come in turn, so that each is met again and again, and good answers in
between keep the host from being given up. Their pages are few, and always the same.
"""

import asyncio
import socket
import struct
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from threading import Thread
from types import TracebackType
from typing import Final, Self

DOMAIN: Final = "hostile.example"
PAGES: Final = 10  # of a host
_FAULT_EVERY: Final = 3
_MB: Final = 1_000_000
_DRIP_S: Final = 0.2
_LONGEST_HEAD: Final = 65_536

Writer = asyncio.StreamWriter
Fault = Callable[[Writer], Awaitable[None]]


def hosts(count: int) -> list[str]:
    """Their names."""
    return [f"host{number}.{DOMAIN}" for number in range(count)]


# ---------------------------------------------------------------- faults


def _says(answer: bytes) -> Fault:
    """Only this, and then it hangs up."""

    async def say(writer: Writer) -> None:
        writer.write(answer)
        await writer.drain()

    return say


def _head(status: str, *fields: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode()


def _page(body: bytes, *fields: str) -> bytes:
    return (
        _head("200 OK", "Content-Type: text/html", f"Content-Length: {len(body)}", *fields) + body
    )


async def _hang(_writer: Writer) -> None:
    await asyncio.Event().wait()


async def _drip(writer: Writer) -> None:
    writer.write(_head("200 OK", "Content-Type: text/html", f"Content-Length: {_MB}"))
    while not writer.is_closing():
        writer.write(b"<")
        await asyncio.sleep(_DRIP_S)


def _endless(beginning: bytes, piece: bytes) -> Fault:
    async def go_on(writer: Writer) -> None:
        writer.write(beginning)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()

    return go_on


async def _reset(writer: Writer) -> None:
    writer.write(_head("200 OK", "Content-Type: text/html", "Content-Length: 100"))
    await writer.drain()
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


def _bomb() -> bytes:
    press = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    return b"".join([*(press.compress(bytes(_MB)) for _ in range(100)), press.flush()])


_CHUNKED: Final = _head("200 OK", "Content-Type: text/html", "Transfer-Encoding: chunked")

FAULTS: Final[Sequence[Fault]] = (
    _hang,
    _drip,
    _reset,
    _endless(_CHUNKED, b"4000\r\n" + b"<a href=/1>" * 0x600 + b"\r\n"),
    _endless(_head("200 OK")[:-2], b"X-Nothing: nothing at all\r\n" * 100),
    _says(b""),
    _says(Random(2003).randbytes(10_000)),
    _says(_page(b"<a href=/1>half of it")[:-4]),
    _says(_CHUNKED + b"zz\r\nno size\r\n"),
    _says(_head("503 Service Unavailable", "Content-Length: 0")),
    _says(_head("429 Too Many Requests", "Content-Length: 0", "Retry-After: 1")),
    _says(_head("302 Found", "Location: /1", "Content-Length: 0")),
    _says(_head("302 Found", "Location: /2", "Content-Length: 0")),
    _says(_head("999 Yes")),
    _says(_page(_bomb(), "Content-Encoding: gzip")),
    _says(_page(b"no gzip", "Content-Encoding: gzip")),
    _says(_page(b"<div>" * 600_000 + b"<a href=/1>")),
    _says(_page(b"<a href='" * 330_000)),
    _says(_page(b"".join(b"<a href=/1?utm_source=%d>" % n for n in range(20_000)))),
    _says(_page(b"\0\xff<a href=/1&#" + b"9" * 6_000 + b">")),
)


# ---------------------------------------------------------------- the server


class HostileServer:
    """Serves as many hostile hosts as are asked for while it is entered."""

    address: str
    """Where it listens, as host:port; known once it is entered."""

    def __init__(self) -> None:
        self.faults = 0
        self._answers: Counter[str] = Counter()
        self._connections: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = Thread(target=self._run, args=(listener,), name="hostile web", daemon=True)
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

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._begin, sock=listener, limit=_LONGEST_HEAD)
        await self._stop.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0)  # the transports let go of their sockets at the next turn

    def _begin(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        """A task that is ours: one of the server's own would complain of being cancelled."""
        connection = self._loop.create_task(self._converse(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        """Until the first fault, or until the visitor has gone, whom no fault outlives."""
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                fault = await self._fault(reader, writer)
                await _while_there(reader, fault(writer))
        finally:
            writer.close()

    async def _fault(self, reader: asyncio.StreamReader, writer: Writer) -> Fault:
        """The first one, behind good answers."""
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            host, path = head.partition("Host: ")[2].split("\r\n", 1)[0], head.split(" ", 2)[1]
            number = self._answers[host]
            self._answers[host] += 1
            turn, place = divmod(number, _FAULT_EVERY)
            if place == _FAULT_EVERY - 1:
                self.faults += 1
                return FAULTS[turn % len(FAULTS)]
            writer.write(_good_answer(host, path))


async def _while_there(reader: asyncio.StreamReader, answer: Awaitable[None]) -> None:
    """A visitor who says more, or leaves, wants no more."""
    tasks = [asyncio.ensure_future(answer), asyncio.ensure_future(reader.read(1))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _good_answer(host: str, path: str) -> bytes:
    if path == "/robots.txt":
        return _head("404 Not Found", "Content-Length: 0")
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(PAGES))
    return _page(f"<title>{host}{path}</title>{links}".encode())

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
from collections.abc import Mapping
from http import HTTPStatus
from threading import Thread
from typing import Final, Protocol, Self

from minicrawl.demo.pages import DemoResponse, refused

_LONGEST_HEAD: Final = 16_384
_BACKLOG: Final = 1_024
_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (/[!-~]*) HTTP/1\.([01])")
_METHODS: Final = ("GET", "HEAD")


class ServedWeb(Protocol):
    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        """Answer a GET by a visitor who comes after `visits` others."""


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

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(
            self._converse, sock=listener, backlog=_BACKLOG, limit=_LONGEST_HEAD
        )
        await self._stop.wait()
        server.close()
        # A connection that is being accepted begins its task when that of accepting it has ended.
        while connections := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in connections:
                connection.cancel()
            await asyncio.wait(connections)
        # The transports release their sockets in the next turn of the loop.
        await asyncio.sleep(0)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection, until one of them is the last."""
        try:
            while await self._exchange(reader, writer):
                await writer.drain()
            writer.close()
            await writer.wait_closed()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()  # the client has left
        except asyncio.CancelledError:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request, and return whether another may follow."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.LimitOverrunError:
            return _refuse(writer, refused(431, "That is too long."))
        line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
        named = (field.partition(":") for field in fields)
        headers = {name.lower(): value.strip() for name, _, value in named}
        request = _REQUEST_LINE.fullmatch(line)
        if request is None or "host" not in headers:
            return _refuse(writer, refused(400, "This is not a request."))
        method, target, minor_version = request.groups()
        if method not in _METHODS:
            allowed = ", ".join(_METHODS)
            return _refuse(writer, refused(405, "One can only read here.", Allow=allowed))
        host = headers["host"].partition(":")[0].lower()
        url = f"http://{host}{target}"
        visits = self.requests[url]
        self.requests[url] = visits + 1
        answer = self._web.answer(host, target, headers, visits)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        keeps_alive = minor_version == "1" and headers.get("connection", "").lower() != "close"
        body = answer.body if method == "GET" else b""
        writer.write(_head(answer, is_last=not keeps_alive) + body)
        return keeps_alive


def _refuse(writer: asyncio.StreamWriter, answer: DemoResponse) -> bool:
    """Send an error, the last response: after a malformed request the next cannot be found."""
    writer.write(_head(answer, is_last=True) + answer.body)
    return False


def _head(answer: DemoResponse, *, is_last: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    if answer.status != HTTPStatus.NOT_MODIFIED:
        lines.append(f"Content-Length: {len(answer.body)}")
    if is_last:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")

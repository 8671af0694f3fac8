"""A little web that remembers who asked for what, and when.

Law: a page's answer is a function of the town's seed and the page's number; the first page leads to
all others. Besides pages there are redirects, dead ends, and pages that robots.txt forbids. Pages
show pictures, and every other page is compressed.
"""

import asyncio
import gzip
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from threading import Thread
from typing import NamedTuple

from minicrawl.model import State

FORBIDDEN = "/private/"
PICTURES = "/pictures/"
_PICTURES_A_HOST = 60
_ROBOTS = f"User-agent: *\nDisallow: {FORBIDDEN}\n".encode()
_LEAVES = {3: State.NOT_FOUND, 5: State.MOVED, 8: State.ROBOTS}
_CHILDREN = 3
_OTHERS = 6
_END_OF_HEAD = b"\r\n\r\n"


class Asked(NamedTuple):
    """A request."""

    at: float
    url: str


class Town:
    """`pages` pages on some hosts."""

    def __init__(self, pages: int, hosts: int, seed: int) -> None:
        self._pages, self._hosts, self._seed = pages, hosts, seed

    @property
    def first(self) -> str:
        """Where a crawl begins."""
        return self._url(0)

    @property
    def states(self) -> dict[str, State]:
        """All that a crawl comes to know, and what becomes of it."""
        return {self._url(page): self._state(page) for page in range(self._pages)}

    def answer(self, path: str) -> bytes:
        """What the host of this page says."""
        if path == "/robots.txt":
            return _message("200 OK", _ROBOTS, "text/plain")
        if path.startswith(PICTURES):
            return _message("200 OK", b"GIF89a" + path.encode(), "image/gif")
        page = int(path.rpartition("/")[2])
        match self._state(page):
            case State.NOT_FOUND:
                return _message("404 Not Found", b"")
            case State.MOVED:
                target = self._url(Random(page + self._seed).randrange(page))
                return _message("301 Moved Permanently", b"", location=target)
            case _ if page % 2:
                coded = gzip.compress(self._sheet(page), mtime=0)
                return _message("200 OK", coded, **{"content-encoding": "gzip"})
            case _:
                return _message("200 OK", self._sheet(page))

    @property
    def pictures(self) -> set[str]:
        """All that the pages show."""
        pages = [page for page in range(self._pages) if self._state(page) is State.FETCHED]
        return {
            f"{self._host(page)}{PICTURES}{page // self._hosts % _PICTURES_A_HOST}"
            for page in pages
        }

    def _state(self, page: int) -> State:
        return State.FETCHED if self._children(page) else _LEAVES.get(page % 19, State.FETCHED)

    def _url(self, page: int) -> str:
        folder = FORBIDDEN if self._state(page) is State.ROBOTS else "/"
        return f"{self._host(page)}{folder}{page}"

    def _host(self, page: int) -> str:
        return f"http://www.town{page % self._hosts}.example"

    def _sheet(self, page: int) -> bytes:
        rng = Random(page * 1_000_003 + self._seed)
        others = [rng.randrange(self._pages) for _ in range(_OTHERS)]
        links = "\n".join(
            f'<p>{rng.random()} <a href="{self._url(link)}">{link}</a>'
            for link in (*self._children(page), *others)
        )
        picture = f"<img src={PICTURES}{page // self._hosts % _PICTURES_A_HOST}>"
        return f"<title>Number {page}</title>{links}{picture}".encode()

    def _children(self, page: int) -> range:
        first = page * _CHILDREN + 1
        return range(min(first, self._pages), min(first + _CHILDREN, self._pages))


def _message(status: str, body: bytes, kind: str = "text/html", **headers: str) -> bytes:
    fields = {"content-type": kind, "content-length": str(len(body))} | headers
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


# ---------------------------------------------------------------- on a socket


class Server:
    """Answers for the town of the moment; `asked` is its log."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.town = Town(1, 1, 0)
        self.asked: list[Asked] = []

    def answer(self, head: bytes) -> bytes:
        line, *fields = head.decode("latin-1").split("\r\n")
        path = line.split(" ")[1]
        host = next(field[6:] for field in fields if field.lower().startswith("host: "))
        self.asked.append(Asked(time.time(), f"http://{host}{path}"))
        return self.town.answer(path)


class _Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self._server = server
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, received: bytes) -> None:
        *heads, self._received = (self._received + received).split(_END_OF_HEAD)
        for head in heads:
            answer = self._server.answer(head)
            if PICTURES.encode() in head:  # so that many kills come between them
                asyncio.get_running_loop().call_later(0.01, self._transport.write, answer)
            else:
                self._transport.write(answer)


@contextmanager
def serving() -> Iterator[Server]:
    """A server in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = Server(f"127.0.0.1:{listener.getsockname()[1]}")
    loop = asyncio.new_event_loop()
    thread = Thread(target=_serve, args=(loop, listener, server), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _serve(loop: asyncio.AbstractEventLoop, listener: socket.socket, server: Server) -> None:
    async def forever() -> None:
        serving = await loop.create_server(lambda: _Connection(server), sock=listener)
        async with serving:
            await serving.serve_forever()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        serving = runner.get_loop().create_task(forever())
        try:
            loop.run_forever()
        finally:
            serving.cancel()

"""Hostile clients of a server, and the process that plays one: `... PORT NAME`, until it is killed.

It prints a line when its first connections are there.
"""

import random
import resource
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import quote

LONGEST_BODY = 4 * 1024 * 1024
ROUND_S = 1.0
_OPENED_AT_ONCE = 200
_HOST = b"Host: 127.0.0.1\r\n"
_HALF = b"GET / HTTP/1.1\r\n" + _HOST + b"X: "
_PIPELINE = b"".join(
    b"GET %b HTTP/1.1\r\n%b\r\n" % (path, _HOST)
    for path in (b"/", b"/page/page.js", b"/style.css", b"/search.json?q=page", b"/mcp")
)
_TYPOS = " ".join(f"mispel{a}{b}ing" for a in "bcdfghj" for b in "aeiou")
_SIGNS = " ".join(chr(0x4E00 + number * 37) for number in range(60))


def _post(path: bytes, size: int) -> bytes:
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n" % (path, _HOST, size)


def _query(text: str) -> bytes:
    return b"GET /search.json?q=%b HTTP/1.1\r\n%b\r\n" % (quote(text).encode(), _HOST)


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Connections of one hostile client, which opens each one anew when it was closed."""

    connections: int
    first: bytes = b""
    """What each connection sends at once."""
    each_round: bytes = b""
    """What it sends every second."""
    addresses: int = 1
    reads: bool = True
    closes: bool = False
    """Close each connection as soon as everything is sent."""


_GARBAGE = random.Random(1).randbytes(100_000)
CATALOGUE = {
    "half heads": Crowd(connections=1400, first=_HALF, each_round=b"x"),
    "half heads from 250 addresses": Crowd(connections=1400, first=_HALF, addresses=250),
    "10,000 idle connections": Crowd(connections=10_000),
    "idle after a response": Crowd(connections=1400, first=_PIPELINE[: _PIPELINE.index(b"GET", 3)]),
    "half bodies": Crowd(connections=500, first=_post(b"/indexnow", LONGEST_BODY), each_round=b"x"),
    "unfinished bodies of 4 MiB": Crowd(
        connections=250, first=_post(b"/indexnow", LONGEST_BODY) + b"x" * (LONGEST_BODY - 9)
    ),
    "responses that are not read": Crowd(connections=500, first=_PIPELINE * 100, reads=False),
    "pipelined requests": Crowd(connections=20, first=_PIPELINE * 100, each_round=_PIPELINE),
    "pipelined garbage": Crowd(connections=50, first=_PIPELINE + _GARBAGE, each_round=_GARBAGE),
    "connections closed at once": Crowd(connections=200, closes=True),
    "requests closed at once": Crowd(connections=50, first=_PIPELINE, closes=True),
    "dear queries": Crowd(connections=6, first=_query(_TYPOS), each_round=_query(_SIGNS)),
}


class _Connection:
    def __init__(self, crowd: Crowd, port: int, address: str) -> None:
        self.crowd = crowd
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if not crowd.reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.bind((address, 0))
        with suppress(BlockingIOError):
            self.socket.connect(("127.0.0.1", port))
        self.unsent = memoryview(crowd.first)

    @property
    def events(self) -> int:
        writes = bool(self.unsent) or self.crowd.closes
        return selectors.EVENT_READ * self.crowd.reads | selectors.EVENT_WRITE * writes

    def go_on(self, events: int) -> bool:
        """Send and receive; False if the connection is over."""
        try:
            if events & selectors.EVENT_WRITE:
                self.unsent = self.unsent[self.socket.send(self.unsent[: 1 << 16]) :]
                if self.crowd.closes and not self.unsent:
                    return False
            return not events & selectors.EVENT_READ or self.socket.recv(1 << 16) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


class _Attack:
    """Connections of a crowd to a port."""

    def __init__(self, port: int, crowd: Crowd) -> None:
        self._port, self._crowd = port, crowd
        self._selector = selectors.DefaultSelector()
        self._opened = dict[_Connection, None]()  # in order
        self._addresses = _addresses(crowd.addresses)

    def go_on(self) -> None:
        """Open what is missing, and do what the connections wait for."""
        for _ in range(min(self._crowd.connections - len(self._opened), _OPENED_AT_ONCE)):
            connection = _Connection(self._crowd, self._port, next(self._addresses))
            self._opened[connection] = None
            self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)
        for key, events in self._selector.select(0.02):
            connection = key.data
            if not connection.go_on(events):
                self._close(connection)
            elif connection.events != key.events:
                self._watch(connection)

    def begin_round(self) -> None:
        """Send more, and give up some connections that would not see their end."""
        for connection in tuple(self._opened):
            if self._crowd.each_round and not connection.unsent:
                connection.unsent = memoryview(self._crowd.each_round)
                self._watch(connection)
        if not self._crowd.reads:
            for connection in tuple(self._opened)[: len(self._opened) // 5]:
                self._close(connection)

    def _watch(self, connection: _Connection) -> None:
        with suppress(KeyError):
            self._selector.unregister(connection.socket)
        if connection.events:
            self._selector.register(connection.socket, connection.events, connection)

    def _close(self, connection: _Connection) -> None:
        with suppress(KeyError):
            self._selector.unregister(connection.socket)
        del self._opened[connection]
        connection.socket.close()


def _addresses(count: int) -> Iterator[str]:
    return cycle([f"127.0.{number // 250 + 1}.{number % 250 + 1}" for number in range(count)])


def main() -> None:
    """Play one hostile client."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    attack, rounds = _Attack(int(sys.argv[1]), CATALOGUE[sys.argv[2]]), 0
    began = time.monotonic()
    while True:
        attack.go_on()
        time.sleep(0.01)  # the server shall have a processor, even on a small machine
        if time.monotonic() - began > ROUND_S * (rounds + 1):
            rounds += 1
            attack.begin_round()
            if rounds == 1:
                sys.stdout.write("ready\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()

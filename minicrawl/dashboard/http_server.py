"""HTTP server of the dashboard, the metrics, the search page and MCP, with limits for strangers.

Law: whatever clients send, leave unsent or leave unread, a client that sends a whole request is
answered meanwhile. A client *owes* the rest of a request, or to read the response; how long it may
owe is limited, and so is what it makes the server hold:

    connections     512, or half of the file descriptors if there are fewer; 128 for an address
    head            10 s, from the connection or the last response
    body            30 s, 4 MiB; 32 MiB in all requests together
    response        20 s until half of the unsent rest has been read; 32 MiB unsent in all

If there is no room for a new connection, those that have owed for longest are closed, of the
address that has most; connections that wait for the server are never closed. To refuse the new
connection was rejected: half requests of one client would keep out all others until their time is
over. Limits for an address alone were rejected: behind a proxy, all clients have one address.

A request with Transfer-Encoding is refused (411): no client needs it here, and proxies and servers
that disagree about the end of a body take parts of one request for another.

uvicorn limits idle connections and requests at a time. It accepts connections until there is no
descriptor left, and waits without limit for the rest of a head or body, and for readers.
"""

import asyncio
import os
import re
import resource
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EADDRINUSE
from functools import partial
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Literal, cast

import h11
import uvicorn
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from minicrawl.errors import UsageError

LONGEST_HEAD = 16 * 1024
_END_OF_HEAD = re.compile(rb"\n\r?\n")

Owing = tuple[str, float, Callable[[], None]]
"""Address of a connection, since when its client owes something, and a function that closes it."""


class Lobby:
    """Connections that have not sent a whole head of a request, in the order of their arrival.

    A connection of the server proper costs ten times the processor time to open and to close. So
    a flood of half requests leaves time for clients that send whole ones.

    `admit` gets the socket, address and first bytes of each one whose head is whole, or too long;
    `forget` gets the address of each one that is closed.
    """

    def __init__(
        self, admit: Callable[[socket.socket, str, bytes], None], forget: Callable[[str], None]
    ) -> None:
        self._admit, self._forget = admit, forget
        self._newcomers = dict[socket.socket, tuple[str, float, bytearray]]()
        """Address, time of arrival, and first bytes."""

    def add(self, accepted: socket.socket, address: str) -> None:
        """Wait for the head of a new connection."""
        loop = asyncio.get_running_loop()
        accepted.setblocking(False)
        self._newcomers[accepted] = address, loop.time(), bytearray()
        loop.add_reader(accepted, self._read, accepted)

    def owing(self) -> Iterator[Owing]:
        for accepted, (address, since, _) in self._newcomers.items():
            yield address, since, partial(self._close, accepted)

    def close_older(self, since: float) -> None:
        for _, came_at, close in tuple(self.owing()):
            if came_at > since:
                return
            close()

    def _read(self, accepted: socket.socket) -> None:
        address, _, head = self._newcomers[accepted]
        try:
            piece = accepted.recv(LONGEST_HEAD)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            piece = b""
        if not piece:
            self._close(accepted)
            return
        head.extend(piece)
        if len(head) > LONGEST_HEAD or _END_OF_HEAD.search(head):
            self._leave(accepted)
            self._admit(accepted, address, bytes(head))

    def _leave(self, accepted: socket.socket) -> str:
        asyncio.get_running_loop().remove_reader(accepted)
        return self._newcomers.pop(accepted)[0]

    def _close(self, accepted: socket.socket) -> None:
        address = self._leave(accepted)
        accepted.close()
        self._forget(address)


LOOPBACK = "127.0.0.1"
USUAL_PORT = 8420

MOST_CONNECTIONS, MOST_OF_ADDRESS = 512, 128
HEAD_S, BODY_S, READ_S = 10.0, 30.0, 20.0
LONGEST_BODY = 4 * 1024 * 1024
MOST_HELD = 32 * 1024 * 1024
"""Bytes of all request bodies together, and of all unsent responses together."""
_LINGER_S = 2.0
"""Time for the rest of a body that is not needed: a client that still sends would lose the answer.
"""
_MOST_NEEDLESS = 256 * 1024
_PREFIX_OF_CLIENT = 64
"""Bits of an IPv6 address that identify a client, which usually has a whole network."""
_SHARE_OF_ROOM = 16
"""Part of the connections that is closed at a time: to find it takes time."""
_ACCEPTED_AT_ONCE = 64
_TICKS_A_LOOK = 5
_BACKLOG = 1024
_NO_DESCRIPTOR_S = 0.05
_GRACE_S = 1


def network_of(address: str) -> str:
    """Return what identifies the client at an address: itself, or the /64 network of IPv6."""
    with suppress(ValueError):
        parsed = ip_address(address)
        if isinstance(parsed, IPv6Address):
            parsed = parsed.ipv4_mapped or parsed
        if isinstance(parsed, IPv6Address):
            return str(ip_network((int(parsed), _PREFIX_OF_CLIENT), strict=False))
        return str(parsed)
    return address


class LimitedBodies:
    """ASGI middleware that limits the bodies of requests, each and all together."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if refusal := _refusal(Headers(scope=scope)):
            await refusal(scope, receive, send)
            return
        held = 0

        async def receive_counted() -> Message:
            nonlocal held
            message = await receive()
            size = len(message.get("body", b""))
            held += size
            self._held += size
            if self._held > MOST_HELD:
                raise HTTPException(503, "too many bodies at once: ask again in a moment")
            return message

        try:
            await self._app(scope, receive_counted, send)
        finally:
            self._held -= held


def _refusal(headers: Headers) -> JSONResponse | None:
    if "transfer-encoding" in headers:
        status, why = 411, "send a Content-Length instead of Transfer-Encoding"
    elif int(headers.get("content-length", "0")) > LONGEST_BODY:
        status, why = 413, f"too long: at most {LONGEST_BODY:,} bytes"
    else:
        return None
    return JSONResponse({"error": why}, status, {"Connection": "close"})


class _Connection(H11Protocol):
    """Connection that knows since when its client owes something."""

    def __init__(self, server: "LimitedServer", address: str, head: bytes) -> None:
        super().__init__(server.config, server.server_state, server.lifespan.state)
        self.address, self._head = address, head
        self.since = self.loop.time()
        self._server = server
        self._is_counted = True
        self._state: tuple[object, ...] = ()
        self._unsent = self._needless = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.data_received(self._head)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._leave()

    def abort(self) -> None:
        """Close the connection. It makes room at once, not when the loop has closed the socket."""
        self.transport.abort()
        self._leave()

    def _leave(self) -> None:
        if self._is_counted:
            self._is_counted = False
            self._server.forget(self.address)

    def data_received(self, data: bytes) -> None:
        is_answered = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        self._needless = self._needless + len(data) if is_answered else 0
        if self._needless > _MOST_NEEDLESS:
            self.abort()
            return
        super().data_received(data)
        if self.conn.their_state is h11.DONE:
            # Requests sent ahead would be answered one after the other, and keep the loop busy; no
            # browser or proxy sends any. A client sends them again if its connection is closed.
            self.cycle.keep_alive &= not self.conn.trailing_data[0]

    @property
    def unsent(self) -> int:
        """Bytes of responses that the client has not read yet."""
        return self.transport.get_write_buffer_size()

    def limit_s(self) -> float | None:
        """Return how long the client may owe what it owes; None if it waits for the server."""
        if not self._is_counted:
            return None
        if self.unsent:
            return READ_S
        theirs, ours = self.conn.their_state, self.conn.our_state
        if theirs is h11.IDLE:
            return HEAD_S
        if theirs is h11.SEND_BODY:
            return BODY_S if ours in (h11.IDLE, h11.SEND_RESPONSE) else _LINGER_S
        return None

    def note_progress(self, now: float) -> None:
        """Start the time anew if the client has paid what it owed: a head, a body, a half."""
        state = (self.cycle, self.conn.their_state, self.unsent > 0)
        if state != self._state or 2 * self.unsent < self._unsent:
            if self._state:
                self.since = now
            self._state, self._unsent = state, self.unsent


class LimitedServer(uvicorn.Server):
    def __init__(self, app: ASGIApp, lifespan: Literal["on", "off"] = "off") -> None:
        config = uvicorn.Config(
            LimitedBodies(app),
            log_config=None,
            log_level="error",  # each request that is not HTTP would be a line
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan=lifespan,
            ws="none",
            http="h11",
            timeout_graceful_shutdown=_GRACE_S,
        )
        super().__init__(config)
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if descriptors == resource.RLIM_INFINITY:
            descriptors = 2 * MOST_CONNECTIONS
        self._most = max(min(MOST_CONNECTIONS, descriptors // 2), 2)
        self._at_once = max(min(self._most, MOST_OF_ADDRESS) // _SHARE_OF_ROOM, 1)
        self._by_address = Counter[str]()
        self._lobby = Lobby(self._admit, self.forget)
        self._beginning = set[asyncio.Task[Any]]()
        self._listeners = list[socket.socket]()

    def run_at(self, listener: socket.socket) -> None:
        """Serve until the process is told to end."""
        asyncio.run(self.serve(sockets=[listener]))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections; asyncio's servers would do so without a limit."""
        await super().startup(sockets=[])
        self._listeners = sockets or []
        for listener in self._listeners:
            listener.setblocking(False)
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    async def on_tick(self, counter: int) -> bool:
        """Close connections that owe for too long; uvicorn calls this ten times a second."""
        if not counter % _TICKS_A_LOOK:
            self._close_late()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and wait for no client that owes something."""
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
        for _, _, close in self._owing():
            close()
        await super().shutdown(sockets)

    def forget(self, address: str) -> None:
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _connections(self) -> list[_Connection]:
        return cast(list[_Connection], [*self.server_state.connections])

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, peer = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no descriptor is left, whoever has them
                self._close_some(self._owing())
                # Accept nothing for a moment: the listener would stay readable, and keep the loop
                # busy.
                loop = asyncio.get_running_loop()
                loop.remove_reader(listener)
                loop.call_later(_NO_DESCRIPTOR_S, self._go_on, listener)
                return
            address = network_of(str(peer[0]))
            if self._has_room(address):
                self._by_address[address] += 1
                self._lobby.add(accepted, address)
            else:
                accepted.close()

    def _go_on(self, listener: socket.socket) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _admit(self, accepted: socket.socket, address: str, head: bytes) -> None:
        loop = asyncio.get_running_loop()
        protocol = partial(_Connection, self, address, head)
        task = loop.create_task(loop.connect_accepted_socket(protocol, accepted))
        self._beginning.add(task)
        task.add_done_callback(partial(self._begun, accepted, address))

    def _begun(self, accepted: socket.socket, address: str, task: asyncio.Task[Any]) -> None:
        self._beginning.discard(task)
        if task.cancelled() or task.exception() is not None:  # it was reset before it began
            accepted.close()
            self.forget(address)

    def _has_room(self, address: str) -> bool:
        """Make room for a connection of this address if need be; False if that is impossible."""
        if self._by_address[address] >= MOST_OF_ADDRESS:
            return self._close_some([debtor for debtor in self._owing() if debtor[0] == address])
        return self._by_address.total() < self._most or self._close_some(self._owing())

    def _owing(self) -> list[Owing]:
        now = asyncio.get_running_loop().time()
        owing = list(self._lobby.owing())
        for connection in self._connections():
            connection.note_progress(now)
            if connection.limit_s() is not None:
                owing.append((connection.address, connection.since, connection.abort))
        return owing

    def _close_some(self, owing: list[Owing]) -> bool:
        """Close those that have owed for longest, of the address that has most of these."""
        owing.sort(key=lambda debtor: (-self._by_address[debtor[0]], debtor[1]))
        for _, _, close in owing[: self._at_once]:
            close()
        return bool(owing)

    def _close_late(self) -> None:
        now, connections = asyncio.get_running_loop().time(), self._connections()
        self._lobby.close_older(now - HEAD_S)
        for connection in connections:
            connection.note_progress(now)
            limit_s = connection.limit_s()
            if limit_s is not None and now - connection.since > limit_s:
                connection.abort()
        unsent = sum(peer.unsent for peer in connections)
        for connection in sorted(connections, key=lambda peer: -peer.unsent):
            if unsent <= MOST_HELD:
                break
            unsent -= connection.unsent
            connection.abort()


@contextmanager
def listening(host: str, given_port: int | None) -> Iterator[socket.socket]:
    """Listen at a port. Without one, listen at the default, or at any if that is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The usual port first, so that a bookmark and a tunnel keep working.
    ports = [USUAL_PORT, 0] if given_port is None else [given_port]
    for port in ports:
        try:
            listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        except OSError as error:
            if error.errno == EADDRINUSE and port != ports[-1]:
                continue
            if error.errno == EADDRINUSE:
                raise UsageError(f"port {port} is in use: choose another one") from None
            why = os.strerror(error.errno) if error.errno else str(error)  # its own text is long
            raise UsageError(
                f"cannot listen at {host}: {why.lower()}; choose another address or port"
            ) from None
        with listener:
            yield listener
        return

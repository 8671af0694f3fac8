"""Handshakes: a connection through a proxy, by HTTP CONNECT or SOCKS5 (RFC 1928, RFC 1929).

Laws: replies of proxies are read within limits. Errors of the proxy itself, such as a required
login, are proxy faults. Errors that it reports of the host, such as no answer, are faults of the
host. No message contains a login.
"""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from copy import copy
from http import HTTPStatus
from typing import TypeVar

from socksio import socks5

from minicrawl.fetch.client.connection import MOST_WAITING_BYTES
from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.http1 import ResponseParser
from minicrawl.fetch.proxy.proxies import Proxy
from minicrawl.fetch.tls.layer import TlsOpener, TlsServer, break_cycles
from minicrawl.states import State

_MOST_HEAD_BYTES = 64 * 1024
_SUCCESS, _REDIRECT, _SERVER_ERROR = 2, 3, 5  # hundreds: the class of a status
REFUSED_LOGINS = (HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, HTTPStatus.UNAUTHORIZED)
"""Statuses that can only come from the proxy. tinyproxy answers 401 to a wrong login."""
_MOST_LOGIN_BYTES = 255  # maximum length of a user name or password (RFC 1929)


P = TypeVar("P", bound=asyncio.BaseProtocol)


class ByteStream(asyncio.Protocol):
    """Connection that is read and written in bytes.

    Laws: while more than 256 KiB wait here to be read, nothing more is received. The memory of a
    connection is freed when it ends.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None  # None before and after the connection
        self._received = bytearray()
        self._error: Exception | None = None
        self._progress: asyncio.Future[None] | None = None

    async def read(self, max_bytes: int) -> bytes:
        """Return some bytes; empty at the end."""
        while not self._received:
            if self._error is not None:
                raise copy(self._error)  # a traceback would keep the callers' local variables alive
            if self._transport is None:
                return b""
            self._progress = asyncio.get_running_loop().create_future()
            try:
                await self._progress
            finally:
                self._progress = None
        piece = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if self._transport is not None and len(self._received) <= MOST_WAITING_BYTES:
            self._transport.resume_reading()
        return piece

    def write(self, data: bytes) -> None:
        """Write a request. What the kernel does not accept at once is buffered: requests are small.

        Writes after an orderly end by the server are dropped, so that the caller still reads the
        response that it sent before, and then the end.
        """
        if self._transport is not None:
            self._transport.write(data)
        elif self._error is not None:
            raise copy(self._error)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def hand_over(
        self, make: Callable[[], P], opener: TlsOpener, server: TlsServer | None
    ) -> P:
        """Give the connection to the protocol that `make` returns, under TLS if there is a server.

        Unread bytes are an error: the server sent them before it received any request.
        """
        transport, self._transport = self._transport, None
        if transport is None or self._received:
            if transport is not None:
                transport.abort()
            raise self._error or ConnectionResetError("the connection ended before the request")
        if server is not None:
            return await opener.begin_over(transport, make, server)
        protocol = make()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._transport is not None and len(self._received) > MOST_WAITING_BYTES:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            break_cycles(self._transport)
        self._transport = None
        self._error = exc and exc.with_traceback(None)
        self._wake()

    def _wake(self) -> None:
        if self._progress and not self._progress.done():
            self._progress.set_result(None)


def login_header(proxy: Proxy) -> list[tuple[bytes, bytes]]:
    """Return the header with the login for an HTTP proxy; empty without a login."""
    if not proxy.user:
        return []
    login = b64encode(f"{proxy.user}:{proxy.password}".encode())
    return [(b"Proxy-Authorization", b"Basic " + login)]


def fault_of(proxy: Proxy, why: str) -> Fault:
    return Fault(State.PROXY, f"proxy {proxy}: {why}")


class LoginFault(Fault):
    """Error of a proxy that demands a login, or refuses that of the settings."""


def wants_login(proxy: Proxy) -> LoginFault:
    """Return the error of a proxy that answers 407."""
    why = "refuses the login" if proxy.user else "demands a login"
    return LoginFault(State.PROXY, f"proxy {proxy}: {why}")


async def tunnel(stream: ByteStream, proxy: Proxy, host: str, port: int) -> None:
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {name} HTTP/1.1\r\nHost: {name}".encode()]
    lines += [b"%b: %b" % header for header in login_header(proxy)]
    stream.write(b"\r\n".join([*lines, b"\r\n"]))
    status, surplus = await answer_of(stream, proxy)
    if status in REFUSED_LOGINS:
        raise wants_login(proxy)
    if status // 100 == _SERVER_ERROR:
        raise Fault(State.CONNECT, f"proxy {proxy} cannot reach it: {status}")
    if status // 100 != _SUCCESS:
        hint = "; perhaps you must log in to your network" if status // 100 == _REDIRECT else ""
        raise fault_of(proxy, f"does not connect to {name}: {status}{hint}")
    # No request was sent to the host yet: these bytes would be taken for its response.
    if surplus:
        raise fault_of(proxy, "sends bytes after its answer")


async def answer_of(stream: ByteStream, proxy: Proxy) -> tuple[int, bytes]:
    """Return the status of an HTTP proxy's response, and the bytes received after its head."""
    parser = ResponseParser(_MOST_HEAD_BYTES)
    surplus = b""
    while parser.head is None:
        piece = await stream.read(_MOST_HEAD_BYTES)
        if not piece:
            raise fault_of(proxy, "closed the connection")
        surplus = parser.feed(piece)
        if parser.fault and parser.head is None:
            raise fault_of(proxy, f"does not speak HTTP: {parser.fault}")
    return parser.head.status, surplus


_NO_LOGIN = socks5.SOCKS5AuthMethod.NO_AUTH_REQUIRED
_LOGIN = socks5.SOCKS5AuthMethod.USERNAME_PASSWORD
_OF_THE_HOST = {
    1: "it cannot be reached, or has no address",  # from a proxy that has accepted the login
    3: "its network cannot be reached",
    4: "it cannot be reached",
    5: "it refuses the connection",
    6: "it is too far away",
}
"""SOCKS replies about the host; others are about the proxy itself."""
_OF_THE_PROXY = {
    2: "does not allow the connection",
    7: "does not support CONNECT",
    8: "does not support this type of address",
}
_VERSION = 5
_ADDRESS_BYTES = {1: 4, 4: 16}  # by address type
_NAME = 3  # address type whose first byte is its length


async def greet(stream: ByteStream, proxy: Proxy) -> None:
    methods = [_NO_LOGIN, _LOGIN] if proxy.user else [_NO_LOGIN]
    stream.write(socks5.SOCKS5AuthMethodsRequest(methods).dumps())
    version, method = await _exactly(stream, proxy, 2)
    if version != _VERSION:
        raise fault_of(proxy, "does not speak SOCKS5")
    if bytes([method]) == _LOGIN.value and proxy.user:
        user, password = proxy.user.encode(), proxy.password.encode()
        if max(len(user), len(password)) > _MOST_LOGIN_BYTES:
            why = f"proxy {proxy}: a login has at most {_MOST_LOGIN_BYTES} bytes"
            raise LoginFault(State.PROXY, why)
        stream.write(socks5.SOCKS5UsernamePasswordRequest(user, password).dumps())
        _, refused = await _exactly(stream, proxy, 2)
        if refused:
            raise wants_login(proxy)
    elif bytes([method]) != _NO_LOGIN.value:
        raise wants_login(proxy)


async def connect(stream: ByteStream, proxy: Proxy, host: str, port: int) -> None:
    to = socks5.SOCKS5CommandRequest.from_address(socks5.SOCKS5Command.CONNECT, (host, port))
    stream.write(to.dumps())
    version, reply, _, kind = await _exactly(stream, proxy, 4)
    if version != _VERSION:
        raise fault_of(proxy, "does not speak SOCKS5")
    if reply in _OF_THE_HOST:
        raise Fault(State.CONNECT, f"proxy {proxy}: {_OF_THE_HOST[reply]}")
    if reply:
        raise fault_of(proxy, _OF_THE_PROXY.get(reply, f"answers with {reply}"))
    length = (await _exactly(stream, proxy, 1))[0] if kind == _NAME else _ADDRESS_BYTES.get(kind)
    if length is None:
        raise fault_of(proxy, "does not speak SOCKS5")
    await _exactly(stream, proxy, length + 2)  # the bound address and port, which are not needed


async def _exactly(stream: ByteStream, proxy: Proxy, size: int) -> bytes:
    received = b""
    while len(received) < size:
        piece = await stream.read(size - len(received))
        if not piece:
            raise fault_of(proxy, "closed the connection")
        received += piece
    return received

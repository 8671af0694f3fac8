"""How a connection through a proxy begins: CONNECT of HTTP, or SOCKS5 (RFC 1928, RFC 1929).

Laws: what a proxy says is read within limits. What it says of itself, such as a login that it
wants, is a fault of the proxy. What it says of the host, such as that it does not answer, is a
fault of the host. No message has a login in it.
"""

from base64 import b64encode
from http import HTTPStatus
from typing import Protocol

from socksio import socks5

from minicrawl.fetch.connection.http1 import ResponseParser
from minicrawl.fetch.proxy.proxies import Proxy
from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind

_MOST_HEAD_BYTES = 64 * 1024
_SUCCESS, _SERVER_ERROR = 2, 5  # hundred
REFUSED_LOGINS = (HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, HTTPStatus.UNAUTHORIZED)
"""Where no host can have answered. tinyproxy says 401 of a login that is wrong."""
_MOST_LOGIN_BYTES = 255  # of a name or a password (RFC 1929)


class ByteStream(Protocol):
    """What a handshake needs of a connection."""

    async def read(self, max_bytes: int) -> bytes:
        """Some bytes; none at the end."""
        ...

    async def write(self, buffer: bytes) -> None:
        """Send all of it."""
        ...


def login_header(proxy: Proxy) -> list[tuple[bytes, bytes]]:
    """The header by which an HTTP proxy gets its login; none without one."""
    if not proxy.user:
        return []
    login = b64encode(f"{proxy.user}:{proxy.password}".encode())
    return [(b"Proxy-Authorization", b"Basic " + login)]


def fault_of(proxy: Proxy, why: str) -> Fault:
    """A fault of the proxy itself."""
    return Fault(FailureKind.PROXY, f"proxy {proxy}: {why}")


def wants_login(proxy: Proxy) -> Fault:
    """The fault of a proxy that answers with 407."""
    return fault_of(proxy, "refuses the login" if proxy.user else "demands a login")


async def tunnel(stream: ByteStream, proxy: Proxy, host: str, port: int) -> None:
    """Have an HTTP proxy connect to a host; the stream then leads there."""
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {name} HTTP/1.1\r\nHost: {name}".encode()]
    lines += [b"%b: %b" % header for header in login_header(proxy)]
    await stream.write(b"\r\n".join([*lines, b"\r\n"]))
    parser = ResponseParser(_MOST_HEAD_BYTES)
    rest = b""
    while parser.head is None:
        piece = await stream.read(_MOST_HEAD_BYTES)
        if not piece:
            raise fault_of(proxy, "hung up")
        rest = parser.feed(piece)
        if parser.fault and parser.head is None:
            raise fault_of(proxy, str(parser.fault))
    status = parser.head.status
    if status in REFUSED_LOGINS:
        raise wants_login(proxy)
    if status // 100 == _SERVER_ERROR:
        raise Fault(FailureKind.CONNECT, f"proxy {proxy} cannot reach it: {status}")
    if status // 100 != _SUCCESS:
        raise fault_of(proxy, f"does not connect to {name}: {status}")
    if rest:
        raise fault_of(proxy, "says more than it was asked")


# ---------------------------------------------------------------- SOCKS5

_NO_LOGIN = socks5.SOCKS5AuthMethod.NO_AUTH_REQUIRED
_LOGIN = socks5.SOCKS5AuthMethod.USERNAME_PASSWORD
_OF_THE_HOST = {
    1: "it cannot be reached, or has no address",  # of a proxy that has let us in
    3: "its network cannot be reached",
    4: "it cannot be reached",
    5: "it refuses the connection",
    6: "it is too far away",
}
"""What a proxy says of the host; all else is about the proxy itself."""
_OF_THE_PROXY = {
    2: "does not connect to it",
    7: "knows no CONNECT",
    8: "knows no such address",
}
_VERSION = 5
_ADDRESS_BYTES = {1: 4, 4: 16}  # by the type of an address
_NAME = 3  # the type whose first byte is its length


async def greet(stream: ByteStream, proxy: Proxy) -> None:
    """Tell a SOCKS proxy who we are."""
    methods = [_NO_LOGIN, _LOGIN] if proxy.user else [_NO_LOGIN]
    await stream.write(socks5.SOCKS5AuthMethodsRequest(methods).dumps())
    version, method = await _exactly(stream, proxy, 2)
    if version != _VERSION:
        raise fault_of(proxy, "does not speak SOCKS5")
    if bytes([method]) == _LOGIN.value and proxy.user:
        await _log_in(stream, proxy)
    elif bytes([method]) != _NO_LOGIN.value:
        raise wants_login(proxy)


async def _log_in(stream: ByteStream, proxy: Proxy) -> None:
    user, password = proxy.user.encode(), proxy.password.encode()
    if max(len(user), len(password)) > _MOST_LOGIN_BYTES:
        raise fault_of(proxy, f"a login has at most {_MOST_LOGIN_BYTES} bytes")
    await stream.write(socks5.SOCKS5UsernamePasswordRequest(user, password).dumps())
    _, refused = await _exactly(stream, proxy, 2)
    if refused:
        raise wants_login(proxy)


async def connect(stream: ByteStream, proxy: Proxy, host: str, port: int) -> None:
    """Have a SOCKS proxy connect to a host; the stream then leads there."""
    to = socks5.SOCKS5CommandRequest.from_address(socks5.SOCKS5Command.CONNECT, (host, port))
    await stream.write(to.dumps())
    version, reply, _, kind = await _exactly(stream, proxy, 4)
    if version != _VERSION:
        raise fault_of(proxy, "does not speak SOCKS5")
    if reply in _OF_THE_HOST:
        raise Fault(FailureKind.CONNECT, f"proxy {proxy}: {_OF_THE_HOST[reply]}")
    if reply:
        raise fault_of(proxy, _OF_THE_PROXY.get(reply, f"answers with {reply}"))
    length = (await _exactly(stream, proxy, 1))[0] if kind == _NAME else _ADDRESS_BYTES.get(kind)
    if length is None:
        raise fault_of(proxy, "does not speak SOCKS5")
    await _exactly(stream, proxy, length + 2)  # the address that it uses, and the port


async def _exactly(stream: ByteStream, proxy: Proxy, size: int) -> bytes:
    """So many bytes; what comes after them is left."""
    found = b""
    while len(found) < size:
        piece = await stream.read(size - len(found))
        if not piece:
            raise fault_of(proxy, "hung up")
        found += piece
    return found

"""Proxies: which ones there are, which of them a host has, and how to reach a host through one.

proxies      what names a proxy, and which hosts have which
naming       where proxies are named: settings, files, the environment
handshakes   how a connection through a proxy begins
checks       finds out before the first request whether proxies can work
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from socksio import socks5

from minicrawl.config import Network as NetworkSettings
from minicrawl.config.parts import ENVIRONMENT
from minicrawl.config.values import BYPASS, PROXY, InvalidValue, hidden_login
from minicrawl.errors import UsageError
from minicrawl.fetch.http1 import ResponseParser
from minicrawl.fetch.targets import Origin
from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind

# ================================================================ naming
#
# Where proxies are named: in settings, in files that settings name, and in the environment.
#
# HTTP_PROXY, HTTPS_PROXY, ALL_PROXY   the proxy for pages of http, of https, of both; in small
#                                      letters as well, which come first
# NO_PROXY                             hosts that are asked without a proxy, separated by commas
#
# Law: a message never shows a login. What the environment names is not for hosts of this machine.

_VARIABLES = {"http=": "http_proxy", "https=": "https_proxy", "": "all_proxy"}
_NO_PROXY = "no_proxy"
_OF_THIS_MACHINE = ("localhost", "127.0.0.0/8", "::1")
_COMMENT = "#"
_SHOWN = 5
"""Hosts without a proxy."""


def with_known_proxies(network: NetworkSettings, environ: Mapping[str, str]) -> NetworkSettings:
    """The same settings with all proxies by their URLs, and all hosts without one by name."""
    proxies = tuple(_proxies(network.proxy, environ))
    if not proxies:
        return replace(network, proxy=(), no_proxy=())
    bypass = tuple(_bypass(network.no_proxy, environ))
    if ENVIRONMENT in network.proxy:
        bypass += _OF_THIS_MACHINE
    return replace(network, proxy=proxies, no_proxy=bypass)


def names_of_proxies(network: NetworkSettings, environ: Mapping[str, str]) -> str:
    """The settings and variables that name the proxies of these settings."""
    origins: list[str] = []
    for text in network.proxy:
        if text == ENVIRONMENT:
            origins += [_written(name, environ)[0] for name, _ in _of_environment(environ)]
        elif "--proxy" not in origins:
            origins.append("--proxy")
    return ", ".join(origins)


def hosts_without_proxy(network: NetworkSettings, environ: Mapping[str, str]) -> str:
    """The hosts that these settings and variables except from all proxies, and what names them."""
    hosts = tuple(_bypass(network.no_proxy, environ))
    if not hosts:
        return ""
    variable, named = _written(_NO_PROXY, environ)
    names = f" ({variable})" if ENVIRONMENT in network.no_proxy and named else ""
    more = f" and {len(hosts) - _SHOWN:,} more" if len(hosts) > _SHOWN else ""
    return f"without a proxy: {', '.join(hosts[:_SHOWN])}{more}{names}"


def _proxies(texts: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[str]:
    for text in texts:
        if text == ENVIRONMENT:
            yield from (url for _, url in _of_environment(environ))
        elif text.startswith("@"):
            yield from _in_file(Path(text[1:]))
        else:
            yield text


def _of_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that count, with their proxies."""
    specific = [name for name in ("http_proxy", "https_proxy") if _written(name, environ)[1]]
    for prefix, name in _VARIABLES.items():
        written, url = _written(name, environ)
        if not url:
            continue
        if "://" not in url:
            url = f"http://{url}"
        url = _read(url, written)
        if prefix:
            yield name, prefix + url
        elif not specific:
            yield name, url
        elif len(specific) == 1:  # of the scheme that has none of its own
            yield name, ("https=" if specific == ["http_proxy"] else "http=") + url


def _written(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    for spelled in (name, name.upper()):
        if url := environ.get(spelled, "").strip():
            return spelled, url
    return name.upper(), ""


def _in_file(file: Path) -> Iterator[str]:
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"--proxy @{file}: {why}") from None
    found = [
        _read(text, f"--proxy @{file}:{number}")
        for number, line in enumerate(lines, 1)
        if (text := line.strip()) and not text.startswith(_COMMENT)
    ]
    if not found:
        raise UsageError(f"--proxy @{file}: holds no proxy")
    yield from found


def _read(url: str, place: str) -> str:
    try:
        return str(PROXY.read(url))
    except InvalidValue as unfit:
        raise UsageError(f"{place}={hidden_login(url)}: {unfit.wanted}") from None


def _bypass(texts: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[str]:
    for text in texts:
        if text != ENVIRONMENT:
            yield text
            continue
        name, value = _written(_NO_PROXY, environ)
        for host in value.replace(",", " ").split():
            try:
                yield str(BYPASS.read(host))
            except InvalidValue as unfit:
                raise UsageError(f"{name}={host}: {unfit.wanted}") from None


# ================================================================ proxies
#
# Proxies, and which of them a host is asked through.
#
# bypass       hosts that are asked without a proxy
# to resolve   a proxy of socks5 is given an address that we have judged; all others are given
#         names,
#              which they resolve by themselves
#
# Law: a host has always the same proxy while that one works, in every process; another one takes
# its place while it does not.

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_SCHEMES = ("http", "https")

Network = IPv4Network | IPv6Network


class Proxy(NamedTuple):
    """One proxy; without a login, `user` is empty. It is shown without its login."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def is_socks(self) -> bool:
        """Whether it speaks SOCKS, and not HTTP."""
        return self.scheme.startswith("socks")

    @property
    def resolves_names(self) -> bool:
        """Whether it is given names, and not addresses."""
        return self.scheme != "socks5"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return str(self)


class NamedProxy(NamedTuple):
    """A proxy for pages of one scheme, or of both if `scheme` is empty."""

    scheme: str
    proxy: Proxy


def parse_proxy(text: str) -> NamedProxy:
    """`[http=|https=]URL`; the settings have checked it."""
    is_for_one = text.startswith(("http=", "https="))
    scheme, _, url = text.partition("=") if is_for_one else ("", "", text)
    parts = urlsplit(url)
    return NamedProxy(
        scheme,
        Proxy(
            parts.scheme,
            parts.hostname or "",
            parts.port or _PORTS[parts.scheme],
            unquote(parts.username or ""),
            unquote(parts.password or ""),
        ),
    )


class ProxyRoutes:
    """The proxies of all hosts."""

    def __init__(self, proxies: Iterable[str], bypass: Iterable[str]) -> None:
        named = [parse_proxy(text) for text in proxies]
        self._of_scheme = {
            scheme: tuple(one.proxy for one in named if one.scheme in ("", scheme))
            for scheme in _SCHEMES
        }
        self._bypasses = [_bypass_proxies(text) for text in bypass]

    @property
    def proxies(self) -> tuple[Proxy, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys(it for some in self._of_scheme.values() for it in some))

    def proxies_of(self, origin: Origin) -> tuple[Proxy, ...]:
        """The proxies for this host, its own first; none if it is asked without one."""
        proxies = self._of_scheme["https" if origin.is_tls else "http"]
        if not proxies or any(matches(origin) for matches in self._bypasses):
            return ()
        if len(proxies) == 1:
            return proxies
        return tuple(sorted(proxies, key=lambda proxy: _distance(origin.host, proxy)))

    def are_names_resolved_for(self, origin: Origin) -> bool:
        """Whether the proxies of this host resolve its name."""
        return any(proxy.resolves_names for proxy in self.proxies_of(origin))


def _distance(host: str, proxy: Proxy) -> bytes:
    """Orders the proxies for a host: a proxy that is taken out moves no host but its own."""
    return blake2b(f"{host} {proxy}".encode(), digest_size=8).digest()


# ---------------------------------------------------------------- hosts without a proxy


def _bypass_proxies(text: str) -> Callable[[Origin], bool]:
    """A host, a domain, an address or a network, perhaps with a port; or all."""
    if text == "*":
        return lambda _: True
    if (network := _network(text)) is not None:
        return lambda origin: _is_in(origin.host, network)
    name, port = _split(text)
    name = name.lower().strip("[]").removeprefix("*").lstrip(".").rstrip(".")

    def matches(origin: Origin) -> bool:
        host = origin.host.rstrip(".")
        is_named = host == name or host.endswith(f".{name}")
        return is_named and port in (None, origin.port)

    return matches


def _split(text: str) -> tuple[str, int | None]:
    name, colon, port = text.rpartition(":")
    return (name, int(port)) if colon and port.isdigit() else (text, None)


def _network(text: str) -> Network | None:
    try:
        return ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return None


def _is_in(host: str, network: Network) -> bool:
    try:
        return ip_address(host) in network
    except ValueError:
        return False


def as_lines(proxies: Sequence[Proxy]) -> str:
    """The proxies in one line, without their logins."""
    return ", ".join(map(str, proxies))


# ================================================================ handshakes
#
# How a connection through a proxy begins: CONNECT of HTTP, or SOCKS5 (RFC 1928, RFC 1929).
#
# Laws: what a proxy says is read within limits. What it says of itself, such as a login that it
# wants, is a fault of the proxy. What it says of the host, such as that it does not answer, is a
# fault of the host. No message has a login in it.

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

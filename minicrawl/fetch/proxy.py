"""Proxies: where they are configured, which ones a host uses, and connections through them.

naming       configuration: settings, files, the environment
proxies      the proxies of a host
handshakes   make a proxy connect to a host
dialing      opens connections through the proxies of a host
checks       look for broken proxies before the first request
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from socksio import socks5

from minicrawl.config import Network as NetworkSettings
from minicrawl.config.values import BYPASS, ENVIRONMENT, PROXY, InvalidValue, hidden_login
from minicrawl.errors import UsageError
from minicrawl.fetch.connection import ByteStream, Connector, DirectDialer, TlsFor, Way
from minicrawl.fetch.http import (
    Fault,
    Origin,
    ResponseParser,
    TransportRequest,
    described,
    request_bytes,
)
from minicrawl.fetch.resolver import (
    Located,
    Lookup,
    Resolver,
    ResolveRules,
    lookup_of,
    stand_in,
    unresolved,
)
from minicrawl.fetch.tls import TlsContexts, TlsServer
from minicrawl.model import Failed, FailureKind, Refused

P = TypeVar("P", bound=asyncio.BaseProtocol)

# ================================================================ naming
#
# Configuration of proxies: settings, files that settings name, and the environment.
#
# HTTP_PROXY, HTTPS_PROXY, ALL_PROXY   proxy for http pages, https pages, both; lower-case names are
#                                      read too and take precedence
# NO_PROXY                             comma-separated hosts that are reached without a proxy
#
# Laws: a message never shows a login. Proxies from the environment are not used to reach this
# machine.

_VARIABLES = {"http=": "http_proxy", "https=": "https_proxy", "": "all_proxy"}
_NO_PROXY = "no_proxy"
_OF_THIS_MACHINE = ("localhost", "127.0.0.0/8", "::1")
_COMMENT = "#"
_SHOWN = 5
"""Hosts without a proxy that a message lists."""


def with_known_proxies(network: NetworkSettings, environ: Mapping[str, str]) -> NetworkSettings:
    """Return the settings with all proxies as URLs and all hosts without a proxy by name."""
    proxies = tuple(_proxies(network.proxy, environ))
    if not proxies:
        return replace(network, proxy=(), no_proxy=())
    bypass = tuple(_bypass(network.no_proxy, environ))
    if ENVIRONMENT in network.proxy:
        bypass += _OF_THIS_MACHINE
    return replace(network, proxy=proxies, no_proxy=bypass)


def names_of_proxies(network: NetworkSettings, environ: Mapping[str, str]) -> str:
    """Return the names of the settings and variables that configure the proxies."""
    origins: list[str] = []
    for text in network.proxy:
        if text == ENVIRONMENT:
            origins += [_written(name, environ)[0] for name, _ in _of_environment(environ)]
        elif "--proxy" not in origins:
            origins.append("--proxy")
    return ", ".join(origins)


def hosts_without_proxy(network: NetworkSettings, environ: Mapping[str, str]) -> str:
    """Return a message that lists the hosts reached without a proxy, or ""."""
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
    """Yield the variables in effect, with their proxies."""
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
        elif len(specific) == 1:  # ALL_PROXY then serves the scheme without a proxy of its own
            yield name, ("https=" if specific == ["http_proxy"] else "http=") + url


def _written(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the spelling of a variable that is in effect, and its value, or "" if unset."""
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
# Which proxies a host is reached through.
#
# bypass       hosts that are reached without a proxy
# to resolve   a socks5 proxy is given an address that the resolver checked; other proxies are given
#              names, which they resolve themselves
#
# Law: in every process, a host always uses the same proxy while that proxy works, and otherwise
# another.

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_SCHEMES = ("http", "https")

Network = IPv4Network | IPv6Network


class Proxy(NamedTuple):
    """One proxy; `user` is empty without a login. `str` and `repr` omit the login."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def is_socks(self) -> bool:
        """True if it speaks SOCKS rather than HTTP."""
        return self.scheme.startswith("socks")

    @property
    def resolves_names(self) -> bool:
        """True if it is given names rather than addresses."""
        return self.scheme != "socks5"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return str(self)


class NamedProxy(NamedTuple):
    """Proxy for pages of one scheme, or of both if `scheme` is empty."""

    scheme: str
    proxy: Proxy


def parse_proxy(text: str) -> NamedProxy:
    """Parse `[http=|https=]URL`, which the settings have validated."""
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
    """Assignment of hosts to proxies."""

    def __init__(self, proxies: Iterable[str], bypass: Iterable[str]) -> None:
        named = [parse_proxy(text) for text in proxies]
        self._of_scheme = {
            scheme: tuple(one.proxy for one in named if one.scheme in ("", scheme))
            for scheme in _SCHEMES
        }
        self._bypasses = [_bypass_test(text) for text in bypass]

    @property
    def proxies(self) -> tuple[Proxy, ...]:
        """Distinct proxies of all hosts."""
        return tuple(dict.fromkeys(it for some in self._of_scheme.values() for it in some))

    def proxies_of(self, origin: Origin) -> tuple[Proxy, ...]:
        """Return the proxies for an origin, preferred first; empty if it needs none."""
        proxies = self._of_scheme["https" if origin.is_tls else "http"]
        if not proxies or any(matches(origin) for matches in self._bypasses):
            return ()
        if len(proxies) == 1:
            return proxies
        return tuple(sorted(proxies, key=lambda proxy: _distance(origin.host, proxy)))

    def are_names_resolved_for(self, origin: Origin) -> bool:
        """Return True if a proxy of this origin resolves its name."""
        return any(proxy.resolves_names for proxy in self.proxies_of(origin))


def _distance(host: str, proxy: Proxy) -> bytes:
    """Return the sort key of a proxy for a host (rendezvous hashing).

    If a proxy is removed, only its own hosts move to other proxies.
    """
    return blake2b(f"{host} {proxy}".encode(), digest_size=8).digest()


# ---------------------------------------------------------------- hosts without a proxy


def _bypass_test(text: str) -> Callable[[Origin], bool]:
    """Return a test for a host, domain, address or network, with an optional port, or `*`."""
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
    """Return the proxies as one line, without logins."""
    return ", ".join(map(str, proxies))


# ================================================================ handshakes
#
# Handshakes: a connection through a proxy, by HTTP CONNECT or SOCKS5 (RFC 1928, RFC 1929).
#
# Laws: replies of proxies are read within limits. Errors of the proxy itself, such as a required
# login, are proxy faults. Errors that it reports of the host, such as no answer, are faults of the
# host. No message contains a login.

_MOST_HEAD_BYTES = 64 * 1024
_SUCCESS, _SERVER_ERROR = 2, 5  # hundreds: the class of a status
_REFUSED_LOGINS = (HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, HTTPStatus.UNAUTHORIZED)
"""Statuses that can only come from the proxy. tinyproxy answers 401 to a wrong login."""
_MOST_LOGIN_BYTES = 255  # maximum length of a user name or password (RFC 1929)


def login_header(proxy: Proxy) -> list[tuple[bytes, bytes]]:
    """Return the header with the login for an HTTP proxy; empty without a login."""
    if not proxy.user:
        return []
    login = b64encode(f"{proxy.user}:{proxy.password}".encode())
    return [(b"Proxy-Authorization", b"Basic " + login)]


def fault_of(proxy: Proxy, why: str) -> Fault:
    """Return a Fault of the proxy itself."""
    return Fault(FailureKind.PROXY, f"proxy {proxy}: {why}")


class LoginFault(Fault):
    """Error of a proxy that demands a login, or refuses that of the settings."""


def wants_login(proxy: Proxy) -> LoginFault:
    """Return the error of a proxy that answers 407."""
    why = "refuses the login" if proxy.user else "demands a login"
    return LoginFault(FailureKind.PROXY, f"proxy {proxy}: {why}")


async def tunnel(stream: ByteStream, proxy: Proxy, host: str, port: int) -> None:
    """Make an HTTP proxy connect to a host; the stream then leads there."""
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {name} HTTP/1.1\r\nHost: {name}".encode()]
    lines += [b"%b: %b" % header for header in login_header(proxy)]
    stream.write(b"\r\n".join([*lines, b"\r\n"]))
    status, rest = await _answer_of(stream, proxy)
    if status in _REFUSED_LOGINS:
        raise wants_login(proxy)
    if status // 100 == _SERVER_ERROR:
        raise Fault(FailureKind.CONNECT, f"proxy {proxy} cannot reach it: {status}")
    if status // 100 != _SUCCESS:
        raise fault_of(proxy, f"does not connect to {name}: {status}")
    # No request was sent to the host yet: these bytes would be taken for its response.
    if rest:
        raise fault_of(proxy, "sends bytes after its answer")


async def _answer_of(stream: ByteStream, proxy: Proxy) -> tuple[int, bytes]:
    """Return the status of an HTTP proxy's response, and the bytes received after its head."""
    parser = ResponseParser(_MOST_HEAD_BYTES)
    rest = b""
    while parser.head is None:
        piece = await stream.read(_MOST_HEAD_BYTES)
        if not piece:
            raise fault_of(proxy, "closed the connection")
        rest = parser.feed(piece)
        if parser.fault and parser.head is None:
            raise fault_of(proxy, f"does not speak HTTP: {parser.fault}")
    return parser.head.status, rest


# ---------------------------------------------------------------- SOCKS5

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
    """Negotiate the authentication with a SOCKS proxy."""
    methods = [_NO_LOGIN, _LOGIN] if proxy.user else [_NO_LOGIN]
    stream.write(socks5.SOCKS5AuthMethodsRequest(methods).dumps())
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
        why = f"proxy {proxy}: a login has at most {_MOST_LOGIN_BYTES} bytes"
        raise LoginFault(FailureKind.PROXY, why)
    stream.write(socks5.SOCKS5UsernamePasswordRequest(user, password).dumps())
    _, refused = await _exactly(stream, proxy, 2)
    if refused:
        raise wants_login(proxy)


async def connect(stream: ByteStream, proxy: Proxy, host: str, port: int) -> None:
    """Make a SOCKS proxy connect to a host; the stream then leads there."""
    to = socks5.SOCKS5CommandRequest.from_address(socks5.SOCKS5Command.CONNECT, (host, port))
    stream.write(to.dumps())
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
    await _exactly(stream, proxy, length + 2)  # the bound address and port, which are not needed


async def _exactly(stream: ByteStream, proxy: Proxy, size: int) -> bytes:
    """Read exactly `size` bytes."""
    found = b""
    while len(found) < size:
        piece = await stream.read(size - len(found))
        if not piece:
            raise fault_of(proxy, "closed the connection")
        found += piece
    return found


# ================================================================ dialing
#
# Dialing: opens connections through the proxies of a host, or directly to a host without one.
#
# way   an address, or a proxy with the host that it connects to; a connection serves one way only
#
# Laws: without a proxy, or through a socks5 proxy, a connection goes to an address that the request
# names. Other proxies are given the host name, unless a `--resolve` rule maps it to an address. A
# proxy that failed recently is tried after all others. If a proxy reports that the host is down, no
# other proxy is asked.

_MOST_ADDRESSES = 4
_ANY_PORT = 80  # any allowed port: proxies may listen where web servers do not
_REACH_S = 10.0
"""Time limit to connect and log in to a proxy. Proxies are near; only hosts behind are slow."""


class ProxyWay(NamedTuple):
    """Proxy, and the host that it connects to.

    If `forwards`, the proxy reads and forwards requests, and no tunnel to the host is opened.
    """

    proxy: Proxy
    host: str
    port: int
    forwards: bool


class ProxyDialer:
    """Dialer through the proxies of `network`, which `with_known_proxies` has made URLs.

    `direct` serves hosts without a proxy; its TLS contexts are also used for hosts behind proxies.
    `tls_of_proxies` is for https proxies.
    """

    def __init__(
        self, network: NetworkSettings, direct: DirectDialer, lookup: Lookup, tls_of_proxies: TlsFor
    ) -> None:
        proxies = [text for text in network.proxy if text != ENVIRONMENT]
        self.routes = ProxyRoutes(proxies, network.no_proxy)
        self._direct, self._tls_of_proxies = direct, tls_of_proxies
        # The user named the proxies, so they may be anywhere.
        self._resolver = Resolver(lookup, rules=ResolveRules(()), allow_private=True)
        self._failed: dict[Proxy, int] = {}  # sequence number of the last failure, by proxy
        self._failures = count(1)

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        if proxies := self._in_order(request):
            return [way for proxy in proxies for way in _ways(proxy, request)]
        return self._direct.ways(request)

    async def dial(
        self, request: TransportRequest, make: Callable[[str | None], P]
    ) -> tuple[Way, P]:
        proxies, failed = self._in_order(request), None
        for proxy in proxies:
            try:
                found = await self._dial_through(proxy, request, make)
            except Fault as fault:
                # The host failed, not the proxy: the other proxies would meet the same host.
                if fault.kind is not FailureKind.PROXY:
                    raise
                self._failed[proxy] = next(self._failures)
                failed = fault
            else:
                self._failed.pop(proxy, None)
                return found
        if failed is not None:
            raise failed
        return await self._direct.dial(request, make)

    def request_bytes(self, way: Way, request: TransportRequest) -> bytes:
        if not isinstance(way, ProxyWay) or not way.forwards:
            return self._direct.request_bytes(way, request)
        headers = [*request.headers, *login_header(way.proxy)]
        target = request.target  # a forwarding proxy needs the whole URL
        return request_bytes(target.origin.name, target.url, headers, request.method, request.body)

    def check(self, way: Way, status: int) -> None:
        is_of_proxy = status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED
        if is_of_proxy and isinstance(way, ProxyWay) and way.forwards:
            raise wants_login(way.proxy)

    def places_by(self, resolver: Resolver) -> Callable[[Origin], Awaitable[Located]]:
        """Return a function that finds the places of a host.

        If a proxy resolves the host's name, the place is a stand-in address.
        """
        by_name = resolver.with_lookup(unresolved)

        def places_of(origin: Origin) -> Awaitable[Located]:
            is_far = self.routes.are_names_resolved_for(origin)
            return (by_name if is_far else resolver).places_of(origin)

        return places_of

    async def reach(self, proxy: Proxy) -> ByteStream:
        """Return a connection to the proxy itself, after a SOCKS login. Errors are proxy faults."""
        try:
            async with asyncio.timeout(_REACH_S):
                return await self._reach(proxy)
        except TimeoutError:
            raise fault_of(proxy, "does not answer") from None
        except (OSError, Fault) as error:
            if isinstance(error, Fault) and error.kind is FailureKind.PROXY:
                raise
            raise fault_of(proxy, described(error)) from error

    def _in_order(self, request: TransportRequest) -> list[Proxy]:
        proxies = self.routes.proxies_of(request.target.origin)
        return sorted(proxies, key=lambda proxy: self._failed.get(proxy, 0))

    async def _dial_through(
        self, proxy: Proxy, request: TransportRequest, make: Callable[[str | None], P]
    ) -> tuple[Way, P]:
        server = self._direct.server_of(request.target.origin)
        *others, last = _ways(proxy, request)
        for way in others:
            try:
                return way, await self._dial_by(way, server, make)
            except Fault as fault:
                if fault.kind is not FailureKind.CONNECT:
                    raise
        return last, await self._dial_by(last, server, make)

    async def _dial_by(
        self, way: ProxyWay, server: TlsServer | None, make: Callable[[str | None], P]
    ) -> P:
        stream = await self.reach(way.proxy)
        try:
            await _connect_through(stream, way)
            return await stream.hand_over(make, self._direct.opener, server)
        except BaseException as error:
            stream.abort()
            if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
                raise Fault(FailureKind.CONNECT, str(error)) from error
            raise

    async def _reach(self, proxy: Proxy) -> ByteStream:
        found = await self._resolver.locate(proxy.host, _ANY_PORT)
        if isinstance(found, Failed | Refused):
            raise fault_of(proxy, found.detail)
        places = [place._replace(port=proxy.port) for place in found]
        server: TlsServer | None = None
        if proxy.scheme == "https":
            server = TlsServer(self._tls_of_proxies(proxy.host), proxy.host, proxy.port)
        begin = partial(self._direct.begin, server, lambda _: ByteStream())
        _, stream = await self._direct.connector.connect(places, begin)
        if proxy.is_socks:
            try:
                await greet(stream, proxy)
            except BaseException:
                stream.abort()
                raise
        return stream


def _ways(proxy: Proxy, request: TransportRequest) -> list[ProxyWay]:
    """Return the ways through a proxy: by the host's name, or by some of its addresses."""
    origin, places = request.target.origin, request.places
    if proxy.resolves_names and places[0].address in (origin.host, stand_in(origin.host)):
        # The place is the host itself, or a stand-in for its name: we have not resolved it, so the
        # proxy does. Any other address comes from a `--resolve` rule, and the proxy gets that.
        forwards = not proxy.is_socks and not origin.is_tls
        return [ProxyWay(proxy, origin.host, origin.port, forwards)]
    return [ProxyWay(proxy, *place, False) for place in places[:_MOST_ADDRESSES]]


async def _connect_through(stream: ByteStream, way: ProxyWay) -> None:
    """Have the proxy connect to the host, unless it forwards requests."""
    try:
        if way.proxy.is_socks:
            await connect(stream, way.proxy, way.host, way.port)
        elif not way.forwards:
            await tunnel(stream, way.proxy, way.host, way.port)
    except OSError as error:
        raise fault_of(way.proxy, str(error)) from error


# ================================================================ checks
#
# Checks of proxies before the first request.
#
# Laws: a proxy is asked only for a name that does not exist, never for a page on the web. Some
# proxies may be down if another one works; a login that is missing or wrong stops the crawl.

_NOWHERE = "minicrawl.invalid"
"""Name that no network has: .invalid is reserved (RFC 6761)."""
_ANSWER_S = 5.0


async def check_proxies(network: NetworkSettings) -> list[str]:
    """Return a line for each proxy that is down.

    Raises UsageError if no proxy works, or if one demands a login or refuses that of the settings.
    """
    tls, lookup = TlsContexts(network), lookup_of(network, 4)
    try:
        connector = Connector(network.timeout_s, network.bind_address)
        dialer = ProxyDialer(network, DirectDialer(connector, tls), lookup, tls)
        proxies = dialer.routes.proxies
        faults = await asyncio.gather(*(_fault_at(dialer, proxy) for proxy in proxies))
    finally:
        lookup.close()
    down = [str(fault) for fault in faults if fault is not None]
    # A missing or wrong login is a mistake in the settings, which other proxies must not hide.
    if len(down) == len(proxies) or any(isinstance(fault, LoginFault) for fault in faults):
        raise UsageError("; ".join(down))
    return down


async def _fault_at(dialer: ProxyDialer, proxy: Proxy) -> Fault | None:
    """Return why this proxy cannot be used, or None if it seems to work."""
    try:
        stream = await dialer.reach(proxy)
        try:
            if not proxy.is_socks:
                await _ask(stream, proxy)
        finally:
            stream.abort()
    except Fault as fault:
        return fault
    return None


async def _ask(stream: ByteStream, proxy: Proxy) -> None:
    """Raise a Fault if an HTTP proxy demands or refuses a login. Any other answer is fine."""
    stream.write(request_bytes(_NOWHERE, f"http://{_NOWHERE}/", login_header(proxy)))
    try:
        async with asyncio.timeout(_ANSWER_S):
            status, _ = await _answer_of(stream, proxy)
    except TimeoutError:
        return
    except OSError as error:
        raise fault_of(proxy, str(error)) from error
    if status in _REFUSED_LOGINS:
        raise wants_login(proxy)

"""How a connection to a host begins: to an address that was judged, or through a proxy.

way   an address, or a proxy and what it is asked for: what connections to one host may differ in

Laws: without a proxy, and through one of socks5, a connection goes to an address that the request
names. All other proxies are given the name of the host, unless a rule of the user has led it to an
address. A proxy that failed lately is used after all others. What a proxy says of a host is true
for all proxies: no other one is asked.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple, Protocol

from minicrawl.fetch.by_httpx.lines import Spelling
from minicrawl.fetch.by_httpx.streams import LoopStream
from minicrawl.fetch.connection.dialing import Connector
from minicrawl.fetch.connection.tls_layer import TlsOpener, TlsServer
from minicrawl.fetch.proxy import handshakes
from minicrawl.fetch.proxy.proxies import Proxy, ProxyRoutes
from minicrawl.fetch.transport import Fault, TransportRequest, described
from minicrawl.fetch.where.resolver import Resolver, stand_in
from minicrawl.fetch.where.targets import ConnectTarget, Origin
from minicrawl.model import Failed, FailureKind, Refused

TlsFor = Callable[[str], ssl.SSLContext]
_MOST_ADDRESSES = 4
_ANY_PORT = 80  # proxies may listen where web servers do not
_REACH_S = 10.0
"""For a proxy to let us in. It is near, and what is slow beyond it is a host."""


class ProxyWay(NamedTuple):
    """A proxy, and the host that it is to connect to; if it forwards, it reads the request."""

    proxy: Proxy
    host: str
    port: int
    forwards: bool


Way = ConnectTarget | ProxyWay


class Dialer(Protocol):
    """Begins connections."""

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        """All ways to the host, the best first."""
        ...

    async def dial(self, request: TransportRequest) -> tuple[Way, LoopStream]:
        """A connection by the first way that works; TLS has begun, if the host is asked by it."""
        ...


class DirectDialer:
    """To the addresses of a request."""

    def __init__(self, connector: Connector, tls: TlsFor) -> None:
        self._connector, self._tls, self._opener = connector, tls, TlsOpener()

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        return request.places

    async def dial(self, request: TransportRequest) -> tuple[Way, LoopStream]:
        begin = partial(_begin, self._opener, _server_of(request.target.origin, self._tls))
        return await self._connector.connect(request.places, begin)


class ProxyDialer:
    """Through the proxies of a host; `tls_of_proxies` is for proxies of https."""

    def __init__(
        self,
        routes: ProxyRoutes,
        connector: Connector,
        resolver: Resolver,
        tls: TlsFor,
        tls_of_proxies: TlsFor,
        reach_s: float = _REACH_S,
    ) -> None:
        self._routes, self._connector, self._resolver = routes, connector, resolver
        self._tls, self._tls_of_proxies, self._reach_s = tls, tls_of_proxies, reach_s
        self._opener = TlsOpener()
        self._failed: dict[Proxy, int] = {}  # the number of the last failure
        self._failures = count(1)

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        return [way for proxy in self._in_order(request) for way in _ways(proxy, request)]

    async def dial(self, request: TransportRequest) -> tuple[Way, LoopStream]:
        failed: Fault | None = None
        for proxy in self._in_order(request):
            try:
                found = await self._dial_through(proxy, request)
            except Fault as fault:
                if fault.kind is not FailureKind.PROXY:
                    raise
                self._failed[proxy] = next(self._failures)
                failed = fault
            else:
                self._failed.pop(proxy, None)
                return found
        assert failed, "a host without a proxy is not asked through one"
        raise failed

    def _in_order(self, request: TransportRequest) -> list[Proxy]:
        proxies = self._routes.proxies_of(request.target.origin)
        return sorted(proxies, key=lambda proxy: self._failed.get(proxy, 0))

    async def _dial_through(
        self, proxy: Proxy, request: TransportRequest
    ) -> tuple[Way, LoopStream]:
        server = _server_of(request.target.origin, self._tls)
        *others, last = _ways(proxy, request)
        for way in others:
            try:
                return way, await self._dial_by(way, server)
            except Fault as fault:
                if fault.kind is not FailureKind.CONNECT:
                    raise
        return last, await self._dial_by(last, server)

    async def _dial_by(self, way: ProxyWay, server: TlsServer | None) -> LoopStream:
        stream = await self.reach(way.proxy)
        try:
            await _lead(stream, way)
            return stream if server is None else await stream.secure(self._opener, server)
        except BaseException as error:
            stream.abort()
            if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
                raise Fault(FailureKind.CONNECT, str(error)) from error
            raise

    async def reach(self, proxy: Proxy) -> LoopStream:
        """A connection to the proxy itself, which knows us; whatever fails is the proxy's fault."""
        try:
            async with asyncio.timeout(self._reach_s):
                return await self._reach(proxy)
        except TimeoutError:
            raise handshakes.fault_of(proxy, "is silent") from None
        except (OSError, Fault) as error:
            if isinstance(error, Fault) and error.kind is FailureKind.PROXY:
                raise
            raise handshakes.fault_of(proxy, described(error)) from error

    async def _reach(self, proxy: Proxy) -> LoopStream:
        found = await self._resolver.locate(proxy.host, _ANY_PORT)
        if isinstance(found, Failed | Refused):
            raise handshakes.fault_of(proxy, found.detail)
        places = [place._replace(port=proxy.port) for place in found]
        server: TlsServer | None = None
        if proxy.scheme == "https":
            server = TlsServer(self._tls_of_proxies(proxy.host), proxy.host, proxy.port)
        begin = partial(_begin, self._opener, server)
        _, stream = await self._connector.connect(places, begin)
        if proxy.is_socks:
            try:
                await handshakes.greet(stream, proxy)
            except BaseException:
                stream.abort()
                raise
        return stream


def _server_of(origin: Origin, tls_for: TlsFor) -> TlsServer | None:
    if not origin.is_tls:
        return None
    name = origin.host.rstrip(".")
    return TlsServer(tls_for(name), name, origin.port)


async def _begin(opener: TlsOpener, server: TlsServer | None, opened: socket.socket) -> LoopStream:
    if server is None:
        return await LoopStream.over(opened)
    return await opener.begin(opened, LoopStream(), server)


def _ways(proxy: Proxy, request: TransportRequest) -> list[ProxyWay]:
    """What to ask of a proxy for a host: its name, or the addresses that it may be at."""
    origin, places = request.target.origin, request.places
    if proxy.resolves_names and places[0].address in (origin.host, stand_in(origin.host)):
        forwards = not proxy.is_socks and not origin.is_tls
        return [ProxyWay(proxy, origin.host, origin.port, forwards)]
    return [ProxyWay(proxy, *place, False) for place in places[:_MOST_ADDRESSES]]


async def _lead(stream: LoopStream, way: ProxyWay) -> None:
    """Have the proxy connect to the host, unless it forwards what it reads."""
    try:
        if way.proxy.is_socks:
            await handshakes.connect(stream, way.proxy, way.host, way.port)
        elif not way.forwards:
            await handshakes.tunnel(stream, way.proxy, way.host, way.port)
    except OSError as error:
        raise handshakes.fault_of(way.proxy, str(error)) from error


def spelling_of(way: Way, request: TransportRequest) -> Spelling:
    """A proxy that forwards is told the whole URL."""
    if isinstance(way, ProxyWay) and way.forwards:
        return Spelling(request.target.url, handshakes.login_header(way.proxy))
    return Spelling(request.target.path)

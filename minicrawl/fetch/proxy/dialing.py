"""Dialing: opens connections through the proxies of a host, or directly to a host without one.

way   an address, or a proxy with the host that it connects to; a connection serves one way only

Laws: without a proxy, or through a socks5 proxy, a connection goes to an address that the request
names. Other proxies are given the host name, unless a `--resolve` rule maps it to an address. A
proxy that failed recently is tried after all others. If a proxy reports that the host is down, no
other proxy is asked.

Laws of `check_proxies`, before the first request: a proxy is asked only for a name that does not
exist, never for a page on the web. Some proxies may be down if another one works; a login that is
missing or wrong stops the crawl.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import NamedTuple, TypeVar

from minicrawl.config import Network as NetworkSettings
from minicrawl.config.values.kinds import ENVIRONMENT
from minicrawl.errors import UsageError
from minicrawl.fetch.client.dialing import Connector, Dialer, TlsFor, Way
from minicrawl.fetch.http.faults import Fault, described
from minicrawl.fetch.http.http1 import request_bytes
from minicrawl.fetch.http.messages import TransportRequest
from minicrawl.fetch.http.targets import Origin
from minicrawl.fetch.proxy import handshakes
from minicrawl.fetch.proxy.handshakes import ByteStream
from minicrawl.fetch.proxy.proxies import Proxy, ProxyRoutes
from minicrawl.fetch.resolver.lookups import Lookup
from minicrawl.fetch.resolver.name_servers import lookup_of
from minicrawl.fetch.resolver.resolver import Resolver, stand_in, unresolved
from minicrawl.fetch.resolver.rules import ResolveRules
from minicrawl.fetch.tls.contexts import TlsContexts
from minicrawl.fetch.tls.layer import TlsServer
from minicrawl.model import Failed, Refused
from minicrawl.states import State

P = TypeVar("P", bound=asyncio.BaseProtocol)

_MOST_ADDRESSES = 4
_ANY_PORT = 80  # any allowed port: proxies may listen where web servers do not
_REACH_S = 10.0
"""Time limit to connect and log in to a proxy. Proxies are near; only hosts behind are slow."""
_NOWHERE = "minicrawl.invalid"
"""Name that no network has: .invalid is reserved (RFC 6761)."""
_ANSWER_S = 5.0


class ProxyWay(NamedTuple):
    """Proxy, and the host that it connects to, or that it `forwards` requests to."""

    proxy: Proxy
    host: str
    port: int
    forwards: bool


class ProxyDialer(Dialer):
    def __init__(
        self, network: NetworkSettings, connector: Connector, tls_for: TlsFor, lookup: Lookup
    ) -> None:
        super().__init__(connector, tls_for)
        proxies = [text for text in network.proxy if text != ENVIRONMENT]
        self.routes = ProxyRoutes(proxies, network.no_proxy, network.host_settings)
        # The user named the proxies, so they may be anywhere.
        self._resolver = Resolver(lookup, rules=ResolveRules(()), allow_private=True)
        self._failed: dict[Proxy, int] = {}  # sequence number of the last failure, by proxy
        self._failures = count(1)

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        if proxies := self._in_order(request):
            return [way for proxy in proxies for way in _ways(proxy, request)]
        return super().ways(request)

    async def dial(self, request: TransportRequest, make: Callable[[], P]) -> tuple[Way, P]:
        proxies, failed = self._in_order(request), None
        for proxy in proxies:
            try:
                opened = await self._dial_through(proxy, request, make)
            except Fault as fault:
                # The host failed, not the proxy: the other proxies would meet the same host.
                if fault.kind is not State.PROXY:
                    raise
                self._failed[proxy] = next(self._failures)
                failed = fault
            else:
                self._failed.pop(proxy, None)
                return opened
        if failed is not None:
            raise failed
        return await super().dial(request, make)

    def request_bytes(self, way: Way, request: TransportRequest) -> bytes:
        if not isinstance(way, ProxyWay) or not way.forwards:
            return super().request_bytes(way, request)
        headers = [*request.headers, *handshakes.login_header(way.proxy)]
        target = request.target  # a forwarding proxy needs the whole URL
        return request_bytes(target.origin.name, target.url, headers, request.method, request.body)

    def check(self, way: Way, status: int) -> None:
        is_of_proxy = status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED
        if is_of_proxy and isinstance(way, ProxyWay) and way.forwards:
            raise handshakes.wants_login(way.proxy)

    def resolvers(self, resolver: Resolver) -> Callable[[Origin], Resolver]:
        """Return what chooses the resolver of a host: of stand-ins if a proxy resolves its name."""
        by_name = resolver.with_lookup(unresolved)

        def resolver_of(origin: Origin) -> Resolver:
            is_far = any(proxy.resolves_names for proxy in self.routes.proxies_of(origin))
            return by_name if is_far else resolver

        return resolver_of

    async def reach(self, proxy: Proxy) -> ByteStream:
        """Return a connection to the proxy itself, after a SOCKS login. Errors are proxy faults."""
        try:
            async with asyncio.timeout(_REACH_S):
                addresses = await self._resolver.locate(proxy.host, _ANY_PORT)
                if isinstance(addresses, Failed | Refused):
                    raise handshakes.fault_of(proxy, addresses.detail)
                places = [place._replace(port=proxy.port) for place in addresses]
                server: TlsServer | None = None
                if proxy.scheme == "https":
                    server = TlsServer(self.tls_for(proxy.host), proxy.host, proxy.port)
                begin = partial(self.begin, server, ByteStream)
                _, stream = await self.connector.connect(places, begin)
                if proxy.is_socks:
                    try:
                        await handshakes.greet(stream, proxy)
                    except BaseException:
                        stream.abort()
                        raise
                return stream
        except TimeoutError:
            raise handshakes.fault_of(proxy, "does not answer") from None
        except (OSError, Fault) as error:
            if isinstance(error, Fault) and error.kind is State.PROXY:
                raise
            raise handshakes.fault_of(proxy, described(error)) from error

    def _in_order(self, request: TransportRequest) -> list[Proxy]:
        proxies = self.routes.proxies_of(request.target.origin)
        return sorted(proxies, key=lambda proxy: self._failed.get(proxy, 0))

    async def _dial_through(
        self, proxy: Proxy, request: TransportRequest, make: Callable[[], P]
    ) -> tuple[Way, P]:
        server = self.server_of(request.target.origin)
        *first, last = _ways(proxy, request)
        for way in first:
            try:
                return way, await self._dial_by(way, server, make)
            except Fault as fault:
                if fault.kind is not State.CONNECT:
                    raise
        return last, await self._dial_by(last, server, make)

    async def _dial_by(self, way: ProxyWay, server: TlsServer | None, make: Callable[[], P]) -> P:
        stream = await self.reach(way.proxy)
        try:
            try:
                if way.proxy.is_socks:
                    await handshakes.connect(stream, way.proxy, way.host, way.port)
                elif not way.forwards:
                    await handshakes.tunnel(stream, way.proxy, way.host, way.port)
            except OSError as error:
                raise handshakes.fault_of(way.proxy, described(error)) from error
            return await stream.hand_over(make, self.opener, server)
        except BaseException as error:
            stream.abort()
            if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
                raise Fault(State.CONNECT, described(error)) from error
            raise


def _ways(proxy: Proxy, request: TransportRequest) -> list[ProxyWay]:
    """Return the ways through a proxy: by the host's name, or by some of its addresses."""
    origin, places = request.target.origin, request.places
    if proxy.resolves_names and places[0].address in (origin.host, stand_in(origin.host)):
        # The place is the host itself, or a stand-in for its name: we have not resolved it, so the
        # proxy does. Any other address comes from a `--resolve` rule, and the proxy gets that.
        forwards = not proxy.is_socks and not origin.is_tls
        return [ProxyWay(proxy, origin.host, origin.port, forwards)]
    return [ProxyWay(proxy, *place, False) for place in places[:_MOST_ADDRESSES]]


async def check_proxies(network: NetworkSettings) -> list[str]:
    """Return a line for each proxy that is down; raise UsageError if the crawl must not begin."""
    with closing(lookup_of(network, 4)) as lookup:
        connector = Connector(network.timeout_s, network.bind_address)
        dialer = ProxyDialer(network, connector, TlsContexts(network), lookup)
        proxies = dialer.routes.proxies
        faults = await asyncio.gather(*(_fault_at(dialer, proxy) for proxy in proxies))
    down = [str(fault) for fault in faults if fault is not None]
    # A missing or wrong login is a mistake in the settings, which other proxies must not hide.
    is_refused = any(isinstance(fault, handshakes.LoginFault) for fault in faults)
    if is_refused:
        raise UsageError("; ".join(down))
    if len(down) == len(proxies):
        raise UsageError(f"{'; '.join(down)}; start it, or choose another one, or --proxy none")
    return down


async def _fault_at(dialer: ProxyDialer, proxy: Proxy) -> Fault | None:
    try:
        stream = await dialer.reach(proxy)
        try:
            # An HTTP proxy may demand or refuse a login; any other answer is fine, and so is none.
            if not proxy.is_socks:
                nowhere = f"http://{_NOWHERE}/"
                stream.write(request_bytes(_NOWHERE, nowhere, handshakes.login_header(proxy)))
                async with asyncio.timeout(_ANSWER_S):
                    status, _ = await handshakes.answer_of(stream, proxy)
                if status in handshakes.REFUSED_LOGINS:
                    return handshakes.wants_login(proxy)
        except TimeoutError:
            return None
        except OSError as error:
            return handshakes.fault_of(proxy, described(error))
        finally:
            stream.abort()
    except Fault as fault:
        return fault
    return None

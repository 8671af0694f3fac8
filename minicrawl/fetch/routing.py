"""Which transport a request goes by, and who resolves its name.

direct    by connections of our own, HTTP/1.1
HTTP/2    by httpx, where https is asked for without a proxy and HTTP/2 may be spoken
proxied   by httpx, where the host has a proxy

Law: what needs no httpx does not import it.
"""

import asyncio
import ssl
from collections.abc import Awaitable
from typing import NamedTuple

from minicrawl.config import Network
from minicrawl.config.parts import ENVIRONMENT
from minicrawl.errors import UsageError
from minicrawl.fetch import proxy as handshakes
from minicrawl.fetch.by_httpx import Dialer, DirectDialer, HttpxClient, ProxyDialer
from minicrawl.fetch.connection import Connector, Pace
from minicrawl.fetch.http1 import ResponseParser, request_bytes
from minicrawl.fetch.proxy import Proxy, ProxyRoutes
from minicrawl.fetch.resolver import Located, Lookup, Resolver, lookup_of, unresolved
from minicrawl.fetch.targets import Origin, ResolveRules
from minicrawl.fetch.tls import HTTP1_AND_2, TlsContexts
from minicrawl.fetch.transport import Fault, ResponseStream, Transport, TransportRequest


class RoutedTransport:
    """A transport, and a locator: both go by the origin of a request."""

    def __init__(
        self,
        network: Network,
        pace: Pace,
        direct: Transport,
        resolver: Resolver,
        dialers: "Dialers",
    ) -> None:
        self._direct, self._resolver = direct, resolver
        self._by_name = resolver.with_lookup(unresolved)
        self._routes = dialers.routes
        self._proxied = _client(dialers.through_proxies, pace, network)
        self._http2 = _client(dialers.direct, pace, network) if network.http2 != "off" else None

    def places_of(self, origin: Origin) -> Awaitable[Located]:
        """Where the host is; where a proxy resolves its name, an address that stands for it."""
        is_far = self._routes.are_names_resolved_for(origin)
        return (self._by_name if is_far else self._resolver).places_of(origin)

    async def send(self, request: TransportRequest) -> ResponseStream:
        origin = request.target.origin
        if self._routes.proxies_of(origin):
            return await self._proxied.send(request)
        if self._http2 is not None and origin.is_tls:
            return await self._http2.send(request)
        return await self._direct.send(request)

    async def aclose(self) -> None:
        await self._proxied.aclose()
        if self._http2 is not None:
            await self._http2.aclose()
        await self._direct.aclose()
        self._by_name.close()


class Dialers(NamedTuple):
    """Who begins connections, with proxies and without."""

    routes: ProxyRoutes
    direct: Dialer
    through_proxies: ProxyDialer


def dialers_of(network: Network, lookup: Lookup, tls: ssl.SSLContext | None = None) -> Dialers:
    """Dialers by these settings, whose proxies are known by their URLs."""
    proxies = [text for text in network.proxy if text != ENVIRONMENT]
    routes = ProxyRoutes(proxies, network.no_proxy)
    connector = Connector(network.timeout_s, network.bind_address)
    contexts = TlsContexts(network, HTTP1_AND_2, tls) if network.http2 != "off" else None
    contexts = contexts or TlsContexts(network, given=tls)
    # The user has named the proxies: they may be anywhere.
    of_proxies = Resolver(lookup, rules=ResolveRules(()), allow_private=True)
    through = ProxyDialer(routes, connector, of_proxies, contexts, TlsContexts(network, given=tls))
    return Dialers(routes, DirectDialer(connector, contexts), through)


def _client(dialer: Dialer, pace: Pace, network: Network) -> HttpxClient:
    return HttpxClient(dialer, pace, max_head_bytes=network.max_head_bytes)


# ================================================================ checks
#
# What is found out of proxies and TLS before the first request: that they can work at all.
#
# Laws: a proxy is asked for nothing on the web, only for a name that no network has. Of several
# proxies some may be down, as others take their place; one that demands a login is a mistake.

_NOWHERE = "minicrawl.invalid"
"""No network has names below .invalid (RFC 6761)."""
_ANSWER_S = 5.0
_MOST_HEAD_BYTES = 64 * 1024


async def check_proxies(network: Network) -> list[str]:
    """A line for each proxy that is down; refuses them if none works, or one demands a login."""
    lookup = lookup_of(network, 4)
    try:
        dialers = dialers_of(network, lookup)
        proxies = dialers.routes.proxies
        faults = await asyncio.gather(*(_fault_of(dialers.through_proxies, it) for it in proxies))
    finally:
        lookup.close()
    down = [str(fault) for fault in faults if fault is not None]
    if len(down) == len(proxies) or any(map(_is_about_login, down)):
        raise UsageError("; ".join(down))
    return down


def _is_about_login(why: str) -> bool:
    return "login" in why


async def _fault_of(dialer: ProxyDialer, proxy: Proxy) -> Fault | None:
    """Why this proxy cannot be used; None if it can, as far as can be told without using it."""
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


async def _ask(stream: handshakes.ByteStream, proxy: Proxy) -> None:
    """See whether an HTTP proxy demands a login. Any other answer will do, or none."""
    headers = handshakes.login_header(proxy)
    await stream.write(request_bytes(_NOWHERE, f"http://{_NOWHERE}/", headers))
    parser = ResponseParser(_MOST_HEAD_BYTES)
    try:
        async with asyncio.timeout(_ANSWER_S):
            while parser.head is None:
                piece = await stream.read(_MOST_HEAD_BYTES)
                if not piece:
                    raise handshakes.fault_of(proxy, "hung up")
                parser.feed(piece)
                if parser.fault and parser.head is None:
                    raise handshakes.fault_of(proxy, f"does not speak HTTP: {parser.fault}")
    except TimeoutError:
        return
    except OSError as error:
        raise handshakes.fault_of(proxy, str(error)) from error
    if parser.head.status in handshakes.REFUSED_LOGINS:
        raise handshakes.wants_login(proxy)

"""Which transport a request goes by, and who resolves its name.

direct    by connections of our own, HTTP/1.1
HTTP/2    by httpx, where https is asked for without a proxy and HTTP/2 may be spoken
proxied   by httpx, where the host has a proxy

Law: what needs no httpx does not import it.
"""

import ssl
from collections.abc import Awaitable
from typing import NamedTuple

from minicrawl.config import Network
from minicrawl.config.parts import ENVIRONMENT
from minicrawl.fetch.by_httpx.client import HttpxClient
from minicrawl.fetch.by_httpx.dialing import Dialer, DirectDialer, ProxyDialer
from minicrawl.fetch.connection.dialing import Connector
from minicrawl.fetch.connection.pool import Pace
from minicrawl.fetch.connection.tls import HTTP1_AND_2, TlsContexts
from minicrawl.fetch.proxy.proxies import ProxyRoutes
from minicrawl.fetch.transport import ResponseStream, Transport, TransportRequest
from minicrawl.fetch.where.lookups import Lookup
from minicrawl.fetch.where.resolver import Located, Resolver, unresolved
from minicrawl.fetch.where.targets import Origin, ResolveRules


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

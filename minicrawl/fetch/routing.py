"""Chooses the client for a request, and who resolves its name.

direct    the HTTP/1.1 client, over its own connections
HTTP/2    httpx, for https without a proxy if HTTP/2 is enabled
proxied   httpx, for hosts with a proxy

Law: httpx is imported only if it is needed.
"""

import asyncio
import ssl
from collections.abc import Awaitable
from typing import NamedTuple

from minicrawl.config import Network
from minicrawl.config.values import ENVIRONMENT
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
    """Transport and locator that choose the client by the origin of a request."""

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
        """Return the places of a host; a stand-in address if a proxy resolves its name."""
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
    """Dialers with and without proxies."""

    routes: ProxyRoutes
    direct: Dialer
    through_proxies: ProxyDialer


def dialers_of(network: Network, lookup: Lookup, tls: ssl.SSLContext | None = None) -> Dialers:
    """Return dialers for these settings, whose proxies are known as URLs."""
    proxies = [text for text in network.proxy if text != ENVIRONMENT]
    routes = ProxyRoutes(proxies, network.no_proxy)
    connector = Connector(network.timeout_s, network.bind_address)
    contexts = TlsContexts(network, HTTP1_AND_2, tls) if network.http2 != "off" else None
    contexts = contexts or TlsContexts(network, given=tls)
    # The user named the proxies, so they may be anywhere.
    of_proxies = Resolver(lookup, rules=ResolveRules(()), allow_private=True)
    through = ProxyDialer(routes, connector, of_proxies, contexts, TlsContexts(network, given=tls))
    return Dialers(routes, DirectDialer(connector, contexts), through)


def _client(dialer: Dialer, pace: Pace, network: Network) -> HttpxClient:
    return HttpxClient(dialer, pace, max_head_bytes=network.max_head_bytes)


# ================================================================ checks
#
# Checks of proxies before the first request.
#
# Laws: a proxy is asked only for a name that does not exist, never for a page on the web. Some of
# several proxies may be down, as others take their place; a required login is a mistake in the
# settings.

_NOWHERE = "minicrawl.invalid"
"""Name that no network has: .invalid is reserved (RFC 6761)."""
_ANSWER_S = 5.0
_MOST_HEAD_BYTES = 64 * 1024


async def check_proxies(network: Network) -> list[str]:
    """Return a line for each proxy that is down.

    Raises UsageError if no proxy works, or if one requires a login.
    """
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


async def _ask(stream: handshakes.ByteStream, proxy: Proxy) -> None:
    """Check whether an HTTP proxy requires a login. Any other answer is fine, or none."""
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

"""Builds the transport that the settings ask for, and checks these settings before the crawl.

Law: modules that a crawl does not need, such as proxies or HTTP/2, are not imported.
"""

from __future__ import annotations

import os
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.config import Network, Politeness
from minicrawl.config.values import ENVIRONMENT
from minicrawl.errors import UsageError
from minicrawl.fetch.connection import Connector, Dialer, DirectDialer, HttpClient, Pace
from minicrawl.fetch.http1 import joined_headers
from minicrawl.fetch.resolver import Located, Lookup, Resolver
from minicrawl.fetch.tls import HTTP1, HTTP1_AND_2, TlsContexts, check_authorities, check_tls
from minicrawl.fetch.transport import Fault, Origin, Transport, TransportRequest
from minicrawl.model import FailureKind

if TYPE_CHECKING:
    import httpx

    from minicrawl.fetch.access import AccessByOrigin


PlacesOf = Callable[[Origin], Awaitable[Located]]
_KEPT_AT_LEAST_S, _KEPT_AT_MOST_S = 1.0, 15.0
_KEPT_DELAYS = 4
"""Number of request delays for which an idle connection is kept.

Many servers close idle connections after 5 s; with the usual delay of 1 s, we close them before.
"""
_MOST_KEPT = 2000


def pace_of(politeness: Politeness) -> Pace:
    """Return the pool limits. A connection is kept while the host's next request may soon come."""
    delay_s = politeness.delay_after(None)
    keep_s = min(max(_KEPT_DELAYS * delay_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_KEPT * 2 if soft == resource.RLIM_INFINITY else soft
    kept = max(politeness.concurrency, min(_MOST_KEPT, files // 2))
    # Only requests on kept connections are repeated, and their hosts have delays below `keep_s`: a
    # pause of `keep_s` respects them.
    return Pace(politeness.concurrency, kept, keep_s, keep_s if delay_s else 0.0)


class OpenedTransport(NamedTuple):
    """Transport, and the function that finds the addresses it may connect to."""

    transport: Transport
    places_of: PlacesOf


def open_transport(
    network: Network,
    pace: Pace,
    resolver: Resolver,
    lookup: Lookup,
    tls: ssl.SSLContext | None = None,
) -> OpenedTransport:
    """Return a client that dials as the settings ask for. `tls` is for tests."""
    offers_http2 = network.http2 != "off"
    contexts = TlsContexts(network, HTTP1_AND_2 if offers_http2 else HTTP1, tls)
    dialer: Dialer
    places_of: PlacesOf = resolver.places_of
    dialer = direct = DirectDialer(Connector(network.timeout_s, network.bind_address), contexts)
    http2 = None
    if any(text != ENVIRONMENT for text in network.proxy):
        from minicrawl.fetch.proxy import ProxyDialer

        dialer = proxied = ProxyDialer(network, direct, lookup, TlsContexts(network, given=tls))
        places_of = proxied.places_by(resolver)
    if offers_http2:
        from minicrawl.fetch.http2 import Http2Connection

        http2 = Http2Connection
    client = HttpClient(pace, dialer, max_head_bytes=network.max_head_bytes, http2=http2)
    return OpenedTransport(client, places_of)


def through_httpx(transport: httpx.AsyncBaseTransport, resolver: Resolver) -> OpenedTransport:
    """Return an httpx transport adapted to take the place of the HTTP client."""
    return OpenedTransport(HttpxTransport(transport), resolver.places_of)


def with_logins(transport: Transport, logins: AccessByOrigin, pause_s: float) -> Transport:
    """Return the transport, wrapped to log in where servers ask for it."""
    from minicrawl.fetch.access import LoginTransport

    return LoginTransport(transport, logins, pause_s)


def with_signatures(
    transport: Transport, key: Path, contact: str | None, pause_s: float
) -> Transport:
    """Return the transport, wrapped to sign requests with the key in this file."""
    from minicrawl.fetch.signing import RequestSigner, SigningKey, SigningTransport, key_directory

    signer = RequestSigner(SigningKey.read(key), key_directory(contact))
    return SigningTransport(transport, signer, pause_s)


# ================================================================ httpx
#
# Adapter that sends requests through any httpx transport, such as a mock.
#
# Such a transport resolves names itself: the resolver can refuse a host, but cannot choose the
# address.


class HttpxTransport:
    """Transport of this package over an httpx transport."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def send(self, request: TransportRequest) -> HttpxResponseStream:
        import httpx

        with _naming_faults():
            sent = httpx.Request(
                request.method,
                request.target.url,
                headers=[*request.headers],
                content=request.body or None,
            )
            began = perf_counter()
            response = await self._transport.handle_async_request(sent)
            return HttpxResponseStream(response, perf_counter() - began)

    async def aclose(self) -> None:
        await self._transport.aclose()


class HttpxResponseStream:
    """Response stream of this package over an httpx response."""

    def __init__(self, response: httpx.Response, first_byte_s: float) -> None:
        self._response, self.first_byte_s = response, first_byte_s
        self.status, self.wire = response.status_code, None  # httpx hides the raw heads
        raw = response.headers.raw
        self.headers = joined_headers(
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
        )

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._chunks()

    def take_whole(self) -> bytes | None:
        return None  # httpx does not say whether the body is complete

    async def aclose(self) -> None:
        await self._response.aclose()

    async def _chunks(self) -> AsyncIterator[bytes]:
        import httpx

        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        with _naming_faults():
            async for chunk in self._response.stream:
                yield chunk


@contextmanager
def _naming_faults() -> Iterator[None]:
    """Convert exceptions of httpx into Faults."""
    import httpx

    try:
        yield
    except httpx.TimeoutException as error:
        raise Fault(FailureKind.TIMEOUT, str(error)) from error
    except httpx.ConnectError as error:
        raise Fault(FailureKind.CONNECT, str(error)) from error
    except httpx.NetworkError as error:
        raise Fault(FailureKind.RESET, str(error)) from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise Fault(FailureKind.PROTOCOL, str(error)) from error


# ================================================================ reaching
#
# Reach: how servers are reached, reported and checked before the first request.
#
# Law: settings that cannot work are refused here once, instead of failing at every host: a proxy
# that is down or demands a login, a certificate without its key, a local address that does not
# exist.


class Reach(NamedTuple):
    """Messages for the user: settings in effect, and settings that are dangerous or broken."""

    notes: list[str]
    warnings: list[str]


def known(network: Network, environ: Mapping[str, str] = os.environ) -> Network:
    """Return the settings with the proxies of settings, files and environment as URLs."""
    if not _may_have_proxies(network, environ):
        return network
    from minicrawl.fetch.proxy import with_known_proxies

    return with_known_proxies(network, environ)


async def check(network: Network, environ: Mapping[str, str] = os.environ) -> Reach:
    """Raise UsageError for settings that cannot work, and return notes and warnings."""
    check_authorities(environ)
    check_tls(network)
    for address in network.bind_address:
        _check_address(address)
    notes, warnings = list[str](), list(_warnings(network))
    if _may_have_proxies(network, environ):
        from minicrawl.fetch.proxy import (
            ProxyRoutes,
            as_lines,
            check_proxies,
            hosts_without_proxy,
            names_of_proxies,
        )

        found = known(network, environ)
        if found.proxy:
            warnings += await check_proxies(found)
            routes = ProxyRoutes(found.proxy, found.no_proxy)
            named = names_of_proxies(network, environ)
            notes.append(f"through {as_lines(routes.proxies)} ({named})")
            notes += filter(None, [hosts_without_proxy(network, environ)])
    return Reach(notes, warnings)


def _may_have_proxies(network: Network, environ: Mapping[str, str]) -> bool:
    """Return False if there is certainly no proxy, without importing the proxy code."""
    if network.proxy != (ENVIRONMENT,):
        return bool(network.proxy)
    return any(name.lower().endswith("_proxy") for name in environ)


def _warnings(network: Network) -> Iterator[str]:
    for host in network.insecure:
        yield f"the certificate of {host} is not checked (--insecure): anybody may answer for it"


def _check_address(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as bound:
            bound.bind((address, 0))
    except OSError as error:
        raise UsageError(f"--bind-address {address}: {error.strerror}") from None

"""Builds the transport that the settings ask for: own client, or also httpx; with logins or not.

Law: what a crawl does not need is not imported.
"""

from __future__ import annotations

import os
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.config import Network, Politeness
from minicrawl.config.values import ENVIRONMENT
from minicrawl.errors import UsageError
from minicrawl.fetch.connection import HttpClient, Pace
from minicrawl.fetch.resolver import Located, Lookup, Resolver
from minicrawl.fetch.targets import Origin
from minicrawl.fetch.tls import TlsContexts, check_authorities, check_tls
from minicrawl.fetch.transport import Transport

if TYPE_CHECKING:
    import httpx

    from minicrawl.fetch.access import AccessByOrigin


PlacesOf = Callable[[Origin], Awaitable[Located]]
_KEPT_AT_LEAST_S, _KEPT_AT_MOST_S = 1.0, 15.0
_KEPT_DELAYS = 4
"""Delays between requests for which a connection is kept.

Many servers close idle connections after 5 s; with the usual delay of 1 s, ours closes before.
"""
_MOST_KEPT = 2000


def pace_of(politeness: Politeness) -> Pace:
    """Return the pool limits. A connection is kept while the host's next request may soon come."""
    delay_s = politeness.delay_after(None)
    keep_s = min(max(_KEPT_DELAYS * delay_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)
    kept = max(politeness.concurrency, min(_MOST_KEPT, _most_files() // 2))
    # At least any Crawl-delay for which connections are kept.
    return Pace(politeness.concurrency, kept, keep_s, keep_s if delay_s else 0.0)


def _most_files() -> int:
    """Return the limit on open files and connections of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_KEPT * 2 if soft == resource.RLIM_INFINITY else soft


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
    """Return the HTTP/1.1 client, wrapped to use httpx where the settings need it."""
    own = HttpClient(
        pace,
        tls=TlsContexts(network, given=tls),
        timeout_s=network.timeout_s,
        max_head_bytes=network.max_head_bytes,
        bind=network.bind_address,
    )
    if not network.needs_httpx:
        return OpenedTransport(own, resolver.places_of)
    from minicrawl.fetch.routing import RoutedTransport, dialers_of

    routed = RoutedTransport(network, pace, own, resolver, dialers_of(network, lookup, tls))
    return OpenedTransport(routed, routed.places_of)


def through_httpx(transport: httpx.AsyncBaseTransport, resolver: Resolver) -> OpenedTransport:
    """Return an httpx transport in place of the HTTP client."""
    from minicrawl.fetch.httpx_transport import HttpxTransport

    return OpenedTransport(HttpxTransport(transport), resolver.places_of)


def with_logins(transport: Transport, logins: AccessByOrigin, pause_s: float) -> Transport:
    """Return the transport, wrapped to log in where servers ask for it."""
    from minicrawl.fetch.access import LoginTransport

    return LoginTransport(transport, logins, pause_s)


# ================================================================ reaching
#
# Reach: how servers are reached, reported and checked before the first request.
#
# Law: settings that cannot work are refused here, once, and not host by host: a proxy that is down
# or demands a login, a certificate without its key, an address that this machine does not have.


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
            hosts_without_proxy,
            names_of_proxies,
        )
        from minicrawl.fetch.routing import check_proxies

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

"""The transport that the settings ask for: our own, or one of httpx behind it, with logins or not.

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
from minicrawl.config.parts import ENVIRONMENT
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
"""Many servers hang up after 5 s: with the usual delay of a second we leave before that."""
_MOST_KEPT = 2000


def pace_of(politeness: Politeness) -> Pace:
    """A connection is kept while the next request to the host may soon come."""
    delay_s = politeness.delay_after(None)
    keep_s = min(max(_KEPT_DELAYS * delay_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)
    kept = max(politeness.concurrency, min(_MOST_KEPT, _most_files() // 2))
    # At least any Crawl-delay with which connections are kept.
    return Pace(politeness.concurrency, kept, keep_s, keep_s if delay_s else 0.0)


def _most_files() -> int:
    """How many files and connections this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_KEPT * 2 if soft == resource.RLIM_INFINITY else soft


class OpenedTransport(NamedTuple):
    """A transport, and who finds the addresses that it may connect to."""

    transport: Transport
    places_of: PlacesOf


def open_transport(
    network: Network,
    pace: Pace,
    resolver: Resolver,
    lookup: Lookup,
    tls: ssl.SSLContext | None = None,
) -> OpenedTransport:
    """Our own transport, and one of httpx where that is needed."""
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
    """A transport of httpx in place of ours."""
    from minicrawl.fetch.httpx_transport import HttpxTransport

    return OpenedTransport(HttpxTransport(transport), resolver.places_of)


def with_logins(transport: Transport, logins: AccessByOrigin, pause_s: float) -> Transport:
    """The same transport, which says who we are where that is asked for."""
    from minicrawl.fetch.access import LoginTransport

    return LoginTransport(transport, logins, pause_s)


# ================================================================ reaching
#
# By which way servers are reached, told and checked before the first request.
#
# Law: what cannot work is refused here, and not host by host: a proxy that is down or demands a
# login, a certificate without its key, an address that this machine does not have.


class Reach(NamedTuple):
    """What to tell the user: what is as it was asked for, and what is dangerous or broken."""

    notes: list[str]
    warnings: list[str]


def known(network: Network, environ: Mapping[str, str] = os.environ) -> Network:
    """The same settings, with the proxies that they and the environment name, by their URLs."""
    if not _may_have_proxies(network, environ):
        return network
    from minicrawl.fetch.proxy import with_known_proxies

    return with_known_proxies(network, environ)


async def check(network: Network, environ: Mapping[str, str] = os.environ) -> Reach:
    """Refuse what cannot work."""
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
    """A quick answer: most crawls have none."""
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

"""The transport that the settings ask for: our own, or one of httpx behind it, with logins or not.

Law: what a crawl does not need is not imported.
"""

from __future__ import annotations

import resource
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.config import Network, Politeness
from minicrawl.fetch.connection.client import HttpClient
from minicrawl.fetch.connection.pool import Pace
from minicrawl.fetch.connection.tls import TlsContexts
from minicrawl.fetch.transport import Transport
from minicrawl.fetch.where.lookups import Lookup
from minicrawl.fetch.where.resolver import Located, Resolver
from minicrawl.fetch.where.targets import Origin

if TYPE_CHECKING:
    import httpx

    from minicrawl.fetch.access.logins import AccessByOrigin

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
    from minicrawl.fetch.access.logins import LoginTransport

    return LoginTransport(transport, logins, pause_s)

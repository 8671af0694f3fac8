"""Builds the transport that the settings ask for, and checks these settings before the crawl.

Law: modules that a crawl does not need, such as proxies, are not imported.
"""

from __future__ import annotations

import resource
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

from minicrawl.config import Network, Politeness
from minicrawl.config.values.kinds import ENVIRONMENT, key_file
from minicrawl.fetch.client.client import HttpClient, Pace
from minicrawl.fetch.client.dialing import Connector, Dialer
from minicrawl.fetch.http.messages import Transport
from minicrawl.fetch.http.targets import Origin
from minicrawl.fetch.resolver.lookups import Lookup
from minicrawl.fetch.resolver.resolver import Located, Resolver
from minicrawl.fetch.tls.contexts import TlsContexts

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
    most_idle = max(politeness.concurrency, min(_MOST_KEPT, files // 2))
    # Only requests on kept connections are repeated, and their hosts have delays below `keep_s`: a
    # pause of `keep_s` respects them.
    return Pace(politeness.concurrency, most_idle, keep_s, keep_s if delay_s else 0.0)


def open_transport(
    network: Network,
    pace: Pace,
    resolver: Resolver,
    lookup: Lookup,
    tls: ssl.SSLContext | None = None,
) -> tuple[Transport, PlacesOf]:
    """Return a client that dials as the settings ask for, and finds the addresses for it.

    `tls` is for tests.
    """
    contexts = TlsContexts(network, tls)
    places_of: PlacesOf = resolver.places_of
    connector = Connector(network.timeout_s, network.bind_address)
    dialer = Dialer(connector, contexts)
    if network.host_settings or any(text != ENVIRONMENT for text in network.proxy):
        from minicrawl.fetch.proxy.dialing import ProxyDialer

        tls_of_proxies = TlsContexts(network, tls)
        dialer = proxied = ProxyDialer(network, connector, contexts, lookup, tls_of_proxies)
        places_of = proxied.places_by(resolver)
    most, is_raw = network.max_head_bytes, network.raw_bodies
    return HttpClient(pace, dialer, max_head_bytes=most, is_raw=is_raw), places_of


def with_signatures(
    transport: Transport, key: Path | str, contact: str | None, pause_s: float
) -> Transport:
    """Return the transport, wrapped to sign requests with the key of a setting."""
    from minicrawl.fetch.access.signing import (
        RequestSigner,
        SigningKey,
        SigningTransport,
        key_directory,
    )

    file, only_asked = key_file(key)
    signer = RequestSigner(SigningKey.read(file), key_directory(contact))
    return SigningTransport(transport, signer, pause_s, only_asked=only_asked)

"""Reach: how servers are reached, reported and checked before the first request.

Law: settings that cannot work are refused here once, instead of failing at every host: a proxy
that is down or demands a login, a certificate without its key, a local address that does not
exist.
"""

import os
import socket
from collections.abc import Mapping

from minicrawl.config import Network
from minicrawl.config.values.kinds import ENVIRONMENT
from minicrawl.errors import UsageError
from minicrawl.fetch.tls.contexts import check_authorities, check_tls


def network_with_proxies(network: Network, environ: Mapping[str, str] = os.environ) -> Network:
    """Return the settings with the proxies of settings, files and environment as URLs."""
    if not _may_have_proxies(network, environ):
        return network
    from minicrawl.fetch.proxy.configuration import with_known_proxies

    return with_known_proxies(network, environ)


async def check_network(network: Network) -> tuple[list[str], list[str]]:
    """Return notes on settings in effect and warnings; raise UsageError for impossible ones."""
    check_authorities(os.environ)
    check_tls(network)
    for address in network.bind_address:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as bound:
                bound.bind((address, 0))
        except OSError as error:
            raise UsageError(f"--bind-address {address}: {error.strerror}") from None
    notes = list[str]()
    warnings = [
        f"the certificate of {host} is not checked (--insecure): anybody may answer for it"
        for host in network.insecure
    ]
    if _may_have_proxies(network, os.environ):
        from minicrawl.fetch.proxy.configuration import hosts_without_proxy, sources_of_proxies
        from minicrawl.fetch.proxy.dialing import check_proxies
        from minicrawl.fetch.proxy.proxies import ProxyRoutes

        proxied = network_with_proxies(network)
        if proxied.proxy:
            warnings += await check_proxies(proxied)
            routes = ProxyRoutes(proxied.proxy, proxied.no_proxy)
            sources = sources_of_proxies(network, os.environ)
            proxies = ", ".join(map(str, routes.proxies))  # without logins
            notes.append(f"through {proxies} ({sources})")
            notes += filter(None, [hosts_without_proxy(network, os.environ)])
    return notes, warnings


def _may_have_proxies(network: Network, environ: Mapping[str, str]) -> bool:
    """Return False if there is certainly no proxy, without importing the proxy code."""
    if network.proxy != (ENVIRONMENT,):
        return bool(network.proxy)
    return any(name.lower().endswith("_proxy") for name in environ)

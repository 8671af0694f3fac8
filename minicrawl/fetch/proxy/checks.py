"""Checks of proxies before the first request.

Laws: a proxy is asked only for a name that does not exist, never for a page on the web. Some
proxies may be down if another one works; a login that is missing or wrong stops the crawl.
"""

import asyncio

from minicrawl.config import Network as NetworkSettings
from minicrawl.errors import UsageError
from minicrawl.fetch.client.dialing import Connector
from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.http1 import request_bytes
from minicrawl.fetch.proxy import handshakes
from minicrawl.fetch.proxy.dialing import ProxyDialer
from minicrawl.fetch.proxy.proxies import Proxy
from minicrawl.fetch.resolver.name_servers import lookup_of
from minicrawl.fetch.tls.contexts import TlsContexts

_NOWHERE = "minicrawl.invalid"
"""Name that no network has: .invalid is reserved (RFC 6761)."""
_ANSWER_S = 5.0


async def check_proxies(network: NetworkSettings) -> list[str]:
    """Return a line for each proxy that is down.

    Raises UsageError if no proxy works, or if one demands a login or refuses that of the settings.
    """
    tls, lookup = TlsContexts(network), lookup_of(network, 4)
    try:
        connector = Connector(network.timeout_s, network.bind_address)
        dialer = ProxyDialer(network, connector, tls, lookup)
        proxies = dialer.routes.proxies
        faults = await asyncio.gather(*(_fault_at(dialer, proxy) for proxy in proxies))
    finally:
        lookup.close()
    down = [str(fault) for fault in faults if fault is not None]
    # A missing or wrong login is a mistake in the settings, which other proxies must not hide.
    if len(down) == len(proxies) or any(
        isinstance(fault, handshakes.LoginFault) for fault in faults
    ):
        raise UsageError("; ".join(down))
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
            return handshakes.fault_of(proxy, str(error))
        finally:
            stream.abort()
    except Fault as fault:
        return fault
    return None

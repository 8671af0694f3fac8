"""What is found out of proxies and TLS before the first request: that they can work at all.

Laws: a proxy is asked for nothing on the web, only for a name that no network has. Of several
proxies some may be down, as others take their place; one that demands a login is a mistake.
"""

import asyncio

from minicrawl.config import Network
from minicrawl.errors import UsageError
from minicrawl.fetch.by_httpx.dialing import ProxyDialer
from minicrawl.fetch.connection.http1 import ResponseParser, request_bytes
from minicrawl.fetch.proxy import handshakes
from minicrawl.fetch.proxy.proxies import Proxy
from minicrawl.fetch.routing import dialers_of
from minicrawl.fetch.transport import Fault
from minicrawl.fetch.where.name_servers import lookup_of

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

"""Proxies through which hosts are reached.

bypass       hosts that are reached without a proxy
to resolve   a socks5 proxy is given an address that the resolver checked; other proxies are given
             names, which they resolve themselves

Law: in every process, a host always uses the same proxy while that proxy works, and otherwise
another.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from minicrawl.config.host_settings import rules_for
from minicrawl.fetch.http.targets import Origin

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_SCHEMES = ("http", "https")

Network = IPv4Network | IPv6Network


class Proxy(NamedTuple):
    """One proxy; `user` is empty without a login. `str` and `repr` omit the login."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def resolves_names(self) -> bool:
        """True if it is given names rather than addresses."""
        return self.scheme != "socks5"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return str(self)


def parse_proxy(text: str) -> tuple[str, Proxy]:
    """Parse `[http=|https=]URL`: return the scheme of its pages, or nothing for both, and it."""
    is_for_one = text.startswith(("http=", "https="))
    scheme, _, url = text.partition("=") if is_for_one else ("", "", text)
    parts = urlsplit(url)
    return scheme, Proxy(
        parts.scheme,
        parts.hostname or "",
        parts.port or _PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )


class ProxyRoutes:
    def __init__(
        self, proxies: Iterable[str], bypass: Iterable[str], host_settings: Sequence[str] = ()
    ) -> None:
        parsed = [parse_proxy(text) for text in proxies]
        self._of_scheme = {
            scheme: tuple(proxy for of_scheme, proxy in parsed if of_scheme in ("", scheme))
            for scheme in _SCHEMES
        }
        self._host_settings = host_settings
        self._bypasses = [_bypass_test(text) for text in bypass]

    @property
    def proxies(self) -> tuple[Proxy, ...]:
        return tuple(dict.fromkeys(chain.from_iterable(self._of_scheme.values())))

    def proxies_of(self, origin: Origin) -> tuple[Proxy, ...]:
        """Return the proxies for an origin, preferred first; empty if it needs none."""
        if (rule := rules_for(self._host_settings, origin.host).get("proxy")) is not None:
            return tuple(parse_proxy(text)[1] for text in rule.read())
        proxies = self._of_scheme["https" if origin.is_tls else "http"]
        if not proxies or any(matches(origin) for matches in self._bypasses):
            return ()
        if len(proxies) == 1:
            return proxies

        # Rendezvous hashing: if a proxy is removed, only its own hosts move to other proxies.
        def distance(proxy: Proxy) -> bytes:
            return blake2b(f"{origin.host} {proxy}".encode(), digest_size=8).digest()

        return tuple(sorted(proxies, key=distance))


def _bypass_test(text: str) -> Callable[[Origin], bool]:
    """Return a test for a host, domain, address or network, with an optional port, or `*`."""
    if text == "*":
        return lambda _: True
    with suppress(ValueError):
        network = ip_network(text.strip("[]"), strict=False)

        def is_in(origin: Origin) -> bool:
            try:
                return ip_address(origin.host) in network
            except ValueError:
                return False

        return is_in
    name, colon, port_text = text.rpartition(":")
    port = int(port_text) if colon and port_text.isdigit() else None
    name = (text if port is None else name).lower().strip("[]").removeprefix("*").strip(".")

    def matches(origin: Origin) -> bool:
        host = origin.host.rstrip(".")
        is_named = host == name or host.endswith(f".{name}")
        return is_named and port in (None, origin.port)

    return matches

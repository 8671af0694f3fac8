"""Proxies, and which of them a host is asked through.

bypass       hosts that are asked without a proxy
to resolve   a proxy of socks5 is given an address that we have judged; all others are given names,
             which they resolve by themselves

Law: a host has always the same proxy while that one works, in every process; another one takes its
place while it does not.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from minicrawl.fetch.where.targets import Origin

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_SCHEMES = ("http", "https")

Network = IPv4Network | IPv6Network


class Proxy(NamedTuple):
    """One proxy; without a login, `user` is empty. It is shown without its login."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def is_socks(self) -> bool:
        """Whether it speaks SOCKS, and not HTTP."""
        return self.scheme.startswith("socks")

    @property
    def resolves_names(self) -> bool:
        """Whether it is given names, and not addresses."""
        return self.scheme != "socks5"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return str(self)


class NamedProxy(NamedTuple):
    """A proxy for pages of one scheme, or of both if `scheme` is empty."""

    scheme: str
    proxy: Proxy


def parse_proxy(text: str) -> NamedProxy:
    """`[http=|https=]URL`; the settings have checked it."""
    is_for_one = text.startswith(("http=", "https="))
    scheme, _, url = text.partition("=") if is_for_one else ("", "", text)
    parts = urlsplit(url)
    return NamedProxy(
        scheme,
        Proxy(
            parts.scheme,
            parts.hostname or "",
            parts.port or _PORTS[parts.scheme],
            unquote(parts.username or ""),
            unquote(parts.password or ""),
        ),
    )


class ProxyRoutes:
    """The proxies of all hosts."""

    def __init__(self, proxies: Iterable[str], bypass: Iterable[str]) -> None:
        named = [parse_proxy(text) for text in proxies]
        self._of_scheme = {
            scheme: tuple(one.proxy for one in named if one.scheme in ("", scheme))
            for scheme in _SCHEMES
        }
        self._bypasses = [_bypass(text) for text in bypass]

    @property
    def proxies(self) -> tuple[Proxy, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys(it for some in self._of_scheme.values() for it in some))

    def proxies_of(self, origin: Origin) -> tuple[Proxy, ...]:
        """The proxies for this host, its own first; none if it is asked without one."""
        proxies = self._of_scheme["https" if origin.is_tls else "http"]
        if not proxies or any(matches(origin) for matches in self._bypasses):
            return ()
        if len(proxies) == 1:
            return proxies
        return tuple(sorted(proxies, key=lambda proxy: _distance(origin.host, proxy)))

    def are_names_resolved_for(self, origin: Origin) -> bool:
        """Whether the proxies of this host resolve its name."""
        return any(proxy.resolves_names for proxy in self.proxies_of(origin))


def _distance(host: str, proxy: Proxy) -> bytes:
    """Orders the proxies for a host: a proxy that is taken out moves no host but its own."""
    return blake2b(f"{host} {proxy}".encode(), digest_size=8).digest()


# ---------------------------------------------------------------- hosts without a proxy


def _bypass(text: str) -> Callable[[Origin], bool]:
    """A host, a domain, an address or a network, perhaps with a port; or all."""
    if text == "*":
        return lambda _: True
    if (network := _network(text)) is not None:
        return lambda origin: _is_in(origin.host, network)
    name, port = _split(text)
    name = name.lower().strip("[]").removeprefix("*").lstrip(".").rstrip(".")

    def matches(origin: Origin) -> bool:
        host = origin.host.rstrip(".")
        is_named = host == name or host.endswith(f".{name}")
        return is_named and port in (None, origin.port)

    return matches


def _split(text: str) -> tuple[str, int | None]:
    name, colon, port = text.rpartition(":")
    return (name, int(port)) if colon and port.isdigit() else (text, None)


def _network(text: str) -> Network | None:
    try:
        return ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return None


def _is_in(host: str, network: Network) -> bool:
    try:
        return ip_address(host) in network
    except ValueError:
        return False


def as_lines(proxies: Sequence[Proxy]) -> str:
    """The proxies in one line, without their logins."""
    return ", ".join(map(str, proxies))

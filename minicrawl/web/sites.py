"""Sites: hosts that belong together, by the Public Suffix List of tldextract.

host                 site
www.shop.example     shop.example: its registrable domain
ann.github.io        ann.github.io: the private section of the list counts, too
localhost, co.uk     itself: it has no registrable domain
192.0.2.7            192.0.2.0/24, and a /64 of IPv6: such a network mostly has one owner
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.util import find_spec
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract

_ENDS_OF_ADDRESSES = frozenset("0123456789]")
"""Last characters of addresses, which need no look-up in the list."""
_HOST_BITS_6, _HOST_BITS_4 = 64, 8
_PUNYCODE = "xn--"


def is_address(host: str) -> bool:
    """Return True if the host of a canonical URL is an IP address."""
    return host[-1:] in _ENDS_OF_ADDRESSES


def site_or_address(host: str) -> str:
    """Return the site of a host; an IP address is a site of its own here, unlike in `site`."""
    return host if is_address(host) else site(host)


@lru_cache(maxsize=1 << 14)
def site(host: str) -> str:
    """Return the site of the host of a canonical URL."""
    if is_address(host):
        return _network(host)
    return _below_suffix(host.rstrip(".")) or host


def _below_suffix(host: str) -> str:
    """Look up the site in the list, 10 times as fast as tldextract. Crawls do it for every host.

    Empty if the host is a suffix itself. Under an unknown top-level domain, every name of two
    labels is registrable.
    """
    suffixes, before, name = _suffixes(), "", host
    while True:
        label, _, above = name.partition(".")
        if f"!{name}" in suffixes:
            return name
        if not above or name in suffixes or f"*.{above}" in suffixes:
            return f"{before}.{name}" if before else ""
        before, name = label, above


def has_public_suffix(host: str) -> bool:
    """Return True if the host is a name below a suffix of the list, such as example.org."""
    parts = _extract().extract_str(host)
    return bool(parts.suffix and parts.domain)


def domains(host: str) -> tuple[str | None, ...] | None:
    """Return registry suffix and registered domain of a host, and both with private suffixes.

    None for an IP address. For `a.b.github.io` they are io, github.io, github.io and b.github.io.
    """
    if is_address(host):
        return None
    parts = _extract().extract_str(host)
    return tuple(
        part or None
        for part in (
            parts.registry_suffix,
            parts.top_domain_under_registry_suffix,
            parts.suffix,
            parts.top_domain_under_public_suffix,
        )
    )


def _network(host: str) -> str:
    try:
        if host[0] != "[":
            return _of_ipv4(IPv4Address(host))
        address = IPv6Address(host.strip("[]"))
    except AddressValueError:
        return host  # a name that looks like an address
    carried = address.ipv4_mapped or address.sixtofour
    if carried is not None:
        return _of_ipv4(carried)
    first = IPv6Address(int(address) >> _HOST_BITS_6 << _HOST_BITS_6)
    return f"[{first}]/{first.max_prefixlen - _HOST_BITS_6}"


def _of_ipv4(address: IPv4Address) -> str:
    first = IPv4Address(int(address) >> _HOST_BITS_4 << _HOST_BITS_4)
    return f"{first}/{first.max_prefixlen - _HOST_BITS_4}"


@cache
def _suffixes() -> frozenset[str]:
    """Return the suffixes of the list, and those in other scripts in ASCII, too."""
    suffixes = [*_listed()]
    # The labels of the list are in their canonical form, so this is all that IDNA does.
    ascii_suffixes = (
        ".".join(
            label if label.isascii() else f"{_PUNYCODE}{label.encode('punycode').decode()}"
            for label in suffix.split(".")
        )
        for suffix in suffixes
        if not suffix.isascii()
    )
    return frozenset((*suffixes, *ascii_suffixes))


def _listed() -> Iterable[str]:
    package = find_spec("tldextract")
    for place in (package and package.submodule_search_locations) or ():
        file = Path(place, ".tld_set_snapshot")
        if file.exists():
            lines = (line.rstrip() for line in file.read_text(encoding="utf-8").splitlines())
            return (line for line in lines if line and not line.startswith("//"))
    return _extract().tlds  # this tldextract keeps the list in another file


@cache
def _extract() -> "TLDExtract":
    """Return an extractor. tldextract is imported on first use, as it imports an HTTP client."""
    from tldextract import TLDExtract

    # No network and no cache folder: the answer depends only on the host.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)

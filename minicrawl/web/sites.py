"""Sites: which hosts belong together, by the Public Suffix List that comes with tldextract.

Law: the site of a host is its registrable domain; a host that has none, such as `localhost` or a
suffix itself, is its own site. Under a suffix where strangers get a name each, such as github.io,
every name is a site of its own. Addresses belong to the network that their owner got as a whole, a
/24 of IPv4 or a /64 of IPv6: whoever has one of its addresses mostly has the others as well.
"""

from __future__ import annotations

from functools import cache, lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract


_ENDS_OF_ADDRESSES = frozenset("0123456789]")
"""A name that ends so is an address: no list has to be loaded to tell."""
_HOST_BITS_6, _HOST_BITS_4 = 64, 8


def is_address(host: str) -> bool:
    """Whether a host as canonical URLs spell it is an address, not a name."""
    return host[-1:] in _ENDS_OF_ADDRESSES


@lru_cache(maxsize=1 << 13)
def site(host: str) -> str:
    """The site of a host as canonical URLs spell it."""
    if is_address(host):
        return _network(host)
    found = _extract().extract_str(host)
    if not found.suffix and found.subdomain:
        # Under an ending that is on no list, each name of two labels is registrable.
        return f"{found.subdomain.rpartition('.')[2]}.{found.domain}"
    return found.top_domain_under_public_suffix or host


def _network(host: str) -> str:
    """The network of an address, as such are written."""
    try:
        if host[0] != "[":
            return _of_ipv4(IPv4Address(host))
        address = IPv6Address(host.strip("[]"))
    except AddressValueError:
        return host  # a name that ends like an address is nobody's
    carried = address.ipv4_mapped or address.sixtofour
    if carried is not None:
        return _of_ipv4(carried)
    first = IPv6Address(int(address) >> _HOST_BITS_6 << _HOST_BITS_6)
    return f"[{first}]/{first.max_prefixlen - _HOST_BITS_6}"


def _of_ipv4(address: IPv4Address) -> str:
    first = IPv4Address(int(address) >> _HOST_BITS_4 << _HOST_BITS_4)
    return f"{first}/{first.max_prefixlen - _HOST_BITS_4}"


@cache
def _extract() -> TLDExtract:
    """Made when the first host is asked for: it comes with a whole HTTP client."""
    from tldextract import TLDExtract

    # Neither the network nor a folder of the user: the answer depends on the host alone.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)

"""Sites: which hosts belong together, by the Public Suffix List that comes with tldextract.

Law: the site of a host is its registrable domain; a host that has none, such as an IP address,
`localhost` or a suffix itself, is its own site. Under a suffix where strangers get a name each,
such as github.io, every name is a site of its own.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract


_ENDS_OF_ADDRESSES = frozenset("0123456789]")
"""A name that ends so is an address: no list has to be loaded to tell."""


@lru_cache(maxsize=1 << 13)
def site(host: str) -> str:
    """The site of a host as canonical URLs spell it."""
    if host[-1:] in _ENDS_OF_ADDRESSES:
        return host
    found = _extract().extract_str(host)
    if not found.suffix and found.subdomain:
        # Under an ending that is on no list, each name of two labels is registrable.
        return f"{found.subdomain.rpartition('.')[2]}.{found.domain}"
    return found.top_domain_under_public_suffix or host


@cache
def _extract() -> TLDExtract:
    """Made when the first host is asked for: it comes with a whole HTTP client."""
    from tldextract import TLDExtract

    # Neither the network nor a folder of the user: the answer depends on the host alone.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)

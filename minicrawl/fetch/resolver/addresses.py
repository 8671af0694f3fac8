"""Public addresses. The list is our own, because the standard library's has gaps.

An address is public if a web server there can be reached from anywhere. If an IPv6 address embeds
the IPv4 address that receives the packets, the IPv4 address is checked. The ranges are those of
IANA's special-purpose address registries.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_NOT_PUBLIC_4 = (
    IPv4Network("0.0.0.0/8"),  # this network
    IPv4Network("10.0.0.0/8"),  # private
    IPv4Network("100.64.0.0/10"),  # behind a carrier's NAT
    IPv4Network("127.0.0.0/8"),  # loopback
    IPv4Network("168.63.129.16/32"),  # a cloud's internal services, at a public address
    IPv4Network("169.254.0.0/16"),  # link-local, and the metadata of clouds
    IPv4Network("172.16.0.0/12"),  # private
    IPv4Network("192.0.0.0/24"),  # protocol assignments
    IPv4Network("192.0.2.0/24"),  # documentation
    IPv4Network("192.88.99.0/24"),  # 6to4 relays, deprecated
    IPv4Network("192.168.0.0/16"),  # private
    IPv4Network("198.18.0.0/15"),  # benchmarks
    IPv4Network("198.51.100.0/24"),  # documentation
    IPv4Network("203.0.113.0/24"),  # documentation
    IPv4Network("224.0.0.0/4"),  # multicast
    IPv4Network("240.0.0.0/4"),  # reserved, and broadcast
)

_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = (
    IPv6Network("2001::/23"),  # protocol assignments: Teredo, benchmarks, overlays
    IPv6Network("2001:db8::/32"),  # documentation
    IPv6Network("3fff::/20"),  # documentation
)

# Prefixes that embed an IPv4 address, and the number of bits after it.
_CARRIES_4 = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)


def is_public(address: Address) -> bool:
    """Return True if a link on any page may lead the crawl to this address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    for network, bits_after in _CARRIES_4:
        if address in network:
            return is_public(IPv4Address(int(address) >> bits_after & 0xFFFF_FFFF))
    return address in _GLOBAL_UNICAST_6 and not any(address in net for net in _NOT_PUBLIC_6)

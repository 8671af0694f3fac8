from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, strategies as st

from minicrawl.fetch.resolver.addresses import is_public

PRIVATE = [
    *("0.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1"),
    *("168.63.129.16", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.9"),
    *("192.168.0.1", "198.19.255.255", "203.0.113.7", "239.255.255.255", "255.255.255.255"),
    *("::", "::1", "::127.0.0.1", "64:ff9b:1::1", "100::1", "2001::7f00:1", "2001:db8::1"),
    *("3fff::1", "4000::1", "5f00::1", "fc00::1", "fe80::1%2", "fec0::1", "ff02::1"),
]
PUBLIC = [
    *("1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"),
    *("172.15.255.255", "172.32.0.0", "192.0.1.0", "198.17.255.255", "198.20.0.0"),
    *("223.255.255.255", "2606:2800:220:1:248:1893:25c8:1946"),
]


@pytest.mark.parametrize("address", PRIVATE + PUBLIC)
def test_addresses_outside_of_special_ranges_are_public(address: str) -> None:
    assert is_public(ip_address(address)) == (address in PUBLIC)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_an_ipv6_address_is_judged_as_itself(inner: IPv4Address) -> None:
    for carrier in (0xFFFF << 32 | int(inner), 0x64FF9B << 96 | int(inner)):
        assert is_public(IPv6Address(carrier)) == is_public(inner)
    assert is_public(IPv6Address(0x2002 << 112 | int(inner) << 80 | 1)) == is_public(inner)


@given(st.ip_addresses(v=4))
def test_public_addresses_are_global_in_the_standard_library_too(address: IPv4Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast

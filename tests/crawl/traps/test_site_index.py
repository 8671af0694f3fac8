"""The sites of hosts, and the networks of their addresses."""

import numpy as np

from minicrawl.crawl.quotas import SiteIndex
from minicrawl.frontier.url_table import UNKNOWN, SiteTable

ORIGINS = [
    "http://www.good.example",
    "https://shop.good.example:8443",
    "http://good.example.org",
    "http://198.41.0.4",
    "http://198.41.0.9",
]
WWW, SHOP, OTHER, ADDRESS, NEIGHBOUR = range(len(ORIGINS))


def index_of(found: list[tuple[int, int]] | None = None) -> SiteIndex:
    heard = [] if found is None else found
    return SiteIndex(SiteTable(ORIGINS), lambda host, site: heard.append((host, site)))


def test_sites_are_looked_up_once_and_on_demand() -> None:
    found: list[tuple[int, int]] = []
    index = index_of(found)
    hosts = np.array((WWW, SHOP, WWW), dtype=np.uint32)
    index.grow()
    assert index.known_sites(hosts).tolist() == [UNKNOWN] * 3
    assert index.sites(hosts).tolist() == [0, 0, 0]
    assert index.known_sites(hosts).tolist() == [0, 0, 0]
    assert index.site(WWW) == 0
    assert sorted(found) == [(WWW, 0), (SHOP, 0)]


def test_many_pairs_of_hosts_can_be_compared_at_once() -> None:
    hosts = np.array((WWW, WWW, WWW, ADDRESS), dtype=np.uint32)
    others = np.array((SHOP, OTHER, ADDRESS, NEIGHBOUR), dtype=np.uint32)
    assert index_of().differ(hosts, others).tolist() == [False, True, True, False]

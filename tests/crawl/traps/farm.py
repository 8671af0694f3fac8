"""A good site, a farm of two hosts and a blog, which give cash to each other."""

from array import array
from collections.abc import Sequence

from minicrawl.crawl.admission.quotas import Quotas
from minicrawl.frontier.url_table import SiteTable
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT

GOOD, FARM_1, FARM_2, BLOG = range(4)
ORIGINS = [
    "http://www.good.example",
    "http://h1.farm.example",
    "http://h2.farm.example:8080",
    "http://blog.other.co.uk",
]
PAGES = array("I", [GOOD, FARM_1, FARM_2, BLOG] * 3)
"""Host of each page: pages 1, 2, 5, 6, 9 and 10 belong to the farm."""


def quotas_of(host_pages: int | None = 3, site_pages: int | None = 99) -> Quotas:
    return Quotas(host_pages, site_pages, SiteTable(ORIGINS), PAGES)


def spend(quotas: Quotas, host: int, pages: int) -> None:
    for _ in range(pages):
        quotas.spend(host)


def pages_left(quotas: Quotas, host: int) -> int:
    """Read pages of the host until one is refused. Return how many were read."""
    read = 0
    while quotas.refusal(host) is None:
        quotas.spend(host)
        read += 1
    return read


def give(quotas: Quotas, host: int, links: Sequence[int], units: float) -> None:
    """Let a page of the host give `units` to each of the pages in `links`."""
    share = int(units * UNIT)
    quotas.inbound_cash.add(host, [Plan(0, share * len(links), links, share, (), 0)])

"""Cash that hosts, sites and networks get from others, and which host ranks higher by it."""

from array import array

import numpy as np
import pytest

from minicrawl.crawl.admission.inbound_cash import PAGES_A_UNIT
from minicrawl.crawl.admission.quotas import A_HOST, Quotas
from minicrawl.frontier.url_table import SiteTable
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT
from tests.crawl.traps.farm import BLOG, FARM_1, FARM_2, GOOD, give, pages_left, quotas_of, spend


def test_links_from_other_sites_let_a_host_have_more() -> None:
    quotas = quotas_of()
    spend(quotas, BLOG, 3)
    give(quotas, GOOD, [BLOG, 0], 1)
    assert pages_left(quotas, BLOG) == PAGES_A_UNIT


def test_cash_from_other_shards_lets_a_host_have_more() -> None:
    """A shard owns whole sites, so this cash comes from other sites."""
    quotas = quotas_of()
    spend(quotas, BLOG, 3)
    assert quotas.refusal(BLOG) is not None
    quotas.inbound_cash.receive([BLOG], [UNIT])
    assert quotas.refusal(BLOG) is None
    assert quotas.inbound_cash.outranks(BLOG, GOOD)


def test_weighted_links_count_as_much_as_others() -> None:
    quotas = quotas_of()
    spend(quotas, BLOG, 3)
    quotas.inbound_cash.add(GOOD, [Plan(0, UNIT, (), 0, [(BLOG, UNIT), (GOOD, UNIT)], 0)])
    assert quotas.refusal(BLOG) is None
    spend(quotas, GOOD, 3)
    assert quotas.refusal(GOOD) is not None


def test_hosts_of_one_site_earn_from_each_other_only_as_hosts() -> None:
    quotas = quotas_of(host_pages=3, site_pages=100)
    spend(quotas, FARM_1, 3)
    give(quotas, FARM_2, [1], 1)
    assert quotas.refusal(FARM_1) is None


def test_a_host_outranks_another_by_cash_from_others_or_if_the_user_vouches_for_it() -> None:
    quotas = quotas_of()
    assert quotas.inbound_cash.outranks(GOOD, BLOG)
    give(quotas, FARM_1, [BLOG], 1)
    assert quotas.inbound_cash.outranks(BLOG, GOOD)
    quotas.vouch([GOOD])
    assert quotas.inbound_cash.outranks(GOOD, BLOG)


def test_the_host_that_gets_more_from_other_sites_outranks_one_of_another_site() -> None:
    quotas = quotas_of()
    give(quotas, FARM_2, [1], 100)
    give(quotas, GOOD, [BLOG], 1)
    assert quotas.inbound_cash.outranks(BLOG, FARM_1)
    assert quotas.inbound_cash.overtakes(BLOG, FARM_1)
    assert quotas.inbound_cash.outranks(FARM_1, FARM_2)


def test_a_host_overtakes_another_only_by_a_margin() -> None:
    quotas = quotas_of()
    give(quotas, BLOG, [GOOD], 1)
    give(quotas, GOOD, [BLOG], 1.2)
    assert quotas.inbound_cash.outranks(BLOG, GOOD)
    assert not quotas.inbound_cash.overtakes(BLOG, GOOD)
    give(quotas, GOOD, [BLOG], 0.1)
    assert quotas.inbound_cash.overtakes(BLOG, GOOD)
    quotas.vouch([GOOD])
    assert not quotas.inbound_cash.overtakes(BLOG, GOOD)
    assert quotas.inbound_cash.overtakes(GOOD, BLOG)


def test_cash_from_addresses_counts_before_and_after_the_site_of_a_host_is_known() -> None:
    origins = ["http://198.41.0.4", "http://a.good.example", "http://b.good.example"]
    quotas = Quotas(None, 2 * (A_HOST + 1) + 1, SiteTable(origins), array("I", [0, 1, 2]))
    give(quotas, 0, [1, 2], 3 / PAGES_A_UNIT)
    given, to_hosts = quotas.inbound_cash.from_strangers(np.array((0, 1, 2)))
    assert given.tolist() == to_hosts.tolist() == [0, given[1], given[1]]
    assert given[1] > 0
    quotas.spend(1)
    quotas.spend(2)
    give(quotas, 0, [1], 1 / PAGES_A_UNIT)
    assert pages_left(quotas, 1) == 3 + 3 + 1 + 1  # cash of both hosts
    assert quotas.refusal(2) is not None


WWW, ADDRESS = "http://www.good.example", "http://198.41.0.4"


@pytest.mark.parametrize(
    ("giver", "taker", "counts"),
    [
        (WWW, "https://shop.good.example:8443", False),
        (WWW, "http://good.example.org", True),
        (WWW, ADDRESS, True),
        (ADDRESS, "http://198.41.0.9", False),
    ],
)
def test_only_cash_from_other_sites_and_networks_counts(
    giver: str, taker: str, counts: bool
) -> None:
    quotas = Quotas(None, None, SiteTable([giver, taker]), array("I", [0, 1]))
    give(quotas, 0, [1], 1)
    given, _ = quotas.inbound_cash.from_strangers(np.array((0, 1)))
    assert (given[1] > 0) == counts


@pytest.mark.parametrize("pages", [1, 400])
def test_no_gift_is_lost_when_many_are_counted_at_once(pages: int) -> None:
    quotas = quotas_of(host_pages=1, site_pages=None)
    for _ in range(pages):
        give(quotas, GOOD, [BLOG] * 100, 1 / PAGES_A_UNIT)
    assert pages_left(quotas, BLOG) == 100 * pages + 1

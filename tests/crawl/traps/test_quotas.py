"""Quotas of pages for hosts, sites and networks."""

from array import array

import numpy as np
import pytest

from minicrawl.crawl.admission.quotas import A_HOST, MOST_A_PAGE, Quotas
from minicrawl.frontier.url_table import SiteTable
from tests.crawl.traps.farm import (
    BLOG,
    FARM_1,
    FARM_2,
    GOOD,
    PAGES,
    give,
    pages_left,
    quotas_of,
    spend,
)


def names(reason: str | None, *parts: str) -> bool:
    return reason is not None and all(part in reason for part in parts)


def test_a_host_without_links_from_others_has_the_initial_quota() -> None:
    quotas = quotas_of()
    assert pages_left(quotas, BLOG) == 3
    assert names(quotas.refusal(BLOG), "its host has had 3 pages", "--site-pages 3")


@pytest.mark.parametrize(
    ("limits", "left"), [((4, 99), 1), ((99, A_HOST + 3), 0), ((99, A_HOST + 4), 1)]
)
def test_a_page_counts_as_many_times_as_it_reveals_pages_of_its_host(
    limits: tuple[int, int], left: int
) -> None:
    """It counts so for the host and for its site."""
    quotas = quotas_of(*limits)
    quotas.spend(BLOG)
    quotas.spend_on_new(BLOG, [BLOG, BLOG + 4, BLOG + 8, GOOD, FARM_1])
    assert pages_left(quotas, BLOG) == left


def test_pages_that_each_reveal_one_page_count_once() -> None:
    quotas = quotas_of(host_pages=3)
    for _ in range(2):
        quotas.spend(BLOG)
        quotas.spend_on_new(BLOG, [BLOG + 4])
    assert pages_left(quotas, BLOG) == 1


def test_no_page_counts_more_than_ten_times() -> None:
    quotas = quotas_of(host_pages=MOST_A_PAGE + 1)
    quotas.spend_on_new(BLOG, [BLOG] * 1000)
    quotas.spend(BLOG)
    assert pages_left(quotas, BLOG) == 1


def test_a_new_host_costs_its_site_as_much_as_some_pages() -> None:
    quotas = quotas_of(host_pages=99, site_pages=A_HOST + 3)
    spend(quotas, FARM_1, 2)
    assert pages_left(quotas, FARM_2) == 1
    assert quotas.refusal(FARM_1) is not None


def test_a_host_is_charged_when_it_is_asked_and_its_first_page_is_included() -> None:
    """Otherwise all hosts of a farm could be asked before the first page is charged."""
    quotas = quotas_of(host_pages=99, site_pages=A_HOST + 1)
    quotas.spend_on_host(FARM_1)
    assert quotas.refusal(FARM_2) is not None
    assert quotas.refusal(FARM_1) is None
    quotas.spend(FARM_1)
    quotas.spend_on_host(FARM_1)  # for its sitemap
    assert quotas.refusal(FARM_1) is not None


def test_a_host_that_was_asked_is_charged_to_its_network_as_well() -> None:
    quotas = quotas_of(host_pages=None, site_pages=2)
    for host in (FARM_1, BLOG):
        quotas.spend_on_host(host)
        quotas.locate(host, "198.41.0.4")
        quotas.spend(host)
    quotas.locate(GOOD, "198.41.0.4")
    assert names(quotas.refusal(GOOD), "what is at 198.41.0.4")


def test_without_limits_no_host_is_refused() -> None:
    quotas = quotas_of(None, None)
    spend(quotas, BLOG, 1000)
    assert quotas.refusal(BLOG) is None


@pytest.mark.parametrize(
    ("one", "other", "is_shared"),
    [
        ("2a00:1:2:3::1", "2a00:1:2:3:4:5:6:7", True),
        ("2a00:1:2:3::1", "2a00:1:2:4::1", False),
        ("198.41.0.4", "198.41.0.5", False),
        ("127.0.0.1", "127.0.0.1", False),
        ("10.0.0.1", "10.0.0.1", False),
        ("fd00::1", "fd00::1", False),
        ("proxy", "proxy", False),
    ],
)
def test_hosts_share_public_addresses_or_networks(one: str, other: str, is_shared: bool) -> None:
    quotas = quotas_of(host_pages=None, site_pages=30)
    quotas.locate(FARM_1, one)
    quotas.locate(BLOG, other)
    spend(quotas, FARM_1, 30 - A_HOST)
    spend(quotas, BLOG, A_HOST)
    assert (quotas.refusal(BLOG) is not None) == is_shared


def test_an_address_earns_only_from_sites_at_other_addresses() -> None:
    quotas = quotas_of(host_pages=None, site_pages=12)
    for host in (FARM_1, FARM_2, BLOG):
        quotas.locate(host, "198.41.0.4")
    spend(quotas, BLOG, 1)
    spend(quotas, FARM_1, 11)
    give(quotas, FARM_2, [BLOG], 100)
    assert quotas.refusal(BLOG) is not None
    give(quotas, GOOD, [FARM_1], 1)
    assert quotas.refusal(BLOG) is None


def test_a_host_that_the_user_vouches_for_uses_no_quota_of_its_network() -> None:
    quotas = quotas_of(host_pages=None, site_pages=30)
    quotas.vouch([GOOD])
    for host in (GOOD, BLOG):
        quotas.locate(host, "198.41.0.4")
    spend(quotas, GOOD, 1000)
    assert quotas.refusal(GOOD) is None
    assert quotas.refusal(BLOG) is None


def test_pages_of_an_earlier_run_count_once_the_address_of_their_host_is_known() -> None:
    quotas = quotas_of(host_pages=None, site_pages=60)
    quotas.restore([(BLOG, 50), (FARM_1, 5)])
    for host in (BLOG, FARM_1):
        quotas.locate(host, "198.41.0.4")
    quotas.locate(BLOG, "198.41.0.4")
    assert 0 < pages_left(quotas, FARM_1) <= 5


def test_pages_are_reopened_up_to_the_quota_of_their_address() -> None:
    quotas = quotas_of(host_pages=None, site_pages=4)
    for host in (GOOD, BLOG):
        quotas.locate(host, "198.41.0.4")
    assert quotas.with_room(np.arange(len(PAGES))) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_seed_at_an_address_vouches_for_the_address_and_not_for_its_network() -> None:
    origins = ["http://198.41.0.4", "http://198.41.0.5"]
    quotas = Quotas(None, 12, SiteTable(origins), array("I", [0, 1]))
    quotas.vouch([0])
    spend(quotas, 0, 1000)
    assert quotas.refusal(0) is None
    assert pages_left(quotas, 1) == 2
    assert names(quotas.refusal(1), "198.41.0.0/24 has had 12 pages")


def test_a_host_has_to_earn_more_pages_than_an_earlier_run_read() -> None:
    quotas = quotas_of()
    quotas.restore([(BLOG, 50), (GOOD, 1)])
    assert quotas.refusal(BLOG) is not None
    give(quotas, GOOD, [BLOG], 1)
    assert quotas.refusal(BLOG) is None
    assert quotas.refusal(GOOD) is None


def test_pages_are_reopened_up_to_the_quotas_of_their_host_and_site() -> None:
    quotas = quotas_of(host_pages=2, site_pages=4)
    everything = np.arange(len(PAGES))
    assert quotas.with_room(everything) == [0, 1, 2, 3, 4, 5, 6, 7]
    quotas.restore([(FARM_1, 1)])
    assert quotas.with_room(everything) == [0, 3, 4, 7]
    quotas.vouch([FARM_2])
    assert quotas.with_room(everything) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]

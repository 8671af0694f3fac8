"""What hosts and sites may have, by what others give them."""

from array import array
from collections.abc import Sequence

import numpy as np
import pytest

from minicrawl.config import Traps
from minicrawl.crawl.traps.quota_accounts import PAGES_A_UNIT
from minicrawl.crawl.traps.quotas import A_HOST, MOST_A_PAGE, Quotas
from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT

GOOD, FARM_1, FARM_2, BLOG = range(4)
ORIGINS = [
    "http://www.good.example",
    "http://h1.farm.example",
    "http://h2.farm.example:8080",
    "http://blog.other.co.uk",
]
PAGES = array("I", [GOOD, FARM_1, FARM_2, BLOG] * 3)
"""The host of each page: page 1 is one of the farm, and so are 2, 5, 6, 9 and 10."""


def allowances(host_pages: int | None = 3, site_pages: int | None = 99) -> Quotas:
    limits = Traps(host_pages=host_pages, site_pages=site_pages)
    return Quotas(limits, ORIGINS, PAGES)


def spend(books: Quotas, host: int, pages: int) -> None:
    for _ in range(pages):
        books.spend(host)


def give(books: Quotas, host: int, links: Sequence[int], units: float) -> None:
    """A page of the host gives so much to each of these pages."""
    share = int(units * UNIT)
    books.earn(host, [Plan(0, share * len(links), links, share, (), 0)])


def test_a_host_that_nobody_links_to_has_what_all_begin_with() -> None:
    books = allowances()
    spend(books, BLOG, 2)
    assert books.refusal(BLOG) is None
    spend(books, BLOG, 1)
    assert books.refusal(BLOG) == (
        "its host has had 3 pages, 0 of them for what others gave it, "
        "each as many as it led to, up to 10: --host-pages 3"
    )


def test_a_page_counts_as_the_new_ones_of_its_host_that_it_leads_to() -> None:
    books = allowances(host_pages=4)
    books.spend(BLOG)
    books.led_to(BLOG, [BLOG, BLOG + 4, BLOG + 8, GOOD, FARM_1])
    assert books.refusal(BLOG) is None
    spend(books, BLOG, 1)
    assert books.refusal(BLOG) is not None


def test_so_it_does_for_its_site() -> None:
    books = allowances(host_pages=99, site_pages=A_HOST + 3)
    books.spend(BLOG)
    books.led_to(BLOG, [BLOG, BLOG + 4, BLOG + 8])
    assert books.refusal(BLOG) is not None


def test_where_each_page_leads_to_one_more_they_count_as_what_they_are() -> None:
    books = allowances(host_pages=3)
    for _ in range(2):
        books.spend(BLOG)
        books.led_to(BLOG, [BLOG + 4])
    assert books.refusal(BLOG) is None


def test_no_page_counts_for_more_than_ten() -> None:
    books = allowances(host_pages=MOST_A_PAGE + 1)
    books.led_to(BLOG, [BLOG] * 1000)
    books.spend(BLOG)
    assert books.refusal(BLOG) is None
    spend(books, BLOG, 1)
    assert books.refusal(BLOG) is not None


def test_links_from_other_sites_let_a_host_have_more() -> None:
    books = allowances()
    spend(books, BLOG, 3)
    give(books, GOOD, [BLOG, 0], 1)
    for _ in range(PAGES_A_UNIT):
        assert books.refusal(BLOG) is None
        spend(books, BLOG, 1)
    assert books.refusal(BLOG) is not None


def test_weighted_links_count_as_much_as_others() -> None:
    books = allowances()
    spend(books, BLOG, 3)
    books.earn(GOOD, [Plan(0, UNIT, (), 0, [(BLOG, UNIT), (GOOD, UNIT)], 0)])
    assert books.refusal(BLOG) is None
    spend(books, GOOD, 3)
    assert books.refusal(GOOD) is not None


def test_a_farm_that_links_to_itself_stays_where_it_began() -> None:
    books = allowances(host_pages=None, site_pages=39)
    for number in range(20):
        books.spend(FARM_1 + number % 2)
        give(books, FARM_1 + number % 2, [1, 2, 5, 6], 10)
    reason = books.refusal(FARM_1)
    assert reason is not None
    assert reason.startswith("farm.example has had 40 pages, 0 of them for what others gave it")
    assert reason.endswith("--site-pages 39")


def test_hosts_of_one_site_earn_from_each_other_only_as_hosts() -> None:
    books = allowances(host_pages=3, site_pages=100)
    spend(books, FARM_1, 3)
    give(books, FARM_2, [1], 1)
    assert books.refusal(FARM_1) is None


def test_a_new_host_costs_its_site_as_much_as_some_pages() -> None:
    books = allowances(host_pages=99, site_pages=A_HOST + 3)
    spend(books, FARM_1, 2)
    assert books.refusal(FARM_2) is None
    spend(books, FARM_2, 1)
    assert books.refusal(FARM_1) is not None


def test_whoever_the_user_vouches_for_has_no_limit_on_any_host_of_its_site() -> None:
    books = allowances()
    books.vouch([FARM_1])
    spend(books, FARM_2, 1000)
    assert books.refusal(FARM_2) is None


def test_without_limits_nobody_is_refused() -> None:
    books = allowances(None, None)
    spend(books, BLOG, 100_000)
    assert books.refusal(BLOG) is None


def test_a_host_outranks_another_by_what_it_earned_or_by_who_vouches_for_it() -> None:
    books = allowances()
    assert books.outranks(GOOD, BLOG)
    give(books, FARM_1, [BLOG], 1)
    assert books.outranks(BLOG, GOOD)
    books.vouch([GOOD])
    assert books.outranks(GOOD, BLOG)


def test_of_hosts_of_different_sites_the_one_counts_more_that_other_sites_give_to() -> None:
    books = allowances()
    give(books, FARM_2, [1], 100)
    give(books, GOOD, [BLOG], 1)
    assert books.outranks(BLOG, FARM_1)
    assert books.overtakes(BLOG, FARM_1)
    assert books.outranks(FARM_1, FARM_2)


def test_who_came_out_as_the_lesser_one_must_be_given_more_by_a_margin() -> None:
    books = allowances()
    give(books, BLOG, [GOOD], 1)
    give(books, GOOD, [BLOG], 1.2)
    assert books.outranks(BLOG, GOOD)
    assert not books.overtakes(BLOG, GOOD)
    give(books, GOOD, [BLOG], 0.1)
    assert books.overtakes(BLOG, GOOD)
    books.vouch([GOOD])
    assert not books.overtakes(BLOG, GOOD)
    assert books.overtakes(GOOD, BLOG)


# ---------------------------------------------------------------- addresses


def test_hosts_at_one_address_share_what_a_site_may_have() -> None:
    books = allowances(host_pages=None, site_pages=30)
    for host in (FARM_1, BLOG):
        books.located(host, "198.41.0.4")
    spend(books, FARM_1, 15)
    assert books.refusal(BLOG) is None
    spend(books, BLOG, 15)
    assert books.refusal(BLOG) == (
        "what is at 198.41.0.4 has had 30 pages, 0 of them for what others gave it, "
        "each as many as it led to, up to 10: --site-pages 30"
    )


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
def test_an_address_is_public_and_one_of_ipv4_or_a_network_of_ipv6(
    one: str, other: str, is_shared: bool
) -> None:
    books = allowances(host_pages=None, site_pages=30)
    books.located(FARM_1, one)
    books.located(BLOG, other)
    spend(books, FARM_1, 30 - A_HOST)
    spend(books, BLOG, A_HOST)
    assert (books.refusal(BLOG) is not None) == is_shared


def test_an_address_earns_from_other_sites_at_other_addresses() -> None:
    books = allowances(host_pages=None, site_pages=12)
    for host in (FARM_1, FARM_2, BLOG):
        books.located(host, "198.41.0.4")
    spend(books, BLOG, 1)
    spend(books, FARM_1, 11)
    give(books, FARM_2, [BLOG], 100)
    assert books.refusal(BLOG) is not None
    give(books, GOOD, [FARM_1], 1)
    assert books.refusal(BLOG) is None


def test_whoever_the_user_vouches_for_spends_nothing_of_its_address() -> None:
    books = allowances(host_pages=None, site_pages=30)
    books.vouch([GOOD])
    for host in (GOOD, BLOG):
        books.located(host, "198.41.0.4")
    spend(books, GOOD, 1000)
    assert books.refusal(GOOD) is None
    assert books.refusal(BLOG) is None


def test_what_an_earlier_run_read_counts_for_the_address_when_it_is_known() -> None:
    books = allowances(host_pages=None, site_pages=60)
    books.restore([(BLOG, 50), (FARM_1, 5)])
    for host in (BLOG, FARM_1):
        books.located(host, "198.41.0.4")
    books.located(BLOG, "198.41.0.4")
    assert books.refusal(FARM_1) is None
    spend(books, FARM_1, 5)
    assert books.refusal(FARM_1) is not None


def test_pages_wait_again_as_far_as_there_is_room_at_their_address() -> None:
    books = allowances(host_pages=None, site_pages=4)
    for host in (GOOD, BLOG):
        books.located(host, "198.41.0.4")
    assert books.with_room(np.arange(len(PAGES))) == [0, 1, 2, 3, 4, 5, 6, 7]


# ---------------------------------------------------------------- hosts that are addresses


def test_a_seed_at_an_address_vouches_for_that_one_and_not_for_its_network() -> None:
    origins = ["http://198.41.0.4", "http://198.41.0.5"]
    books = Quotas(Traps(host_pages=None, site_pages=12), origins, array("I", [0, 1]))
    books.vouch([0])
    spend(books, 0, 1000)
    assert books.refusal(0) is None
    spend(books, 1, 1)
    assert books.refusal(1) is None
    spend(books, 1, 1)
    reason = books.refusal(1)
    assert reason is not None
    assert reason.startswith("198.41.0.0/24 has had 12 pages")


def test_what_an_address_gives_is_from_strangers_and_no_list_is_needed_to_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    origins = ["http://198.41.0.4", "http://a.good.example", "http://b.good.example"]
    books = Quotas(
        Traps(host_pages=None, site_pages=2 * (A_HOST + 1) + 1), origins, array("I", [0, 1, 2])
    )
    with monkeypatch.context() as patch:
        patch.setattr("minicrawl.crawl.traps.quotas.site", pytest.fail)
        give(books, 0, [1, 2], 3 / PAGES_A_UNIT)
        given, to_hosts = books.from_strangers(np.array((0, 1, 2)))
    assert given.tolist() == to_hosts.tolist() == [0, given[1], given[1]]
    assert given[1] > 0
    books.spend(1)
    books.spend(2)
    give(books, 0, [1], 1 / PAGES_A_UNIT)
    spend(books, 1, 3 + 3 + 1)  # what both were given before their site was known, and since
    assert books.refusal(2) is None
    spend(books, 1, 1)
    assert books.refusal(2) is not None


def test_what_an_earlier_run_read_was_earned_and_more_has_to_be_earned_anew() -> None:
    books = allowances()
    books.restore([(BLOG, 50), (GOOD, 1)])
    assert books.refusal(BLOG) is not None
    give(books, GOOD, [BLOG], 1)
    assert books.refusal(BLOG) is None
    assert books.refusal(GOOD) is None


def test_pages_wait_again_as_far_as_there_is_room_on_their_host_and_their_site() -> None:
    books = allowances(host_pages=2, site_pages=4)
    everything = np.arange(len(PAGES))
    assert books.with_room(everything) == [0, 1, 2, 3, 4, 5, 6, 7]
    books.restore([(FARM_1, 1)])
    assert books.with_room(everything) == [0, 3, 4, 7]
    books.vouch([FARM_2])
    assert books.with_room(everything) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]


@pytest.mark.parametrize("pages", [1, 400])
def test_gifts_are_counted_many_at_once_and_none_is_lost(pages: int) -> None:
    books = allowances(host_pages=1, site_pages=None)
    for _ in range(pages):
        give(books, GOOD, [BLOG] * 100, 1 / PAGES_A_UNIT)
    spend(books, BLOG, 100 * pages)
    assert books.refusal(BLOG) is None
    spend(books, BLOG, 1)
    assert books.refusal(BLOG) is not None

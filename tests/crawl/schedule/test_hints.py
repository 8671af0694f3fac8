"""Hints of hosts on changed pages count as far as earlier ones were true."""

from array import array
from collections import Counter

import numpy as np
import pytest

from minicrawl.crawl.schedule.hints_of_change import ChangeHints
from tests.crawl.schedule.read_pages import DAY_S, TODAY, Pages, yesterday

DAILY = 1 / DAY_S
PAGE = np.array([0])


def one_page(dated: float | None = None) -> ChangeHints:
    """Return hints for a page that was read for the first time the night before."""
    hints = ChangeHints(array("I", [0]))
    hints.add(0, TODAY - DAY_S, dated)
    return hints


def age_days(hints: ChangeHints, today: float) -> float:
    return float(hints.age_s(PAGE, np.array([TODAY - DAY_S]), today)[0]) / DAY_S


def read_again(hints: ChangeHints, times: int, *, changed: bool) -> None:
    """Read the page again in the same night, after its host denied a change since the last time."""
    for _ in range(times):
        hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY)
        hints.learn(0, DAILY, TODAY - DAY_S, TODAY, None, changed=changed)


def test_hints_of_an_unknown_host_do_not_count() -> None:
    hints = one_page()
    hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY)
    hints.cached(0, TODAY + DAY_S)
    assert age_days(hints, TODAY) == 1


def test_each_expected_change_that_did_not_happen_makes_the_host_more_credible() -> None:
    hints, ages = one_page(), []
    for _ in range(20):
        read_again(hints, 1, changed=False)
        hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY)
        ages.append(age_days(hints, TODAY))
    assert ages == sorted(ages, reverse=True)
    assert ages[-1] == pytest.approx(1 / (1 + 20 * (1 - np.exp(-1))))


def test_a_host_that_denies_as_many_changes_as_happen_is_not_believed() -> None:
    hints = one_page()
    read_again(hints, 10, changed=False)
    read_again(hints, 20, changed=True)
    hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY)
    assert age_days(hints, TODAY) == 1


def test_time_after_the_sitemap_was_read_counts_in_full() -> None:
    hints = one_page()
    read_again(hints, 1000, changed=False)
    hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY)
    assert age_days(hints, TODAY + DAY_S) == pytest.approx(1, abs=0.03)


def test_a_change_after_the_sitemap_was_read_is_no_lie() -> None:
    """The sitemap was read an hour after the page, which changed within the day after."""
    hints = one_page()
    hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY - DAY_S + 3600)
    hints.learn(0, DAILY, TODAY - DAY_S, TODAY, None, changed=True)
    read_again(hints, 100, changed=False)
    for _ in range(10):  # a host that is believed was right until the sitemap was read
        hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY - DAY_S / 2)
        hints.learn(0, DAILY, TODAY - DAY_S, TODAY, None, changed=True)
    hints.listed(0, TODAY - 9 * DAY_S, TODAY - DAY_S, TODAY)
    assert age_days(hints, TODAY) < 0.02


def test_a_fresh_response_is_believed_until_it_is_stale() -> None:
    hints = one_page()
    for _ in range(100):
        hints.cached(0, TODAY)
        hints.learn(0, DAILY, TODAY - DAY_S, TODAY, None, changed=False)
    hints.cached(0, TODAY)
    assert age_days(hints, TODAY) < 0.02
    assert age_days(hints, TODAY + DAY_S) == pytest.approx(1, abs=0.02)


def test_a_host_that_claims_changes_falsely_is_believed_less_and_less() -> None:
    hints, chances, rates = one_page(), [], np.array([DAILY])
    for _ in range(50):
        hints.listed(0, TODAY, TODAY - DAY_S, TODAY)
        chances.append(float(hints.chance(PAGE, rates, np.array([DAY_S]))[0]))
        hints.learn(0, DAILY, TODAY - DAY_S, TODAY, None, changed=False)
    unsaid = float(hints.chance(PAGE, rates, np.array([DAY_S]))[0])
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > unsaid + 0.1
    assert chances[-1] == pytest.approx(unsaid, abs=0.01)


def watched_days(hints: ChangeHints) -> float:
    first, last = np.array([TODAY - DAY_S]), np.array([TODAY])
    return float(hints.watched_s(PAGE, first, last)[0]) / DAY_S


def test_a_page_is_watched_since_its_last_modified_if_such_dates_are_true() -> None:
    hints = one_page(TODAY - 101 * DAY_S)
    assert watched_days(hints) == 1
    for _ in range(9):
        hints.learn(0, DAILY, TODAY - DAY_S, TODAY, TODAY, changed=True)
    assert watched_days(hints) == pytest.approx(1 + 0.9 * 100)


def test_a_date_that_stays_while_the_page_changes_is_a_lie() -> None:
    hints = one_page(TODAY - 101 * DAY_S)
    for _ in range(9):
        hints.learn(0, DAILY, TODAY - DAY_S, TODAY, TODAY - 101 * DAY_S, changed=True)
    assert watched_days(hints) == 1


def an_update(pages: int, *, endless: bool = False, hours_late: int = 0) -> Pages:
    """Return an update of one host, all of whose pages were read the night before."""
    today = TODAY + 3600 * hours_late
    return Pages(yesterday(pages), endless=endless, hosts=1, today=today)


def test_pages_that_changed_according_to_the_sitemap_are_all_read_and_first() -> None:
    update = an_update(1000)
    update.hear(*range(900), days=30)
    update.hear(*range(900, 1000), days=0.5)
    taken = update.read_all(*range(900, 1000))
    assert set(range(900, 1000)) <= set(taken)
    assert sorted(taken[:100]) == list(range(900, 1000))


def test_a_page_that_no_sitemap_lists_is_read() -> None:
    update = an_update(1000)
    update.hear(*range(500), days=30)
    assert set(range(500, 1000)) <= set(update.read_all())


@pytest.mark.parametrize("hours", [1, 24, 7 * 24])
def test_each_page_is_read_in_at_least_one_of_eleven_updates(hours: int) -> None:
    """This holds whether updates run each hour, each night or each week."""
    taken = Counter[int]()
    for run in range(11):
        update = an_update(100, hours_late=hours * run)
        update.refresh.sitemap_records.restore({"0": [1000, 1000]})
        update.hear(*range(100), days=30)
        taken.update(update.read_all())
    assert len(taken) == 100
    assert taken.total() < 250


def test_each_reading_of_a_run_vouches_for_ten_pages() -> None:
    update = an_update(100)
    update.refresh.sitemap_records.restore({"0": [1000, 1000]})
    rotation = (np.arange(100) + int(TODAY // 3600)) % 11 == 0  # pages that are read in any case
    update.cash[:100][rotation] = 0.01
    update.hear(*range(100), days=30)
    taken = update.read_all()
    assert len(taken) == rotation.sum() + 9
    assert update.refresh.left_out == 100 - len(taken)


def test_the_credibility_of_a_host_is_kept_for_the_next_run() -> None:
    first = an_update(100)
    first.hear(*range(100), days=30)
    kept = (first.read_all(), first.refresh.sitemap_records.kept())[1]
    second = an_update(100)
    second.refresh.sitemap_records.restore({host: list(record) for host, record in kept.items()})
    second.hear(*range(100), days=30)
    assert len(second.read_all()) <= 10


@pytest.mark.parametrize("kept", [None, 3, [], {"0": 1}, {"0": [5, 2]}, {"x": [1, 1]}, {"0": "ab"}])
def test_damaged_records_of_sitemaps_are_ignored(kept: object) -> None:
    update = an_update(100)
    update.refresh.sitemap_records.restore(kept)
    assert update.refresh.sitemap_records.kept() == {}


def test_a_continuous_crawl_reads_first_what_changed_according_to_the_sitemap() -> None:
    update = an_update(100, endless=True)
    update.cash[:100] = np.arange(100, 0, -1)
    assert update.take() == 0
    update.hear(99, days=0.1)
    update.cash[99] = 30
    update.free(0)
    assert update.take() == 99

"""Sitemaps are read again as often as they have been seen to change, and at a limited price."""

from itertools import pairwise

import pytest

from minicrawl.crawl.hosts.sitemap_queue import REQUESTS_A_READING, SitemapRevisits

URL, HOST = "http://a.example/s.xml", 0


def readings(*, seconds: int, changes_every: float, pages_a_second: int = 10) -> list[int]:
    """Return the times at which a sitemap that changes at regular intervals is read."""
    revisits, times = SitemapRevisits(), [0]
    revisits.asked(HOST, URL, 0.0).read(0.0, 0, {})
    for second in range(1, seconds):
        for _ in range(pages_a_second):
            revisits.count_request(HOST)
        if (url := revisits.due(HOST, float(second))) is not None:
            times.append(second)
            content = int(second // changes_every)
            revisits.asked(HOST, url, float(second)).read(float(second), content, {})
    return times


@pytest.mark.parametrize("scale", [1, 60])
def test_a_sitemap_that_never_changes_is_read_at_doubling_intervals(scale: int) -> None:
    times = readings(seconds=1000 * scale, changes_every=1e9)
    assert 6 <= len(times) <= 18
    for gap, later in pairwise(late - early for early, late in pairwise(times[1:])):
        assert later == pytest.approx(2 * gap, abs=2)


@pytest.mark.parametrize("every", [20, 60, 300])
def test_a_sitemap_is_read_about_twice_for_each_of_its_changes(every: int) -> None:
    times = readings(seconds=60 * every, changes_every=every)
    assert 40 <= len(times) <= 150


def test_at_most_one_in_some_requests_is_for_sitemaps() -> None:
    times = readings(seconds=1000, changes_every=0.5, pages_a_second=1)
    assert len(times) == pytest.approx(1000 / REQUESTS_A_READING, abs=2)


def test_the_sitemap_not_read_for_longest_comes_first() -> None:
    revisits, now = SitemapRevisits(), 0.0
    names = [f"{URL}{number}" for number in range(3)]
    for url in names:
        revisits.asked(HOST, url, now)
        now += 1
    order = []
    for _ in names:
        for _ in range(REQUESTS_A_READING):
            assert revisits.due(HOST, now) is None
            revisits.count_request(HOST)
        due = revisits.due(HOST, now)
        assert due is not None
        order.append(due)
        revisits.asked(HOST, due, now)
        now += 1
    assert order == names


def test_a_sitemap_keeps_its_validators_and_a_broken_one_has_none() -> None:
    file = SitemapRevisits().asked(HOST, URL, 0.0)
    file.read(1.0, 7, {"etag": '"1"', "last-modified": "yesterday"})
    assert (file.etag, file.last_modified, file.changes) == ('"1"', "yesterday", 0)
    file.read(2.0, 8, {})
    assert (file.etag, file.last_modified, file.changes) == (None, None, 1)


def test_hosts_without_sitemaps_are_never_due() -> None:
    revisits = SitemapRevisits()
    revisits.count_request(HOST)
    assert revisits.due(HOST, 9e9) is None
    assert not revisits.of(HOST)

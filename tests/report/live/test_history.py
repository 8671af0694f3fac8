"""The history of a crawl without samples is computed from its log, with equal figures."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.model import KNOWN
from minicrawl.report.progress.history import FEWEST, history, remade
from minicrawl.report.progress.live_sampler import sampled_now
from minicrawl.report.progress.samples import Sample, keep_sample
from minicrawl.states import State
from minicrawl.store.reader import reading
from tests.stores import NOON, HandCrawl

PAGES = [f"http://{'ab'[number % 2]}.example/{number}" for number in range(12)]


@pytest.fixture
def crawl(path: Path) -> Iterator[HandCrawl]:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(PAGES[:1])
        yield crawl


def read(crawl: HandCrawl, number: int) -> Sample:
    """Read a page that links to the next page and the first; return a sample."""
    crawl.read(PAGES[number], [PAGES[number + 1], PAGES[0]])
    crawl.commit()
    found = sampled_now(crawl.path)
    assert found is not None
    return found


def test_history_from_the_log_equals_live_samples(crawl: HandCrawl) -> None:
    seen = [read(crawl, number) for number in range(8)]
    crawl.ended(PAGES[8], State.TIMEOUT)
    crawl.commit()
    found = remade(crawl.path, points=8)
    assert [sample.crawled for sample in found] == [2, 3, 4, 5, 6, 7, 8, 8]
    assert [sample.outline for sample in found[:7]] == [sample.outline for sample in seen[1:]]
    assert [sample.known for sample in found[:7]] == [sample.known for sample in seen[1:]]
    last = found[-1]
    assert (last.errors, last.requests, last.hosts, last.known) == (1, 9, 2, 9)
    assert (last.at, last.running_s) == (NOON + 9, 8.0)
    shares = [sample.importance_gathered or 0 for sample in found]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1


def test_missing_pages_do_not_lower_the_importance_gathered(crawl: HandCrawl) -> None:
    read(crawl, 0)
    crawl.ended(PAGES[1], State.NOT_FOUND)
    crawl.commit()
    assert remade(crawl.path)[-1].importance_gathered == 1


def test_a_pause_between_two_runs_counts_as_at_most_a_minute(crawl: HandCrawl) -> None:
    read(crawl, 0)
    crawl.now += 86_400
    read(crawl, 1)
    assert remade(crawl.path)[-1].running_s == 60


def test_history_can_cover_all_known_pages(crawl: HandCrawl) -> None:
    read(crawl, 0)
    assert history(crawl.path, KNOWN)[-1].outline.nodes == 2


def test_enough_saved_samples_are_used_unchanged(crawl: HandCrawl) -> None:
    first = read(crawl, 0)
    kept = [replace(first, at=first.at + number) for number in range(FEWEST)]
    with reading(crawl.path) as connection:
        for sample in kept[1:]:
            keep_sample(crawl.path, connection, sample)
        assert history(crawl.path) != kept[1:], "these samples are too few"
        keep_sample(crawl.path, connection, kept[0])
    assert history(crawl.path) == [*kept[1:], kept[0]]
    last = read(crawl, 1)
    assert history(crawl.path)[-1].outline == last.outline


def test_a_crawl_that_fetched_nothing_has_no_history(crawl: HandCrawl) -> None:
    crawl.commit()
    with pytest.raises(UsageError, match="nothing was fetched"):
        history(crawl.path)

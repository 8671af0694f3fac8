"""A crawl that nobody watched has the same history as one that was."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.model import KNOWN, State
from minicrawl.report.crawl_status import Sample, keep_sample
from minicrawl.report.sampling import FEWEST, history, remade, sampled_now
from minicrawl.store.reader import reading
from tests.stores import NOON, HandCrawl

PAGES = [f"http://{'ab'[number % 2]}.example/{number}" for number in range(12)]


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[HandCrawl]:
    crawl = HandCrawl(tmp_path / "crawl.db")
    crawl.seeds(PAGES[:1])
    yield crawl
    crawl.store.close()


def read(crawl: HandCrawl, number: int) -> Sample:
    """The page links to the next one and to the first; gives what a watcher sees then."""
    crawl.read(PAGES[number], [PAGES[number + 1], PAGES[0]])
    crawl.commit()
    found = sampled_now(crawl.path)
    assert found is not None
    return found


def test_it_is_made_again_of_the_log(crawl: HandCrawl) -> None:
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


def test_pages_that_cannot_be_read_do_not_count_in_what_is_gathered(crawl: HandCrawl) -> None:
    read(crawl, 0)
    crawl.ended(PAGES[1], State.NOT_FOUND)
    crawl.commit()
    assert remade(crawl.path)[-1].importance_gathered == 1


def test_a_pause_between_two_runs_is_no_running_time(crawl: HandCrawl) -> None:
    read(crawl, 0)
    crawl.now += 86_400
    read(crawl, 1)
    assert remade(crawl.path)[-1].running_s == 60


def test_the_graph_may_be_that_of_all_known_pages(crawl: HandCrawl) -> None:
    read(crawl, 0)
    assert history(crawl.path, KNOWN)[-1].outline.nodes == 2


def test_samples_that_were_taken_are_as_they_were(crawl: HandCrawl) -> None:
    first = read(crawl, 0)
    kept = [replace(first, at=first.at + number) for number in range(FEWEST)]
    with reading(crawl.path) as connection:
        for sample in kept[1:]:
            keep_sample(crawl.path, connection, sample)
        assert history(crawl.path) != kept[1:], "they are too few"
        keep_sample(crawl.path, connection, kept[0])
    assert history(crawl.path) == [*kept[1:], kept[0]]
    last = read(crawl, 1)
    assert history(crawl.path)[-1].outline == last.outline


def test_where_nothing_was_fetched_there_is_no_history(crawl: HandCrawl) -> None:
    crawl.commit()
    with pytest.raises(UsageError, match="nothing was fetched"):
        history(crawl.path)

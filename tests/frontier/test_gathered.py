"""Share of the importance that is read, and of the pages that wait."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.crawl.progress import FEWEST_READINGS, DiscoveryRate
from minicrawl.frontier.importance import GatheredImportance, gathered
from minicrawl.opic.importance.estimate import of_all
from minicrawl.states import READ_STATES, READABLE, State
from tests.stores import DEEP, A, B, C, HandCrawl


@pytest.fixture
def crawl(crawl: HandCrawl) -> HandCrawl:
    crawl.seeds([A, B], endowment=10)
    crawl.read(A, [B, C, DEEP])
    return crawl


def share_of_read(crawl: HandCrawl) -> float:
    frontier = crawl.frontier
    importance, states = frontier.importance(), frontier.states()
    readable = importance[np.isin(states, READABLE)].sum()
    return float(importance[np.isin(states, READ_STATES)].sum() / readable)


def test_slices_of_pages_give_the_same_share(crawl: HandCrawl) -> None:
    laps = GatheredImportance(crawl.frontier, at_once=3)
    level_first = [False, False]
    assert [laps.go_on() for _ in range(6)] == [*level_first, False, True, False, True]
    assert laps.share == pytest.approx(share_of_read(crawl))
    assert gathered(crawl.frontier) == pytest.approx(laps.share)


def test_within_a_lap_the_share_is_that_of_the_last_lap(crawl: HandCrawl) -> None:
    laps = GatheredImportance(crawl.frontier, 0.5, at_once=3)
    for _ in range(3):
        laps.go_on()
    assert laps.share == 0.5
    before = share_of_read(crawl)
    laps.go_on()
    crawl.read(B, [A])
    laps.go_on()
    assert laps.share == pytest.approx(before)


def test_pages_that_cannot_be_read_do_not_count(crawl: HandCrawl) -> None:
    crawl.read(B, [A])
    for page, state in ((C, State.SCOPE), (DEEP, State.NOT_FOUND)):
        assert gathered(crawl.frontier) < 1
        crawl.ended(page, state)
    assert gathered(crawl.frontier) == 1


def test_the_share_never_falls_unless_there_is_more_to_read(crawl: HandCrawl) -> None:
    laps = GatheredImportance(crawl.frontier)
    laps.go_on()
    before = laps.share
    crawl.read(A, [C, C, C])
    laps.go_on()
    assert share_of_read(crawl) < laps.share == before
    crawl.read(B, [f"{A}new"])
    laps.go_on()
    assert laps.share == pytest.approx(share_of_read(crawl))


def test_without_known_pages_nothing_is_gathered(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "new.db")) as crawl:
        assert gathered(crawl.frontier) == 0


def test_waiting_is_the_share_of_unread_pages(crawl: HandCrawl) -> None:
    crawl.ended(B, State.ROBOTS)
    laps = GatheredImportance(crawl.frontier)
    laps.go_on()
    importance, states = crawl.frontier.importance(), crawl.frontier.states()
    unread, read = importance[states == State.UNREAD].sum(), importance[states == State.FETCHED]
    assert laps.waiting == pytest.approx(float(unread / (unread + read.sum())))
    assert 0 < laps.waiting == 1 - laps.share


@pytest.mark.parametrize(
    ("share", "waiting", "rate", "expected"),
    [(0.8, 0.2, 0.0, 0.8), (0.8, 0.2, 1.0, 0.8 / 1.2), (0.5, 0.3, 2.0, 0.5 / 1.6), (1, 0, 9, 1)],
)
def test_each_waiting_page_counts_for_the_pages_it_will_reveal(
    share: float, waiting: float, rate: float, expected: float
) -> None:
    assert of_all(share, waiting, rate) == pytest.approx(expected)


def test_at_first_all_readings_count() -> None:
    discovery = DiscoveryRate(0, 10)
    assert discovery.rate == 0
    discovery.record(10, 60)
    assert discovery.rate == 5
    discovery.record(100, 200)
    assert discovery.rate == 1.9


def test_the_very_first_reading_counts() -> None:
    """Without it a crawl would take its seeds for the whole web, and end at once."""
    discovery = DiscoveryRate(0, 8)
    discovery.record(1, 20)
    assert discovery.rate == 12
    discovery.record(2, 30)
    assert discovery.rate == 11


def test_later_only_the_last_readings_count() -> None:
    """Each of a thousand readings reveals 5 pages, later ones none."""
    discovery = DiscoveryRate(0, 0)
    for read in range(1000):
        discovery.record(read, 5 * read)
    assert discovery.rate == pytest.approx(5)
    for read in range(1000, 1000 + FEWEST_READINGS // 2):
        discovery.record(read, 5000)
    assert discovery.rate == pytest.approx(2.5, abs=0.2)
    for read in range(1100, 1020 + FEWEST_READINGS):
        discovery.record(read, 5000)
    assert discovery.rate == 0


def test_in_a_long_crawl_the_last_tenth_counts() -> None:
    discovery = DiscoveryRate(0, 0)
    for read in range(0, 100_001, 7):
        discovery.record(read, 2 * read if read < 90_000 else 90_000 + read)
    assert discovery.rate == pytest.approx(1, abs=0.03)


def test_a_resumed_crawl_remembers_the_rate() -> None:
    discovery = DiscoveryRate(5000, 20_000, 0.25)
    assert discovery.rate == pytest.approx(0.25)
    discovery.record(5250, 20_000)
    assert 0.1 < discovery.rate < 0.17
    for read in range(5250, 5800, 5):
        discovery.record(read, 20_000)
    assert discovery.rate == 0


def test_a_resumed_crawl_without_a_rate_counts_all_readings() -> None:
    assert DiscoveryRate(5000, 20_000).rate == 4

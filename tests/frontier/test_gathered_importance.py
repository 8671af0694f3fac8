from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.frontier import gathered_importance
from minicrawl.frontier.gathered_importance import GatheredImportance, gathered
from minicrawl.model import READ_STATES
from tests.stores import DEEP, A, B, C, HandCrawl


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[HandCrawl]:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B], endowment=10)
        crawl.read(A, [B, C, DEEP])
        yield crawl


def share_of_read(crawl: HandCrawl) -> float:
    frontier = crawl.frontier
    return float(frontier.importance()[np.isin(frontier.states(), READ_STATES)].sum())


def test_it_is_the_share_of_the_pages_that_were_read(crawl: HandCrawl) -> None:
    assert 0 < gathered(crawl.frontier) < 1
    assert gathered(crawl.frontier) == pytest.approx(share_of_read(crawl))


def test_slices_add_up_to_the_same(crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered_importance, "PAGES_AT_ONCE", 3)
    laps = GatheredImportance(crawl.frontier)
    assert [laps.go_on() for _ in range(4)] == [False, True, False, True]
    assert laps.share == pytest.approx(share_of_read(crawl))
    assert gathered(crawl.frontier) == laps.share


def test_within_a_lap_the_share_is_that_of_the_last_one(
    crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathered_importance, "PAGES_AT_ONCE", 3)
    laps = GatheredImportance(crawl.frontier, 0.5)
    laps.go_on()
    assert laps.share == 0.5
    before = share_of_read(crawl)
    laps.go_on()
    crawl.read(B, [A])
    laps.go_on()
    assert laps.share == pytest.approx(before)


def test_where_no_page_is_known_nothing_is_gathered(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "new.db")) as crawl:
        assert gathered(crawl.frontier) == 0

"""Saved ranks, as reports read them from the file beside the store."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.errors import UsageError
from minicrawl.report.snapshot import kept_scores, saved_ranks, scores, snapshot
from minicrawl.store.derived import RankRow, keep_ranks
from minicrawl.store.reader import reading
from tests.stores import A, B, C, HandCrawl


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store of three pages with a saved rank."""
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B])
        crawl.read(A, [C])
    row = RankRow("pagerank", "{}", 1.8e9, crawl.frontier.last_seq, 3, 1, 52, 1e-9, True)
    with reading(crawl.path) as connection:
        keep_ranks(crawl.path, connection, [(row, np.array([0.25, 0.25, 0.5]))])
    return crawl.path


def go_on(store: Path, *links: str) -> None:
    with closing(HandCrawl(store)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read(B, links)


def state(store: Path) -> list[tuple[str, int, bool]]:
    with reading(store) as connection:
        return [
            (one.row.name, one.unranked, one.is_current) for one in saved_ranks(store, connection)
        ]


def test_a_rank_is_current_until_the_next_step(store: Path) -> None:
    assert state(store) == [("pagerank", 0, True)]
    go_on(store, A)
    assert state(store) == [("pagerank", 0, False)]


def test_pages_found_after_the_ranking_are_counted_and_have_no_score(store: Path) -> None:
    go_on(store, "http://new.example/")
    assert state(store) == [("pagerank", 1, False)]
    with snapshot(store) as seen:
        found = scores(seen, "pagerank")
    assert found[:3].tolist() == [0.25, 0.25, 0.5]
    assert np.isnan(found[3])


def test_the_rank_opic_always_exists(store: Path) -> None:
    with snapshot(store) as seen:
        assert scores(seen, "opic") is seen.importance


def test_an_unknown_rank_is_refused_with_the_known_ones(store: Path) -> None:
    with snapshot(store) as seen:
        assert kept_scores(seen, "trust") is None
        with pytest.raises(UsageError, match=r"has no rank trust, only opic, pagerank: "):
            scores(seen, "trust")


def test_a_store_without_saved_ranks_only_has_opic(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
    assert state(crawl.path) == []
    refusal = pytest.raises(UsageError, match="only opic: make it with `minicrawl rank`")
    with snapshot(crawl.path) as seen, refusal:
        scores(seen, "pagerank")

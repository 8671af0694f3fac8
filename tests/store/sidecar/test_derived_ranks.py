"""Ranks saved by name beside a store."""

from pathlib import Path

import numpy as np
import pytest

from minicrawl.store.derived import (
    RankRow,
    keep_ranks,
    kept_ranks,
    rank_scores,
    reading_beside,
    writing_beside,
)
from minicrawl.store.reader import reading
from tests.stores import filled_store

ROW = RankRow("pagerank", '{"damping": 0.85}', 1.8e9, 12, 6, 9, 52, 1e-9, True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def keep(store: Path, row: RankRow, values: np.ndarray) -> None:
    with reading(store) as connection:
        keep_ranks(store, connection, [(row, values)])


def kept(store: Path) -> list[RankRow]:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        return kept_ranks(derived)


def scores(store: Path, name: str, pages: int) -> np.ndarray:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        assert derived is not None
        return rank_scores(derived, name, pages)


def test_a_saved_rank_is_read_back(store: Path) -> None:
    values = np.array([0.5, 0.25, 0.25, 0, 0, 0])
    keep(store, ROW, values)
    assert kept(store) == [ROW]
    assert scores(store, "pagerank", 6).tolist() == values.tolist()


def test_scores_in_several_blocks_are_read_back_in_order(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minicrawl.store.derived._SCORES_AT_ONCE", 4)
    values = np.arange(10, dtype=np.float32)
    keep(store, ROW, values)
    assert scores(store, "pagerank", 10).tolist() == values.tolist()
    assert scores(store, "pagerank", 7).tolist() == values[:7].tolist()


def test_pages_found_later_have_no_score(store: Path) -> None:
    keep(store, ROW, np.array([0.75, 0.25]))
    found = scores(store, "pagerank", 4)
    assert found[:2].tolist() == [0.75, 0.25]
    assert np.isnan(found[2:]).all()


def test_a_rank_replaces_the_one_of_the_same_name(store: Path) -> None:
    keep(store, ROW, np.arange(6.0))
    keep(store, ROW._replace(name="other"), np.ones(6))
    keep(store, ROW._replace(iterations=3), np.arange(6.0) * 2)
    assert [(row.name, row.iterations) for row in kept(store)] == [("other", 52), ("pagerank", 3)]
    assert scores(store, "pagerank", 6).tolist() == [0, 2, 4, 6, 8, 10]
    assert scores(store, "other", 6).tolist() == [1] * 6


def test_a_store_may_have_no_ranks(store: Path) -> None:
    assert kept(store) == []
    schema = "CREATE TABLE IF NOT EXISTS other (x)"
    with reading(store) as connection, writing_beside(store, connection, schema):
        pass
    assert kept(store) == []

"""The saved index of backlinks."""

from pathlib import Path

import numpy as np
import pytest

from minicrawl.store.derived import (
    RankRow,
    backlinks_of,
    backlinks_step,
    keep_backlinks,
    keep_ranks,
    kept_ranks,
    reading_beside,
)
from minicrawl.store.reader import reading
from tests.graph.graphs import Link, graph_of
from tests.stores import filled_store

INLINKS = [(0, 3), (0, 4), (2, 0), (4, 1), (4, 2), (4, 3)]
"""Pairs of a page and one that links to it."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def keep(store: Path, step: int, inlinks: list[Link], nodes: int = 6) -> None:
    with reading(store) as connection:
        keep_backlinks(store, connection, step, graph_of(nodes, inlinks))


def givers(store: Path, *pages: int) -> list[int]:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        assert derived is not None
        return list(map(int, backlinks_of(derived, pages)))


def step_of(store: Path) -> int | None:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        return backlinks_step(derived)


def test_backlinks_of_pages_are_found(store: Path) -> None:
    keep(store, 7, INLINKS)
    assert [givers(store, page) for page in range(6)] == [[3, 4], [], [0], [], [1, 2, 3], []]
    assert givers(store, 4, 0) == [3, 4, 1, 2, 3]
    assert step_of(store) == 7


def test_unknown_pages_have_no_backlinks(store: Path) -> None:
    keep(store, 7, INLINKS)
    assert givers(store, 6, 4095, 4096, 1 << 20) == []


def test_backlinks_do_not_depend_on_the_block_size(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minicrawl.store.derived._PAGES_A_BLOCK", 2)
    keep(store, 7, INLINKS)
    assert [givers(store, page) for page in range(6)] == [[3, 4], [], [0], [], [1, 2, 3], []]
    assert givers(store, 0, 2, 4, 6) == [3, 4, 0, 1, 2, 3]


def test_a_new_index_replaces_the_old_one(store: Path) -> None:
    keep(store, 7, INLINKS)
    keep(store, 9, [(1, 0)], nodes=2)
    assert step_of(store) == 9
    assert (givers(store, 1), givers(store, 4)) == ([0], [])


def test_a_file_may_have_no_index(store: Path) -> None:
    assert step_of(store) is None
    row = RankRow("r", "{}", 1.8e9, 7, 2, 1, 0, 0.0, converged=True)
    with reading(store) as connection:
        keep_ranks(store, connection, [(row, np.ones(2))])
    assert step_of(store) is None


def test_saving_ranks_keeps_the_index_and_the_other_way_round(store: Path) -> None:
    keep(store, 7, INLINKS)
    row = RankRow("r", "{}", 1.8e9, 7, 2, 1, 0, 0.0, converged=True)
    with reading(store) as connection:
        keep_ranks(store, connection, [(row, np.ones(2))])
    assert givers(store, 2) == [0]
    keep(store, 8, INLINKS)
    with reading(store) as connection, reading_beside(store, connection) as derived:
        assert kept_ranks(derived) == [row]

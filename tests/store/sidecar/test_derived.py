"""The file of derived data beside a store is transactional and belongs to that store alone."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from minicrawl.errors import StoreError, UsageError
from minicrawl.states import State
from minicrawl.store.derived.backlinks import backlinks_of, backlinks_step, keep_backlinks
from minicrawl.store.derived.checks import CheckRow, all_checks, keep_checks
from minicrawl.store.derived.file import beside, mend, reading_beside, writing_beside
from minicrawl.store.derived.ranks import RankRow, keep_ranks, kept_ranks, rank_scores
from minicrawl.store.reader import reading
from tests.cli.damages import leave_unfinished_change
from tests.graph.graphs import Link, graph_of
from tests.stores import A, B, HandCrawl

SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT)"


@contextmanager
def derived_of(store: Path) -> Iterator[sqlite3.Connection | None]:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        yield derived


def write(store: Path, word: str, error: BaseException | None = None) -> None:
    with reading(store) as connection, writing_beside(store, connection, SCHEMA) as derived:
        derived.execute("INSERT INTO words VALUES (?)", (word,))
        if error is not None:
            raise error


def words(store: Path) -> list[str] | None:
    with derived_of(store) as derived:
        if derived is None:
            return None
        return [word for (word,) in derived.execute("SELECT word FROM words")]


def test_written_rows_are_read(filled: Path) -> None:
    assert words(filled) is None
    assert not beside(filled).exists()
    write(filled, "one")
    link = filled.with_name("link.db")
    link.symlink_to(filled)
    write(link, "two")
    assert words(filled) == words(link) == ["one", "two"]
    assert beside(filled) == filled.with_name("crawl.db-ranks")


def test_an_interrupted_write_is_rolled_back(filled: Path) -> None:
    write(filled, "one")
    with pytest.raises(KeyboardInterrupt):
        write(filled, "two", KeyboardInterrupt())
    assert words(filled) == ["one"]


def test_derived_data_stay_while_the_crawl_continues(filled: Path) -> None:
    write(filled, "one")
    with reading(filled) as connection:
        before = connection.execute("SELECT count(*) FROM fetches").fetchone()
    assert before != (0,)
    with closing(HandCrawl(filled)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read("http://c.example/x", [B])
    assert words(filled) == ["one"]


def test_derived_data_of_a_replaced_store_are_discarded(filled: Path) -> None:
    write(filled, "one")
    filled.unlink()
    with closing(HandCrawl(filled)) as crawl:
        crawl.seeds([B, A])
    assert words(filled) is None
    write(filled, "two")
    assert words(filled) == ["two"]


def test_readers_see_the_last_commit_during_a_write(filled: Path) -> None:
    write(filled, "one")
    with reading(filled) as connection, writing_beside(filled, connection, SCHEMA) as derived:
        derived.execute("INSERT INTO words VALUES ('two')")
        assert words(filled) == ["one"]
    assert words(filled) == ["one", "two"]


def test_another_file_in_its_place_is_refused_by_readers_and_set_aside(filled: Path) -> None:
    content = b"something else" * 100
    beside(filled).write_bytes(content)
    with pytest.raises(StoreError, match=r"crawl\.db-ranks: .*delete it"):
        words(filled)
    assert mend(filled) == filled.with_name("crawl.db-ranks-damaged")
    write(filled, "one")
    assert words(filled) == ["one"]
    assert filled.with_name("crawl.db-ranks-damaged").read_bytes() == content


def test_a_change_that_a_power_failure_cut_off_is_taken_back(filled: Path) -> None:
    write(filled, "one")
    leave_unfinished_change(beside(filled))
    with pytest.raises(UsageError, match="unfinished change"):
        words(filled)
    assert mend(filled) is None
    assert words(filled) == ["one"]


def test_results_of_checks_without_sizes_are_read_and_replaced(filled: Path) -> None:
    before = "CREATE TABLE checks (url TEXT PRIMARY KEY, state, status, detail, at) WITHOUT ROWID"
    rows = [(f"http://a.example/{name}", State.FETCHED, 200, "", 1.0) for name in "ab"]
    with reading(filled) as connection:
        with writing_beside(filled, connection, before) as derived:
            derived.executemany("INSERT INTO checks VALUES (?, ?, ?, ?, ?)", rows)
        assert all_checks(filled, connection) == [CheckRow(*row) for row in rows]
        again = CheckRow(*rows[0], bytes=7)
        keep_checks(filled, connection, [again])
        assert all_checks(filled, connection) == [again, CheckRow(*rows[1])]


ROW = RankRow("pagerank", '{"damping": 0.85}', 1.8e9, 12, 6, 9, 52, 1e-9, True)


def save(store: Path, row: RankRow, values: Sequence[float]) -> None:
    with reading(store) as connection:
        keep_ranks(store, connection, [(row, np.array(values))])


def kept(store: Path) -> list[RankRow]:
    with derived_of(store) as derived:
        return kept_ranks(derived)


def scores(store: Path, name: str, pages: int) -> list[float]:
    with derived_of(store) as derived:
        assert derived is not None
        return list(map(float, rank_scores(derived, name, pages)))


def test_a_rank_replaces_the_one_of_the_same_name(filled: Path) -> None:
    assert kept(filled) == []
    write(filled, "other data")
    assert kept(filled) == []
    save(filled, ROW, range(6))
    assert kept(filled) == [ROW]
    save(filled, ROW._replace(name="other"), [1] * 6)
    save(filled, ROW._replace(iterations=3), range(0, 12, 2))
    assert [(row.name, row.iterations) for row in kept(filled)] == [("other", 52), ("pagerank", 3)]
    assert scores(filled, "pagerank", 6) == [0, 2, 4, 6, 8, 10]
    assert scores(filled, "other", 6) == [1] * 6


def test_scores_in_blocks_come_in_order_and_pages_found_later_have_none(filled: Path) -> None:
    save(filled, ROW, range(150_000))
    assert scores(filled, "pagerank", 70_000) == list(range(70_000))
    found = scores(filled, "pagerank", 150_002)
    assert found[:150_000] == list(range(150_000))
    assert np.isnan(found[150_000:]).all()


INLINKS = [(0, 3), (0, 4), (2, 0), (4, 1), (4, 2), (4, 3)]
"""Pairs of a page and one that links to it."""


def index(store: Path, step: int, inlinks: list[Link], nodes: int = 6) -> None:
    with reading(store) as connection:
        keep_backlinks(store, connection, step, graph_of(nodes, inlinks))


def givers(store: Path, *pages: int) -> list[int]:
    with derived_of(store) as derived:
        assert derived is not None
        return list(map(int, backlinks_of(derived, pages)))


def step_of(store: Path) -> int | None:
    with derived_of(store) as derived:
        return backlinks_step(derived)


@pytest.mark.parametrize("apart", [1, 2048, 10_000])
def test_backlinks_of_known_pages_are_found_in_one_block_or_many(filled: Path, apart: int) -> None:
    """A block has 4096 pages."""
    index(filled, 7, [(page * apart, giver) for page, giver in INLINKS], nodes=6 * apart)
    found = [givers(filled, page * apart) for page in range(6)]
    assert found == [[3, 4], [], [0], [], [1, 2, 3], []]
    assert givers(filled, 4 * apart, 0) == [3, 4, 1, 2, 3]
    assert givers(filled, *(page * apart for page in (0, 2, 4, 6))) == [3, 4, 0, 1, 2, 3]
    assert givers(filled, 6 * apart, 6 * apart + 4095, 1 << 20) == []
    index(filled, 9, [(1, 0)], nodes=2)
    assert (step_of(filled), givers(filled, 1), givers(filled, 4)) == (9, [0], [])


def test_saving_ranks_keeps_the_index_and_the_other_way_round(filled: Path) -> None:
    assert step_of(filled) is None
    save(filled, ROW, [1, 1])
    assert step_of(filled) is None
    index(filled, 7, INLINKS)
    save(filled, ROW, [1, 1])
    assert givers(filled, 2) == [0]
    index(filled, 8, INLINKS)
    assert kept(filled) == [ROW]

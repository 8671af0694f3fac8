"""The file of derived data beside a store is transactional and belongs to that store alone."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from minicrawl.errors import StoreError
from minicrawl.model import State
from minicrawl.store.derived import (
    CheckRow,
    all_checks,
    beside,
    keep_checks,
    reading_beside,
    writing_beside,
)
from minicrawl.store.reader import reading
from tests.stores import A, B, HandCrawl, filled_store

SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT)"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def nothing() -> None:
    pass


def interrupt() -> None:
    raise KeyboardInterrupt


def write(store: Path, word: str, then: Callable[[], None] = nothing) -> None:
    with reading(store) as connection, writing_beside(store, connection, SCHEMA) as derived:
        derived.execute("INSERT INTO words VALUES (?)", (word,))
        then()


def words(store: Path) -> list[str] | None:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        if derived is None:
            return None
        return [word for (word,) in derived.execute("SELECT word FROM words")]


def test_there_is_no_file_before_the_first_write(store: Path) -> None:
    assert words(store) is None
    assert not beside(store).exists()


def test_written_rows_are_read(store: Path) -> None:
    write(store, "one")
    write(store, "two")
    assert words(store) == ["one", "two"]
    assert beside(store) == store.with_name("crawl.db-ranks")


def test_an_interrupted_write_is_rolled_back(store: Path) -> None:
    write(store, "one")
    with pytest.raises(KeyboardInterrupt):
        write(store, "two", then=interrupt)
    assert words(store) == ["one"]


def test_derived_data_stay_while_the_crawl_continues(store: Path) -> None:
    write(store, "one")
    with reading(store) as connection:
        before = connection.execute("SELECT count(*) FROM fetches").fetchone()
    assert before != (0,)
    with closing(HandCrawl(store)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read("http://c.example/x", [B])
    assert words(store) == ["one"]


def test_derived_data_of_a_replaced_store_are_discarded(store: Path) -> None:
    write(store, "one")
    store.unlink()
    with closing(HandCrawl(store)) as crawl:
        crawl.seeds([B, A])
    assert words(store) is None
    write(store, "two")
    assert words(store) == ["two"]


def test_derived_data_are_found_by_a_symbolic_link_to_the_store(store: Path) -> None:
    link = store.with_name("link.db")
    link.symlink_to(store)
    write(link, "one")
    assert words(store) == ["one"]


def test_readers_see_the_last_commit_during_a_write(store: Path) -> None:
    write(store, "one")
    with reading(store) as connection, writing_beside(store, connection, SCHEMA) as derived:
        derived.execute("INSERT INTO words VALUES ('two')")
        assert words(store) == ["one"]
    assert words(store) == ["one", "two"]


def test_another_file_in_its_place_is_refused_with_advice(store: Path) -> None:
    beside(store).write_bytes(b"something else" * 100)
    for attempt in (words, partial(write, word="one")):
        with pytest.raises(StoreError, match=r"crawl\.db-ranks: .*delete it"):
            attempt(store)


def test_results_of_checks_without_sizes_are_read_and_replaced(store: Path) -> None:
    before = "CREATE TABLE checks (url TEXT PRIMARY KEY, state, status, detail, at) WITHOUT ROWID"
    with reading(store) as connection:
        with writing_beside(store, connection, before) as derived:
            rows = [(f"http://a.example/{name}", State.FETCHED, 200, "", 1.0) for name in "ab"]
            derived.executemany("INSERT INTO checks VALUES (?, ?, ?, ?, ?)", rows)
        assert all_checks(store, connection) == [CheckRow(*row) for row in rows]
        again = CheckRow(*rows[0], bytes=7)
        keep_checks(store, connection, [again])
        assert all_checks(store, connection) == [again, CheckRow(*rows[1])]

"""Texts of links are stored in compressed blocks without loss."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.store import stored_links
from minicrawl.store.records import Batch, WrittenRow, check_of
from minicrawl.store.stored_links import WrittenLinks, written_bytes, wrong_blocks
from minicrawl.store.writer import StoreWriter


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StoreWriter]:
    with closing(StoreWriter.open(tmp_path / "crawl.db")) as opened:
        yield opened


def written(store: StoreWriter, *rows: tuple[int, str]) -> None:
    store.commit(
        Batch(written=[WrittenRow(page, check_of([page]), text.encode()) for page, text in rows])
    )


def rows(store: StoreWriter) -> list[tuple[int, int]]:
    """Return for each block whether it is closed, and its number of pages."""
    found = store.connection.execute("SELECT closed, length(pages) / 8 FROM written ORDER BY id")
    return list(found)


def text(store: StoreWriter, page: int) -> str | None:
    found = WrittenLinks(store.connection).of(page, [page])
    return None if found is None else found.decode()


def test_texts_are_found_by_page(store: StoreWriter) -> None:
    assert len(WrittenLinks(store.connection)) == 0
    assert WrittenLinks(store.connection).of(0, [0]) is None
    written(store, (7, "seven"), (3, ""))
    written(store, (5, "five"))
    written(store)
    assert [text(store, page) for page in (3, 5, 7)] == ["", "five", "seven"]
    assert [text(store, page) for page in (0, 4, 8)] == [None, None, None]


def test_the_last_version_of_a_page_counts(store: StoreWriter) -> None:
    written(store, (1, "first"), (2, "other"), (1, "second"))
    assert text(store, 1) == "second"
    written(store, (1, "third"))
    assert (text(store, 1), len(WrittenLinks(store.connection))) == ("third", 2)


def test_texts_of_a_page_are_ignored_if_its_links_have_changed(store: StoreWriter) -> None:
    written(store, (1, "one"))
    found = WrittenLinks(store.connection)
    assert (found.of(1, [1]), found.of(1, [2]), found.of(1, [])) == (b"one", None, None)


def test_small_blocks_are_joined_if_there_are_many_and_at_the_end(store: StoreWriter) -> None:
    for page in range(stored_links.MOST_PIECES):
        written(store, (page, f"p{page}"))
    assert rows(store) == [(0, 1)] * stored_links.MOST_PIECES
    written(store, (99, "p99"))
    assert rows(store) == [(0, stored_links.MOST_PIECES + 1)]
    written(store, (100, "p100"))
    store.compact()
    assert rows(store) == [(0, stored_links.MOST_PIECES + 2)]
    assert [text(store, page) for page in (0, 99, 100)] == ["p0", "p99", "p100"]


def test_a_large_block_is_closed(store: StoreWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_links, "BLOCK_BYTES", 100)
    for page in range(6):
        written(store, (page, f"{page}" * 40))
    assert rows(store) == [(1, 3), (1, 3)]
    monkeypatch.setattr(stored_links, "MOST_PAGES", 2)
    written(store, (8, "x"), (9, "y"))
    assert rows(store)[-1] == (1, 2)
    assert [text(store, page) for page in (5, 9)] == ["5" * 40, "y"]


def test_the_next_run_joins_small_blocks_of_earlier_ones(tmp_path: Path) -> None:
    for page in range(3):
        with closing(StoreWriter.open(tmp_path / "crawl.db")) as store:
            written(store, (page, f"p{page}"))
            store.compact()
    with closing(StoreWriter.open(tmp_path / "crawl.db")) as store:
        assert rows(store) == [(0, 3)]
        assert [text(store, page) for page in range(3)] == ["p0", "p1", "p2"]


def test_a_failed_commit_can_be_repeated(
    store: StoreWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_links, "BLOCK_BYTES", 10)
    written(store, (1, "one"))
    bad = Batch(
        written=[WrittenRow(2, check_of([2]), b"two, which fills it")], counters={"x": object()}
    )
    with pytest.raises(TypeError):
        store.commit(bad)
    assert (text(store, 1), text(store, 2)) == ("one", None)
    bad.counters.clear()
    store.commit(bad)
    assert (text(store, 1), text(store, 2)) == ("one", "two, which fills it")


def test_pages_with_the_same_menu_compress_well(store: StoreWriter) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=8)) for _ in range(400)]
    for _ in range(40):
        menu = "\x1e".join(words[:60])
        written(store, *((page, menu) for page in range(50)))
    assert written_bytes(store.connection) < 40 * 50 * 60  # one byte per link


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("data = x'00'", "cannot be decompressed"),
        ("pages = x'01000000000000000200000000000000'", "does not match"),
        ("pages = x'ff00000000000000'", "does not match"),
    ],
)
def test_a_damaged_block_is_reported(store: StoreWriter, change: str, reason: str) -> None:
    written(store, (1, "one"))
    assert list(wrong_blocks(store.connection, 2)) == []
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"UPDATE written SET {change}")
    (wrong,) = wrong_blocks(store.connection, 2)
    assert reason in wrong

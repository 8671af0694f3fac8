"""Tables are read as columns in blocks, and damaged ones are refused."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.store import page_columns, questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.stores import A, B, HandCrawl, filled_store

MANY = 50_000  # pages, in more than two blocks


@pytest.fixture(scope="module")
def many_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandCrawl]:
    """Yield a crawl that has read two of many pages."""
    with closing(HandCrawl(tmp_path_factory.mktemp("many") / "crawl.db")) as crawl:
        crawl.seeds([A, B, *(f"http://c.example/{number}" for number in range(MANY - 2))])
        crawl.read(A, [B])
        crawl.read(B, [A])
        crawl.checkpoint()
        yield crawl


def test_many_pages_of_one_host_are_found_by_one_scan(many_pages: HandCrawl) -> None:
    connection = many_pages.store.connection

    def work(wanted: int) -> int:
        """Return the work of SQLite in thousands of instructions."""
        ticks = list[None]()
        connection.set_progress_handler(lambda: ticks.append(None), 1000)
        places = [("http://c.example", f"/{number}") for number in range(wanted)]
        pages = questions.find_all(connection, places)
        connection.set_progress_handler(None, 0)
        assert pages == list(range(2, wanted + 2))
        return len(ticks)

    assert work(500) < 2 * work(5)


def test_columns_of_all_blocks_are_in_the_order_of_pages(many_pages: HandCrawl) -> None:
    connection = many_pages.store.connection
    blocks = list(page_columns.blocks(connection, "frontier", "id", "key", "state"))
    ids, keys, states = (np.concatenate(column) for column in zip(*blocks, strict=True))
    assert len(blocks) > 2
    assert (str(keys.dtype), str(states.dtype)) == ("int64", "uint8")
    assert ids.tolist() == list(range(MANY))
    assert keys.tolist() == many_pages.frontier.ledger.key.tolist()
    assert states.tobytes() == many_pages.frontier.state
    hosts = page_columns.whole(connection, "urls", "host")
    assert hosts.tolist() == many_pages.frontier.urls.host_of.tolist()


def test_a_store_without_pages_has_empty_columns(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        connection = crawl.store.connection
        assert list(page_columns.blocks(connection, "frontier", "key")) == []
        assert page_columns.whole(connection, "urls", "host").tolist() == []


def test_a_table_with_a_missing_row_is_refused(filled: Path) -> None:
    with closing(HandCrawl(filled)) as crawl:
        crawl.store.connection.execute("DELETE FROM frontier WHERE id = 1")
        with pytest.raises(ValueError, match=r"frontier .* 0 and 6"):
            list(page_columns.blocks(crawl.store.connection, "frontier", "key"))


@pytest.mark.parametrize("value", ["'many'", "2.5", "-1", str(1 << 32)])
def test_a_value_out_of_range_is_refused(filled: Path, value: str) -> None:
    with closing(HandCrawl(filled)) as crawl:
        crawl.store.connection.execute(f"UPDATE frontier SET inlinks = {value} WHERE id = 1")
        with pytest.raises(ValueError, match=r"inlinks|unmatched data"):
            list(page_columns.blocks(crawl.store.connection, "frontier", "inlinks"))


def test_a_path_that_would_be_two_is_refused(filled: Path) -> None:
    with closing(HandCrawl(filled)) as crawl:
        assert sum(len(paths) for _, paths, _ in page_columns.urls(crawl.store.connection)) == 6
        crawl.store.connection.execute("UPDATE urls SET path = '/a' || char(10) || '/b'")
        with pytest.raises(ValueError, match="path"):
            list(page_columns.urls(crawl.store.connection))


def test_only_pages_with_a_window_have_measures(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db", StoreTerms(window="variable", width=3))
    with reading(path) as connection:
        assert list(tables.measures(connection)) == [0, 1, 2]

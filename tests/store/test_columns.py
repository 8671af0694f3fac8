from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.stores import A, B, HandCrawl, filled_store

MANY = 50_000  # more than two blocks


@pytest.fixture(scope="module")
def many_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandCrawl]:
    """Every page but the first two waits; the first read gave the second something."""
    with closing(HandCrawl(tmp_path_factory.mktemp("many") / "crawl.db")) as crawl:
        crawl.seeds([A, B, *(f"http://c.example/{number}" for number in range(MANY - 2))])
        crawl.read(A, [B])
        crawl.read(B, [A])
        crawl.checkpoint()
        yield crawl


def test_columns_are_those_of_the_pages_in_their_order(many_pages: HandCrawl) -> None:
    blocks = list(tables.frontier(many_pages.store.connection, "id", "key", "state"))
    ids, keys, states = (np.concatenate(column) for column in zip(*blocks, strict=True))
    assert len(blocks) > 2
    assert ids.tolist() == list(range(MANY))
    assert keys.tolist() == many_pages.frontier.ledger.key.tolist()
    assert states.tobytes() == many_pages.frontier.state


def test_columns_have_the_type_in_which_pages_keep_them(tmp_path: Path) -> None:
    with reading(filled_store(tmp_path / "crawl.db")) as connection:
        (block,) = tables.frontier(connection, "state", "key", "g_time", "inlinks", "spent")
    assert [column.dtype for column in block] == [np.uint8, np.int64, np.int64, *[np.uint32] * 2]


def test_a_column_may_be_had_in_one_piece(many_pages: HandCrawl) -> None:
    hosts = tables.whole(tables.urls(many_pages.store.connection, "host"), "host")
    assert hosts.tolist() == many_pages.frontier.urls.host_of.tolist()


def test_a_store_without_pages_has_empty_columns(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        connection = crawl.store.connection
        assert list(tables.frontier(connection, "key")) == []
        assert tables.whole(tables.urls(connection, "host"), "host").tolist() == []


def test_a_table_that_lost_a_row_is_refused(tmp_path: Path) -> None:
    with closing(HandCrawl(filled_store(tmp_path / "crawl.db"))) as crawl:
        crawl.store.connection.execute("DELETE FROM frontier WHERE id = 1")
        with pytest.raises(ValueError, match="frontier lacks rows between 0 and 6"):
            list(tables.frontier(crawl.store.connection, "key"))


@pytest.mark.parametrize("value", ["'many'", "2.5", "-1", str(1 << 32)])
def test_a_number_that_cannot_be_is_refused(tmp_path: Path, value: str) -> None:
    with closing(HandCrawl(filled_store(tmp_path / "crawl.db"))) as crawl:
        crawl.store.connection.execute(f"UPDATE frontier SET inlinks = {value} WHERE id = 1")
        with pytest.raises(ValueError, match=r"inlinks has invalid values|unmatched data"):
            list(tables.frontier(crawl.store.connection, "inlinks"))


def test_measures_are_those_of_pages_whose_window_keeps_them(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db", StoreTerms(window="variable", width=3))
    with reading(path) as connection:
        assert list(tables.measures(connection)) == [0, 1, 2]

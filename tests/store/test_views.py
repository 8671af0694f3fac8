"""The SQL views of a store show names instead of numbers."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.opic.ledger.books import Spending
from minicrawl.states import State
from minicrawl.store.stored_links import pack
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = filled_store(tmp_path / "crawl.db", checkpoint=True)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def test_all_states_have_names(store: sqlite3.Connection) -> None:
    found = dict(store.execute("SELECT id, name FROM states"))
    assert found == {int(state): state.label for state in State}


def test_the_views_have_names_titles_and_cash_in_units(store: sqlite3.Connection) -> None:
    found = dict(store.execute("SELECT url, state FROM pages"))
    assert found[A] == found[B] == "fetched"
    assert (found[C], found[MOVED], found[DEEP]) == ("unread", "moved", "unread")
    columns = "title, status, first_fetched"
    (page,) = store.execute(f"SELECT {columns} FROM pages WHERE url = ?", (A,))
    assert page == ("The first", 200, "2027-01-15 08:00:01")
    (total,) = store.execute("SELECT sum(cash) FROM pages").fetchone()
    assert total == pytest.approx(16)
    links = store.execute("SELECT source, target, target_state FROM links").fetchall()
    of_a = {(A, B, "fetched"), (A, MOVED, "moved"), (A, DEEP, "unread")}
    assert set(links) == of_a | {(B, A, "fetched"), (B, C, "unread"), (B, GONE, "unread")}
    redirects = store.execute("SELECT kind, url, target, target_state FROM redirects").fetchall()
    assert redirects == [("moved", MOVED, A, "fetched")]
    requests = store.execute("SELECT outcome, status FROM requests WHERE url = ?", (GONE,))
    assert requests.fetchall() == [("failed:not-found", None)]


def test_duplicates_are_redirects(path: Path) -> None:
    copy, other = "http://a.example/copy", "http://a.example/other"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, copy, other])
        crawl.read(A)
        crawl.moved(copy, A, State.ALIAS)
        crawl.moved(other, A, State.CANONICAL)
        crawl.checkpoint()
        redirects = crawl.store.connection.execute("SELECT url, target FROM redirects")
        assert set(redirects) == {(copy, A), (other, A)}


def test_sql_decodes_blobs_like_python(tmp_path: Path) -> None:
    rng = random.Random(1)
    path = filled_store(tmp_path / "crawl.db", checkpoint=True)
    with closing(sqlite3.connect(path)) as connection:
        for _ in range(50):
            count = rng.choice([0, 1, 2, 127, 128, 300])
            top = rng.choice([1 << 7, 1 << 14, 1 << 31])
            links = sorted({rng.randrange(top) for _ in range(count)})
            weights = [rng.randrange(1, 1 << 20) for _ in links] if rng.random() < 0.5 else ()
            focus = [rng.randrange(1 << 20) for _ in links] if rng.random() < 0.5 else ()
            blob = pack(Spending(links, weights, focus))
            connection.execute(
                "UPDATE steps SET spending = ? WHERE seq = (SELECT spent FROM frontier "
                "WHERE id = 0)",
                (blob,),
            )
            found = connection.execute("SELECT target FROM spendings WHERE source = 0")
            assert [target for (target,) in found] == links


def test_the_documentation_names_all_columns(store: sqlite3.Connection) -> None:
    text = (ROOT / "docs" / "how-to" / "read-a-store-with-sqlite.md").read_text(encoding="utf-8")
    for view in ("pages", "links", "redirects", "requests"):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{view}` |"))
        columns = [column[1] for column in store.execute(f"PRAGMA table_info({view})")]
        assert row.split("|")[3].replace("`", "").strip().split(", ") == columns

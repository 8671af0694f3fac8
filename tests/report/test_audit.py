"""Every kind of damage is found, named, and ends in no traceback."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.opic.windows import WINDOWS
from minicrawl.report.audit import Audit, audit, differences
from minicrawl.store.records import StoreTerms
from tests.stores import MOVED, A, B, HandCrawl, filled_store

EVERY_CHECK = ["file", "values", "ids", "births", "links", "forwards", "books", "fold", "commit"]


def damaged(path: Path, *statements: str) -> Audit:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return audit(path)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_whole_store_passes_every_check(tmp_path: Path, *, checkpoint: bool) -> None:
    found = audit(filled_store(tmp_path / "crawl.db", checkpoint=checkpoint))
    assert found == Audit(checked=EVERY_CHECK)
    assert list(found.lines()) == [f"ok: {', '.join(EVERY_CHECK)}"]


@pytest.mark.parametrize("measures", [None, 2])
@pytest.mark.parametrize("window", WINDOWS)
def test_every_window_passes(tmp_path: Path, window: str, measures: int | None) -> None:
    terms = StoreTerms(window=window, measures=measures)
    assert audit(filled_store(tmp_path / "crawl.db", terms)).is_intact


def test_how_much_is_done_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minicrawl.report.audit._STEPS_PER_REPORT", 1)
    told: list[float] = []
    audit(filled_store(tmp_path / "crawl.db"), told.append)
    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] == pytest.approx(1)


def test_a_store_that_was_only_begun_passes(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        pass
    assert audit(crawl.path).is_intact


def test_a_store_whose_tables_cannot_be_named_is_damaged(tmp_path: Path) -> None:
    """The views make the schema longer than the first page of the file."""
    path = filled_store(tmp_path / "crawl.db")
    written = path.read_bytes()
    path.write_bytes(written[:4096] + b"\xff" * (len(written) - 4096))
    found = audit(path)
    assert found.wrong == [f"{path}: database disk image is malformed"]
    assert not found.is_intact


def test_without_links_the_log_cannot_be_folded(tmp_path: Path) -> None:
    found = audit(filled_store(tmp_path / "crawl.db", StoreTerms(links=False)))
    assert found.checked == [name for name in EVERY_CHECK if name != "fold"]
    assert list(found.lines())[1:] == [
        "not checked: the fold: a store without links keeps only its last steps"
    ]


def test_cash_that_an_earlier_version_dealt_anew_cannot_be_folded(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B])
        crawl.checkpoint()
    with closing(sqlite3.connect(crawl.path)) as connection, connection:
        connection.execute("INSERT INTO meta VALUES ('restated', '2')")
    found = audit(crawl.path)
    assert found.is_intact
    assert found.notes == ["the fold: the ranks were refined after step 2"]


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("DELETE FROM urls WHERE id = 3", "ids: urls has 5 rows with ids from 0 to 5"),
        ("UPDATE frontier SET id = 9 WHERE id = 5", "ids: frontier has 6 rows"),
        ("UPDATE urls SET host = 77 WHERE id = 2", "ids: 1 URL without a host"),
        ("DELETE FROM steps WHERE seq = 3", "ids: the log has 5 steps, and the last one"),
        ("DELETE FROM frontier WHERE id = 5", "births: the store has 6 URLs, but 5 pages"),
        (
            "UPDATE steps SET born = 9 WHERE seq = 3",
            "births: the store has 6 URLs, but 13 pages by the steps",
        ),
        ("UPDATE steps SET spending = x'0500' WHERE seq = 3", "links: step 3: a link blob"),
        (
            "UPDATE steps SET spending = x'80' WHERE seq = 3",
            "links: step 3: a link blob is truncated",
        ),
        ("UPDATE steps SET spending = x'010063' WHERE seq = 3", "links: step 3 links to pages"),
        ("UPDATE frontier SET spent = 0 WHERE state = 2", "forwards: page 2 stands for another"),
        ("UPDATE frontier SET key = key + 1 WHERE id = 0", "books: -1 atoms of cash missing"),
        (
            "UPDATE frontier SET state = 5 WHERE id = 0",
            "fold: page 0 has state 5, but 1 by the steps",
        ),
        ("UPDATE frontier SET history = 7 WHERE id = 0", "fold: page 0 has another history"),
        (
            "UPDATE frontier SET inlinks = 7 WHERE id = 0",
            "fold: page 0 has inlinks 7, but 2 by the",
        ),
        ("UPDATE meta SET value = value + 9 WHERE name = 'recorded'", "fold: the totals are"),
        (
            "UPDATE meta SET value = replace(value, '\"1\": 2', '\"1\": 3')",
            "commit: states: {.*2",
        ),
        (
            "UPDATE meta SET value = json_set(value, '$.recorded', 1) WHERE name = 'counters'",
            "commit",
        ),
        ("UPDATE steps SET kind = 99 WHERE seq = 6", "values: kind of steps is invalid"),
        (
            "UPDATE steps SET kind = 6, spending = x'010005' WHERE seq = 3",
            "fold: step 3 cannot be replayed",
        ),
        ("UPDATE meta SET value = '{' WHERE name = 'terms'", "values: Expecting property name"),
        ("UPDATE meta SET value = 'many' WHERE name = 'watermark'", "births: invalid literal"),
    ],
)
def test_damage_is_found_and_named(store: Path, statement: str, wrong: str) -> None:
    found = damaged(store, statement)
    assert not found.is_intact
    assert any(re.match(wrong, line) for line in found.lines()), found.wrong


def test_a_page_that_stands_for_another_than_the_steps_say_is_found(store: Path) -> None:
    with closing(HandCrawl(store)) as crawl:
        loaded = crawl.loaded(index=False)
        loaded.books.forwards[2] = 5
        assert list(differences(crawl.store.connection, loaded)) == [
            "pages stand for other pages than the steps say"
        ]


def test_cash_below_nothing_is_found(store: Path) -> None:
    found = damaged(
        store,
        "UPDATE frontier SET key = key - (1 << 40) WHERE id = 3",
        "UPDATE frontier SET key = key + (1 << 40) WHERE id = 4",
    )
    assert [line.partition(" has")[0] for line in found.wrong] == ["books: page 3"]


def test_pages_that_stand_for_each_other_are_found(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B, MOVED])
        crawl.moved(A, B)
        crawl.moved(B, MOVED)
        crawl.checkpoint()
        blob = bytes([1, 0, 0]).hex()
        crawl.store.connection.execute(f"UPDATE steps SET spending = x'{blob}' WHERE seq = 3")
    assert audit(crawl.path).wrong == ["forwards: page 0 stands for itself"]


def test_much_damage_of_one_kind_is_cut_short(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        for _ in range(30):
            crawl.read(A, [B])
    found = damaged(crawl.path, "UPDATE steps SET spending = x'ff'")
    assert len(found.wrong) == 11
    assert found.wrong[-1] == "links: and more"


def test_a_broken_file_is_said_by_sqlite(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds(f"http://a.example/{'x' * 60}{number}" for number in range(2000))
        crawl.checkpoint()
        crawl.store.compact()
    path = tmp_path / "crawl.db"
    body = bytearray(path.read_bytes())
    page = 4096 * (len(body) // 4096 // 2)
    body[page : page + 200] = b"\xee" * 200
    path.write_bytes(body)
    found = audit(path)
    assert not found.is_intact
    assert found.checked == ["file"]


def test_json_says_what_was_checked(store: Path) -> None:
    assert audit(store).as_json() == {
        "ok": True,
        "checked": EVERY_CHECK,
        "wrong": [],
        "notes": [],
    }

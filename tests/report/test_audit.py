"""The audit finds and names every kind of damage, and never raises."""

import re
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.report.integrity.audit import Audit, audit, differences
from minicrawl.store.records import StoreTerms
from tests.stores import MOVED, A, B, HandCrawl, filled_store

EVERY_CHECK = ["file", "values", "ids", "births", "links", "forwards", "books", "fold", "commit"]


def damaged(path: Path, *statements: str) -> Audit:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return audit(path)


@pytest.mark.parametrize("checkpoint", [True, False])
def test_an_intact_store_passes_every_check(path: Path, *, checkpoint: bool) -> None:
    found = audit(filled_store(path, checkpoint=checkpoint))
    assert found == Audit(checked=EVERY_CHECK)
    assert list(found.lines()) == [f"ok: {', '.join(EVERY_CHECK)}"]
    assert found.to_json() == {"ok": True, "checked": EVERY_CHECK, "wrong": [], "notes": []}


@pytest.mark.parametrize("measures", [None, 2])
@pytest.mark.parametrize("window", WINDOWS)
def test_a_store_with_any_window_passes(path: Path, window: str, measures: int | None) -> None:
    terms = StoreTerms(window=window, measures=measures)
    assert audit(filled_store(path, terms)).is_intact


def test_progress_rises_from_0_to_1(path: Path) -> None:
    pages = [f"{A}{number}" for number in range(3000)]
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(pages[:1])
        for page, link in pairwise(pages):
            crawl.read(page, [link])
        crawl.commit()
    reported: list[float] = []
    audit(path, reported.append)
    assert len(set(reported)) > 3
    assert reported == sorted(reported)
    assert reported[0] == 0
    assert reported[-1] == pytest.approx(1)


def test_without_links_the_log_cannot_be_folded(path: Path) -> None:
    found = audit(filled_store(path, StoreTerms(links=False)))
    assert found.checked == [name for name in EVERY_CHECK if name != "fold"]
    assert list(found.lines())[1:] == [
        "not checked: the fold: a store without links keeps only its last steps"
    ]


def test_a_log_that_an_earlier_version_refined_cannot_be_folded(store: Path) -> None:
    found = damaged(store, "INSERT INTO meta VALUES ('restated', '2')")
    assert found.is_intact
    assert found.notes == ["the fold: the ranks were refined after step 2"]


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("DELETE FROM urls WHERE id = 3", "ids: urls has 5 rows with ids from 0 to 5"),
        ("UPDATE frontier SET id = 9 WHERE id = 5", "ids: frontier has 6 rows"),
        ("UPDATE urls SET host = 77 WHERE id = 2", "ids: 1 URL without a host"),
        ("DELETE FROM steps WHERE seq = 3", "ids: the log has 5 steps"),
        ("DELETE FROM frontier WHERE id = 5", "births: the store has 6 URLs, but 5 pages"),
        ("UPDATE steps SET born = 9 WHERE seq = 3", "births: .* 6 URLs, but 13 pages"),
        ("UPDATE steps SET spending = x'0500' WHERE seq = 3", "links: step 3: a link blob"),
        ("UPDATE steps SET spending = x'80' WHERE seq = 3", "links: step 3: .* is truncated"),
        ("UPDATE steps SET spending = x'010063' WHERE seq = 3", "links: step 3 links to pages"),
        ("UPDATE frontier SET spent = 0 WHERE state = 2", "forwards: page 2 stands for another"),
        ("UPDATE frontier SET key = key + 1 WHERE id = 0", "books: -1 atoms of cash missing"),
        ("UPDATE frontier SET state = 5 WHERE id = 0", "fold: page 0 has state 5, but 1"),
        ("UPDATE frontier SET history = 7 WHERE id = 0", "fold: page 0 has another history"),
        ("UPDATE frontier SET inlinks = 7 WHERE id = 0", "fold: page 0 has inlinks 7, but 2"),
        ("UPDATE meta SET value = value + 9 WHERE name = 'recorded'", "fold: the totals are"),
        ("UPDATE meta SET value = replace(value, '\"1\": 2', '\"1\": 3')", "commit: states: {.*2"),
        (
            "UPDATE meta SET value = json_set(value, '$.recorded', 1) WHERE name = 'counters'",
            "commit",
        ),
        ("UPDATE steps SET kind = 99 WHERE seq = 6", "values: kind of steps is invalid"),
        ("UPDATE steps SET kind = 6, spending = x'010005' WHERE seq = 3", "fold: step 3 cannot be"),
        ("UPDATE meta SET value = '{' WHERE name = 'terms'", "values: Expecting property name"),
        ("UPDATE meta SET value = 'many' WHERE name = 'watermark'", "births: invalid literal"),
    ],
)
def test_damage_is_found_and_named(store: Path, statement: str, wrong: str) -> None:
    found = damaged(store, statement)
    assert not found.is_intact
    assert any(re.match(wrong, line) for line in found.lines()), found.wrong


def test_a_forward_that_contradicts_the_steps_is_found(store: Path) -> None:
    with closing(HandCrawl(store)) as crawl:
        loaded = crawl.loaded(index=False)
        loaded.books.forwards[2] = 5
        assert list(differences(crawl.store.connection, loaded)) == [
            "pages stand for other pages than the steps say"
        ]


def test_negative_cash_is_found(store: Path) -> None:
    found = damaged(
        store,
        "UPDATE frontier SET key = key - (1 << 40) WHERE id = 3",
        "UPDATE frontier SET key = key + (1 << 40) WHERE id = 4",
    )
    assert [line.partition(" has")[0] for line in found.wrong] == ["books: page 3"]


def test_a_cycle_of_forwards_is_found(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B, MOVED])
        crawl.moved(A, B)
        crawl.moved(B, MOVED)
        crawl.checkpoint()
        blob = bytes([1, 0, 0]).hex()
        crawl.store.connection.execute(f"UPDATE steps SET spending = x'{blob}' WHERE seq = 3")
    assert audit(crawl.path).wrong == ["forwards: page 0 stands for itself"]


def test_a_long_list_of_one_kind_of_damage_is_truncated(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        for _ in range(30):
            crawl.read(A, [B])
    found = damaged(crawl.path, "UPDATE steps SET spending = x'ff'")
    assert len(found.wrong) == 11
    assert found.wrong[-1] == "links: and more"


def test_damage_found_by_sqlite_ends_the_audit(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(f"http://a.example/{'x' * 60}{number}" for number in range(2000))
        crawl.checkpoint()
        crawl.store.compact()
    body = bytearray(path.read_bytes())
    page = 4096 * (len(body) // 4096 // 2)
    body[page : page + 200] = b"\xee" * 200
    path.write_bytes(body)
    found = audit(path)
    assert not found.is_intact
    assert found.checked == ["file"]

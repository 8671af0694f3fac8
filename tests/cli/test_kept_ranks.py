"""Kept ranks in `top --by`, `export --ranks`, `explain` and `rank`."""

import csv
import io
from pathlib import Path

import pytest

from minicrawl.report.selected_pages import COLUMNS
from minicrawl.store.records import StoreTerms
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.stores import DEEP, GONE, MOVED, A, B, C, filled_store, read_later

NEW = "http://new.example/"
LACKING = "1 page has no score by degree: found after it was made\n"
LACKING_TOO = LACKING.replace("degree", "out-links")


@pytest.fixture(autouse=True)
def store(filled: Path, capsys: Captured) -> Path:
    """Store with two ranks; by `degree` A comes first, with 2 of 6 links, and MOVED has none."""
    printed(capsys, "rank", "degree")
    printed(capsys, "rank", "degree", "--direction", "out", "--as", "out-links")
    return filled


@pytest.fixture
def later(store: Path) -> None:
    """Let the crawl go on, and find another page."""
    read_later(store, C, [NEW])


def exported(capsys: Captured, *options: str, said: str = "") -> dict[str, dict[str, str]]:
    text = printed(capsys, "export", "-", *options, said=said)
    return {row["url"]: row for row in csv.DictReader(io.StringIO(text))}


class TestTop:
    def test_pages_are_in_the_order_of_the_named_rank(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all", "--by", "degree")
        assert [page["url"] for page in found] == [A, B, DEEP, C, GONE, MOVED]
        assert [page["rank"] for page in found] == [1, 2, 3, 4, 5, 6]
        assert found[0]["score"] == 2 / 6
        (best,) = as_json(capsys, "top", "--all", "--by", "out-links", "--n", "1")
        assert best["url"] == B
        of_host = as_json(capsys, "top", "--all", "--by", "degree", "--host", "b.example")
        assert [(page["url"], page["rank"]) for page in of_host] == [(B, 2), (GONE, 5)]

    def test_without_a_name_pages_are_in_the_order_of_importance(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all")
        assert found == as_json(capsys, "top", "--all", "--by", "opic")
        for one in (*found, *as_json(capsys, "top", "--sites")):
            assert one["score"] == one["importance"]
        assert "degree" not in printed(capsys, "top", "--all")

    @pytest.mark.usefixtures("later")
    def test_pages_that_became_known_later_are_last_and_have_no_score(
        self, capsys: Captured
    ) -> None:
        by_degree = ("top", "--all", "--by", "degree")
        last = as_json(capsys, *by_degree, said=LACKING)[-1]
        assert (last["url"], last["rank"], last["score"]) == (NEW, 7, None)
        heading, first, *_, line, told = printed(capsys, *by_degree, said=LACKING).splitlines()
        assert heading.split()[:3] == ["rank", "degree", "importance"]
        assert first.split()[:3] == ["1", "33.3333", "%"]
        assert line.split()[:2] == ["7", "-"]
        assert told.startswith("importance: estimated")
        last = as_json(capsys, "top", "--sites", "--by", "degree", said=LACKING)[-1]
        assert (last["site"], last["score"]) == ("new.example", 0)

    def test_the_score_of_a_site_is_that_of_its_pages(
        self, tmp_path: Path, capsys: Captured
    ) -> None:
        found = as_json(capsys, "top", "--sites", "--by", "degree")
        assert [(site["rank"], site["site"], site["score"]) for site in found] == [
            *((1, "a.example", 3 / 6), (2, "b.example", 2 / 6), (3, "c.example", 1 / 6)),
        ]
        path = filled_store(tmp_path / "bare.db", StoreTerms(links=False))
        assert "--no-links" in refusal(capsys, "top", "--sites", "--store", path)


class TestExport:
    @pytest.mark.usefixtures("later")
    def test_each_rank_is_a_column(self, capsys: Captured) -> None:
        rows = exported(capsys, "--ranks", "degree, out-links", said=LACKING + LACKING_TOO)
        assert list(rows[A]) == [*COLUMNS, "rank_degree", "rank_out-links"]
        assert float(rows[A]["rank_degree"]) == 2 / 6
        assert rows[NEW]["rank_degree"] == rows[NEW]["rank_out-links"] == ""
        duckdb = pytest.importorskip("duckdb")
        printed(capsys, "export", "ranks.parquet", "--ranks", "out-links", said=LACKING_TOO)
        query = "SELECT url, \"rank_out-links\" FROM 'ranks.parquet'"
        with duckdb.connect() as database:
            found = dict(database.execute(query).fetchall())
        assert (found[A], found[NEW]) == (2 / 6, None)

    def test_by_orders_the_pages_by_a_rank(self, capsys: Captured) -> None:
        rows = exported(capsys, "--by", "degree", "--ranks", "degree,rising")
        found = [float(row["rank_degree"]) for row in rows.values()]
        assert found == sorted(found, reverse=True)
        assert [*exported(capsys, "--by", "degree", "-n", "1")] == [*rows][:1]
        told = {page["url"]: page["score"] for page in as_json(capsys, "top", "--all", "--rising")}
        rising = {url: row["rank_rising"] for url, row in rows.items()}
        assert {url: float(score) if score else None for url, score in rising.items()} == told


def test_a_page_is_explained_with_its_place_by_each_rank(capsys: Captured) -> None:
    assert as_json(capsys, "explain", A)["ranks"] == [
        {"name": "degree", "score": 2 / 6, "rank": 1},
        {"name": "out-links", "score": 2 / 6, "rank": 2},
    ]
    lines = printed(capsys, "explain", A).splitlines()
    assert [line.split(maxsplit=2) for line in lines if line.startswith("by ")] == [
        ["by", "degree", "33.3333 %, rank 1"],
        ["by", "out-links", "33.3333 %, rank 2"],
    ]


@pytest.mark.usefixtures("later")
def test_a_page_that_was_found_later_has_no_place(capsys: Captured) -> None:
    nowhere = {"name": "degree", "score": None, "rank": None}
    assert as_json(capsys, "explain", NEW)["ranks"][0] == nowhere
    assert "no score: the page was found later" in printed(capsys, "explain", NEW)
    first, _ = as_json(capsys, "rank")
    assert (first["current"], first["unranked"]) == (False, 1)
    assert "older than the store: 1 page has no score" in printed(capsys, "rank")


def test_ranks_are_listed_with_their_options_and_errors(store: Path, capsys: Captured) -> None:
    _, second = as_json(capsys, "rank")
    assert second.pop("made_at").endswith("Z")
    assert second == {
        "name": "out-links",
        "options": {"direction": "out"},
        "nodes": 6,
        "edges": 6,
        "iterations": 0,
        "error_bound": 0.0,
        "converged": True,
        "current": True,
        "unranked": 0,
    }
    line = printed(capsys, "rank").splitlines()[2]
    assert line.split()[-3:] == ["out-links", "direction", "out"]
    store.with_name("crawl.db-ranks").unlink()
    assert as_json(capsys, "rank") == []
    assert "minicrawl rank pagerank" in printed(capsys, "rank")


def test_pages_that_gained_most_against_their_history_rise(
    tmp_path: Path, capsys: Captured
) -> None:
    found = as_json(capsys, "top", "--all", "--rising")
    assert [page["url"] for page in found if page["fetched"]] == [A, B]
    assert [page["score"] is not None for page in found] == [page["fetched"] for page in found]
    shown = [page["score"] for page in found[:2]]
    assert shown == sorted(shown, reverse=True)
    heading, first, *_ = printed(capsys, "top", "--all", "--rising").splitlines()
    assert heading.split()[:2] == ["rank", "rising"]
    assert first.split()[:2] == ["1", f"{shown[0]:.2f}"]
    path = filled_store(tmp_path / "static.db", StoreTerms(window="static"))
    assert "--window" in refusal(capsys, "top", "--all", "--rising", "--store", path)

"""Kept ranks in `top --by`, `export --ranks`, `explain` and `rank`."""

import csv
import io
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.report.selected_pages import COLUMNS
from minicrawl.report.snapshot import RISING, scores, snapshot
from minicrawl.store.records import StoreTerms
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store

NEW = "http://new.example/"
LACKING = "1 page has no score by degree: found after it was made\n"
LACKING_TOO = LACKING.replace("degree", "out-links")


@pytest.fixture(autouse=True)
def store(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    """Store with two ranks; by `degree` A comes first, with 2 of 6 links, and MOVED has none."""
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    path = filled_store(place / "crawl.db")
    printed(capsys, "rank", "degree")
    printed(capsys, "rank", "degree", "--direction", "out", "--as", "out-links")
    return path


def go_on(store: Path) -> None:
    with closing(HandCrawl(store)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read(C, [NEW])


def rows_of(csv_text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text)))


class TestTop:
    def test_pages_are_in_the_order_of_the_named_rank(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all", "--by", "degree")
        assert [page["url"] for page in found] == [A, B, DEEP, C, GONE, MOVED]
        assert [page["rank"] for page in found] == [1, 2, 3, 4, 5, 6]
        assert found[0]["score"] == 2 / 6
        (best,) = as_json(capsys, "top", "--all", "--by", "out-links", "--n", "1")
        assert best["url"] == B

    def test_the_rank_of_a_page_is_among_all_pages(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all", "--by", "degree", "--host", "b.example")
        assert [(page["url"], page["rank"]) for page in found] == [(B, 2), (GONE, 5)]

    def test_without_a_name_pages_are_in_the_order_of_importance(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all")
        assert found == as_json(capsys, "top", "--all", "--by", "opic")
        assert all(page["score"] == page["importance"] for page in found)

    def test_a_table_has_scores_beside_the_importance(self, capsys: Captured) -> None:
        heading, first, *_ = printed(capsys, "top", "--all", "--by", "degree").splitlines()
        assert heading.split()[:3] == ["rank", "degree", "importance"]
        assert first.split()[:3] == ["1", "33.3333", "%"]
        assert "degree" not in printed(capsys, "top", "--all")

    def test_pages_that_became_known_later_are_last_and_have_no_score(
        self, store: Path, capsys: Captured
    ) -> None:
        go_on(store)
        last = as_json(capsys, "top", "--all", "--by", "degree", said=LACKING)[-1]
        assert (last["url"], last["rank"], last["score"]) == (NEW, 7, None)
        *_, line, told = printed(
            capsys, "top", "--all", "--by", "degree", said=LACKING
        ).splitlines()
        assert line.split()[:2] == ["7", "-"]
        assert told.startswith("importance: estimated")

    def test_a_missing_rank_is_refused_with_the_known_ones(self, capsys: Captured) -> None:
        line = refusal(capsys, "top", "--all", "--by", "pagerank")
        assert "opic, degree, out-links" in line

    def test_the_score_of_a_site_is_that_of_its_pages(self, store: Path, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--sites", "--by", "degree")
        assert [(site["rank"], site["site"], site["score"]) for site in found] == [
            *((1, "a.example", 3 / 6), (2, "b.example", 2 / 6), (3, "c.example", 1 / 6)),
        ]
        heading, first, *_ = printed(capsys, "top", "--sites", "--by", "degree").splitlines()
        assert heading.split()[:3] == ["rank", "degree", "importance"]
        assert first.split()[:3] == ["1", "50.0000", "%"]
        go_on(store)
        last = as_json(capsys, "top", "--sites", "--by", "degree", said=LACKING)[-1]
        assert (last["site"], last["score"]) == ("new.example", 0)

    def test_without_a_name_the_score_of_a_site_is_its_importance(self, capsys: Captured) -> None:
        for site in as_json(capsys, "top", "--sites"):
            assert site["score"] == site["importance"]

    def test_sites_of_a_bare_store_are_refused(self, tmp_path: Path, capsys: Captured) -> None:
        path = filled_store(tmp_path / "bare.db", StoreTerms(links=False))
        assert "--no-links" in refusal(capsys, "top", "--sites", "--store", str(path))

    def test_all_sites_are_ranked_or_none(self, capsys: Captured) -> None:
        assert "--sites cannot be combined with --host" in refusal(
            capsys, "top", "--sites", "--host", "a.example"
        )


class TestExport:
    def test_csv_has_a_column_for_each_rank(self, store: Path, capsys: Captured) -> None:
        go_on(store)
        text = printed(
            capsys, "export", "-", "--ranks", "degree, out-links", said=LACKING + LACKING_TOO
        )
        rows = {row["url"]: row for row in rows_of(text)}
        assert list(rows[A]) == [*COLUMNS, "rank_degree", "rank_out-links"]
        assert float(rows[A]["rank_degree"]) == 2 / 6
        assert rows[NEW]["rank_degree"] == rows[NEW]["rank_out-links"] == ""

    def test_a_missing_score_is_null_in_json_lines(self, store: Path, capsys: Captured) -> None:
        go_on(store)
        text = printed(
            capsys, "export", "-", "--format", "jsonl", "--ranks", "degree", said=LACKING
        )
        rows = {row["url"]: row for row in map(json.loads, text.splitlines())}
        assert rows[A]["rank_degree"] == 2 / 6
        assert rows[NEW]["rank_degree"] is None

    def test_a_missing_score_is_null_in_parquet(self, store: Path, capsys: Captured) -> None:
        duckdb = pytest.importorskip("duckdb")
        go_on(store)
        printed(capsys, "export", "ranks.parquet", "--ranks", "out-links", said=LACKING_TOO)
        query = "SELECT url, \"rank_out-links\" FROM 'ranks.parquet'"
        with duckdb.connect() as database:
            found = dict(database.execute(query).fetchall())
        assert found[A] == 2 / 6
        assert found[NEW] is None

    def test_selected_pages_have_their_own_scores(self, capsys: Captured) -> None:
        text = printed(capsys, "export", "-", "--ranks", "degree", "--host", "c.example")
        (row,) = rows_of(text)
        assert (row["url"], float(row["rank_degree"])) == (C, 1 / 6)

    def test_importance_may_be_named_as_a_rank(self, capsys: Captured) -> None:
        rows = rows_of(printed(capsys, "export", "-", "--ranks", "opic"))
        assert [row["rank_opic"] for row in rows] == [row["importance"] for row in rows]

    def test_by_orders_the_pages_by_a_rank(self, capsys: Captured) -> None:
        pages = rows_of(printed(capsys, "export", "-", "--by", "degree", "--ranks", "degree"))
        found = [float(row["rank_degree"]) for row in pages]
        assert found == sorted(found, reverse=True)
        (best,) = rows_of(printed(capsys, "export", "-", "--by", "degree", "-n", "1"))
        assert best["url"] == pages[0]["url"]

    def test_a_missing_rank_overwrites_no_file(self, capsys: Captured) -> None:
        file = Path("ranks.csv")
        file.write_text("what was there")
        assert "no rank trust" in refusal(
            capsys, "export", "ranks.csv", "--force", "--ranks", "degree,trust"
        )
        assert file.read_text() == "what was there"


class TestExplain:
    def test_a_page_has_a_score_and_a_place_by_each_rank(self, capsys: Captured) -> None:
        assert as_json(capsys, "explain", A)["ranks"] == [
            {"name": "degree", "score": 2 / 6, "rank": 1},
            {"name": "out-links", "score": 2 / 6, "rank": 2},
        ]
        lines = printed(capsys, "explain", A).splitlines()
        assert [line.split(maxsplit=2) for line in lines if line.startswith("by ")] == [
            ["by", "degree", "33.3333 %, rank 1"],
            ["by", "out-links", "33.3333 %, rank 2"],
        ]

    def test_a_page_that_was_found_later_has_no_place(self, store: Path, capsys: Captured) -> None:
        go_on(store)
        nowhere = {"name": "degree", "score": None, "rank": None}
        assert as_json(capsys, "explain", NEW)["ranks"][0] == nowhere
        assert "no score: the page was found later" in printed(capsys, "explain", NEW)


class TestList:
    def test_each_rank_is_listed_with_its_options_and_its_error(self, capsys: Captured) -> None:
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

    def test_a_rank_older_than_the_store_is_marked(self, store: Path, capsys: Captured) -> None:
        go_on(store)
        first, _ = as_json(capsys, "rank")
        assert (first["current"], first["unranked"]) == (False, 1)
        assert "older than the store: 1 page has no score" in printed(capsys, "rank")

    def test_a_store_without_ranks_has_an_empty_list(self, store: Path, capsys: Captured) -> None:
        store.with_name("crawl.db-ranks").unlink()
        assert as_json(capsys, "rank") == []
        assert "minicrawl rank pagerank" in printed(capsys, "rank")


class TestRising:
    def test_pages_that_gained_most_against_their_history_come_first(
        self, store: Path, capsys: Captured
    ) -> None:
        with snapshot(store) as seen:
            expected = scores(seen, RISING)
        found = as_json(capsys, "top", "--all", "--rising")
        shown = [page["score"] for page in found if page["score"] is not None]
        assert shown == sorted(expected[~np.isnan(expected)].tolist(), reverse=True)
        heading, first, *_ = printed(capsys, "top", "--all", "--rising").splitlines()
        assert heading.split()[:2] == ["rank", "rising"]
        assert first.split()[:2] == ["1", f"{shown[0]:.2f}"]

    def test_export_has_it_in_a_column(self, capsys: Captured) -> None:
        text = printed(capsys, "export", "-", "--ranks", "rising")
        rows = {row["url"]: row["rank_rising"] for row in rows_of(text)}
        told = {page["url"]: page["score"] for page in as_json(capsys, "top", "--all", "--rising")}
        assert {url: float(score) if score else None for url, score in rows.items()} == told

    def test_rising_orders_no_sites_and_goes_with_no_other_rank(self, capsys: Captured) -> None:
        assert "--sites" in refusal(capsys, "top", "--all", "--rising", "--sites")
        assert "--sites" in refusal(capsys, "top", "--all", "--by", "rising", "--sites")
        assert "--by" in refusal(capsys, "top", "--all", "--rising", "--by", "degree")

    @pytest.mark.parametrize("name", ["rising", "opic", "importance"])
    def test_a_reserved_name_is_refused(self, capsys: Captured, name: str) -> None:
        assert "choose another name" in refusal(capsys, "rank", "pagerank", "--as", name)

    def test_only_pages_that_were_read_rise(self, store: Path) -> None:
        with snapshot(store) as seen:
            assert seen.was_read[~np.isnan(scores(seen, RISING))].all()

    def test_rising_needs_a_window_that_forgets(self, tmp_path: Path, capsys: Captured) -> None:
        path = filled_store(tmp_path / "static.db", StoreTerms(window="static"))
        assert "--window" in refusal(capsys, "top", "--all", "--rising", "--store", str(path))

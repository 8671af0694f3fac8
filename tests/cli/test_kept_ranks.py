"""Ranks that are kept show in `top --by`, `export --ranks`, `explain` and `rank`."""

import csv
import io
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.cli import main
from minicrawl.report.selected_pages import COLUMNS
from minicrawl.report.snapshot import RISING, scores, snapshot
from minicrawl.store.records import StoreTerms
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store

Captured = pytest.CaptureFixture[str]

NEW = "http://new.example/"
LACKING = "1 page has no score by degree: found after it was made\n"
LACKING_TOO = LACKING.replace("degree", "out-links")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    """With two ranks; by `degree` A comes first, with 2 of 6 links, and MOVED has none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINICRAWL_CONFIG", raising=False)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    path = filled_store(tmp_path / "crawl.db")
    assert main(["rank", "degree"]) == 0
    assert main(["rank", "degree", "--direction", "out", "--as", "out-links"]) == 0
    capsys.readouterr()
    return path


def go_on(store: Path) -> None:
    with closing(HandCrawl(store)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read(C, [NEW])


ESTIMATED = "importance: estimated; with stored links `minicrawl refine` makes it converge\n"
"""What `export` says beside its file."""


def printed(capsys: Captured, *arguments: str, said: str = "") -> str:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert re.sub(r"(?m)^wrote .*\n", "", err.replace(ESTIMATED, "")) == said
    return out


def as_json(capsys: Captured, *arguments: str, said: str = "") -> Any:
    return json.loads(printed(capsys, *arguments, "--json", said=said))


def refusal(capsys: Captured, *arguments: str) -> str:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    said = err.replace(ESTIMATED, "")
    assert (out, said.count("\n")) == ("", 1)
    return said


class TestTop:
    def test_pages_are_in_the_order_of_the_rank_that_is_named(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all", "--by", "degree")
        assert [page["url"] for page in found] == [A, B, DEEP, C, GONE, MOVED]
        assert [page["rank"] for page in found] == [1, 2, 3, 4, 5, 6]
        assert found[0]["score"] == 2 / 6
        (best,) = as_json(capsys, "top", "--all", "--by", "out-links", "--n", "1")
        assert best["url"] == B

    def test_the_rank_of_a_page_is_among_all_pages(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all", "--by", "degree", "--host", "b.example")
        assert [(page["url"], page["rank"]) for page in found] == [(B, 2), (GONE, 5)]

    def test_without_a_name_it_is_the_crawls_own(self, capsys: Captured) -> None:
        found = as_json(capsys, "top", "--all")
        assert found == as_json(capsys, "top", "--all", "--by", "opic")
        assert all(page["score"] == page["importance"] for page in found)

    def test_people_see_its_scores_beside_the_importance(self, capsys: Captured) -> None:
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

    def test_a_rank_that_is_not_there_is_refused_with_those_that_are(
        self, capsys: Captured
    ) -> None:
        assert "only opic, degree, out-links:" in refusal(
            capsys, "top", "--all", "--by", "pagerank"
        )

    def test_a_site_has_what_its_pages_have_together(self, store: Path, capsys: Captured) -> None:
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

    def test_without_a_name_a_site_has_what_others_give_it(self, capsys: Captured) -> None:
        for site in as_json(capsys, "top", "--sites"):
            assert site["score"] == site["importance"]

    def test_without_links_there_is_nothing_to_rank_sites_by(
        self, tmp_path: Path, capsys: Captured
    ) -> None:
        path = filled_store(tmp_path / "bare.db", StoreTerms(links=False))
        assert "--no-links" in refusal(capsys, "top", "--sites", "--store", str(path))

    def test_all_sites_are_ranked_or_none(self, capsys: Captured) -> None:
        assert "--sites cannot be combined with --host" in refusal(
            capsys, "top", "--sites", "--host", "a.example"
        )


class TestExport:
    def test_csv_gets_a_column_for_each_rank_and_empty_cells(
        self, store: Path, capsys: Captured
    ) -> None:
        go_on(store)
        text = printed(
            capsys, "export", "-", "--ranks", "degree, out-links", said=LACKING + LACKING_TOO
        )
        rows = {row["url"]: row for row in csv.DictReader(io.StringIO(text))}
        assert list(rows[A]) == [*COLUMNS, "rank_degree", "rank_out-links"]
        assert float(rows[A]["rank_degree"]) == 2 / 6
        assert rows[NEW]["rank_degree"] == rows[NEW]["rank_out-links"] == ""

    def test_json_lines_say_null(self, store: Path, capsys: Captured) -> None:
        go_on(store)
        text = printed(
            capsys, "export", "-", "--format", "jsonl", "--ranks", "degree", said=LACKING
        )
        rows = {row["url"]: row for row in map(json.loads, text.splitlines())}
        assert rows[A]["rank_degree"] == 2 / 6
        assert rows[NEW]["rank_degree"] is None

    def test_parquet_has_numbers_or_nothing(self, store: Path, capsys: Captured) -> None:
        duckdb = pytest.importorskip("duckdb")
        go_on(store)
        printed(capsys, "export", "ranks.parquet", "--ranks", "out-links", said=LACKING_TOO)
        question = "SELECT url, \"rank_out-links\" FROM 'ranks.parquet'"
        with duckdb.connect() as database:
            found = dict(database.execute(question).fetchall())
        assert found[A] == 2 / 6
        assert found[NEW] is None

    def test_pages_that_are_left_out_leave_no_score_behind(self, capsys: Captured) -> None:
        text = printed(capsys, "export", "-", "--ranks", "degree", "--host", "c.example")
        (row,) = csv.DictReader(io.StringIO(text))
        assert (row["url"], float(row["rank_degree"])) == (C, 1 / 6)

    def test_the_crawls_own_rank_may_be_named_too(self, capsys: Captured) -> None:
        text = printed(capsys, "export", "-", "--ranks", "opic")
        for row in csv.DictReader(io.StringIO(text)):
            assert row["rank_opic"] == row["importance"]

    def test_by_orders_the_pages_by_a_rank(self, capsys: Captured) -> None:
        text = printed(capsys, "export", "-", "--by", "degree", "--ranks", "degree")
        pages = list(csv.DictReader(io.StringIO(text)))
        found = [float(row["rank_degree"]) for row in pages]
        assert found == sorted(found, reverse=True)
        best = printed(capsys, "export", "-", "--by", "degree", "-n", "1")
        assert next(csv.DictReader(io.StringIO(best)))["url"] == pages[0]["url"]

    def test_a_rank_that_is_not_there_writes_nothing(self, capsys: Captured) -> None:
        file = Path("ranks.csv")
        file.write_text("what was there")
        assert "no rank trust" in refusal(
            capsys, "export", "ranks.csv", "--force", "--ranks", "degree,trust"
        )
        assert file.read_text() == "what was there"


class TestExplain:
    def test_each_rank_says_where_the_page_stands(self, capsys: Captured) -> None:
        assert as_json(capsys, "explain", A)["ranks"] == [
            {"name": "degree", "score": 2 / 6, "rank": 1},
            {"name": "out-links", "score": 2 / 6, "rank": 2},
        ]
        lines = printed(capsys, "explain", A).splitlines()
        assert [line.split(maxsplit=2) for line in lines if line.startswith("by ")] == [
            ["by", "degree", "33.3333 %, rank 1"],
            ["by", "out-links", "33.3333 %, rank 2"],
        ]

    def test_a_page_that_became_known_later_stands_nowhere(
        self, store: Path, capsys: Captured
    ) -> None:
        go_on(store)
        nowhere = {"name": "degree", "score": None, "rank": None}
        assert as_json(capsys, "explain", NEW)["ranks"][0] == nowhere
        assert "no score: the page was found later" in printed(capsys, "explain", NEW)


class TestList:
    def test_it_says_with_what_each_was_made(self, capsys: Captured) -> None:
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

    def test_it_says_when_the_crawl_has_gone_on(self, store: Path, capsys: Captured) -> None:
        go_on(store)
        first, _ = as_json(capsys, "rank")
        assert (first["current"], first["unranked"]) == (False, 1)
        assert "older than the store: 1 page has no score" in printed(capsys, "rank")

    def test_without_any_it_says_what_makes_one(self, store: Path, capsys: Captured) -> None:
        store.with_name("crawl.db-ranks").unlink()
        assert as_json(capsys, "rank") == []
        assert "no ranks: make one" in printed(capsys, "rank")


class TestRising:
    def test_the_page_that_was_given_most_beyond_its_promise_comes_first(
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
        rows = {row["url"]: row["rank_rising"] for row in csv.DictReader(io.StringIO(text))}
        told = {page["url"]: page["score"] for page in as_json(capsys, "top", "--all", "--rising")}
        assert {url: float(score) if score else None for url, score in rows.items()} == told

    def test_it_is_an_order_of_pages_alone(self, capsys: Captured) -> None:
        assert "--sites" in refusal(capsys, "top", "--all", "--rising", "--sites")
        assert "--sites" in refusal(capsys, "top", "--all", "--by", "rising", "--sites")
        assert "--by" in refusal(capsys, "top", "--all", "--rising", "--by", "degree")

    @pytest.mark.parametrize("name", ["rising", "opic", "importance"])
    def test_no_other_rank_has_its_name(self, capsys: Captured, name: str) -> None:
        assert "choose another name" in refusal(capsys, "rank", "pagerank", "--as", name)

    def test_only_pages_that_were_read_rise(self, store: Path) -> None:
        with snapshot(store) as seen:
            assert seen.was_read[~np.isnan(scores(seen, RISING))].all()

    def test_a_static_window_cannot_tell(self, tmp_path: Path, capsys: Captured) -> None:
        path = filled_store(tmp_path / "static.db", StoreTerms(window="static"))
        assert "--window" in refusal(capsys, "top", "--all", "--rising", "--store", str(path))

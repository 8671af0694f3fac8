"""`minicrawl compare`, `stability` and `agree`: what they say of ranks, and what they refuse."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.analysis.ranks import RANKS
from minicrawl.cli import main
from minicrawl.ranks.scores import Scores
from tests.stores import A, B, C, HandCrawl, filled_store

Captured = pytest.CaptureFixture[str]

NEW = "http://new.example/"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINICRAWL_CONFIG", raising=False)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    monkeypatch.setitem(RANKS, "by-number", lambda named, _tell: numbered(named.graph.nodes))
    Path("web.txt").write_text("1 2\n1 3\n2 3\n4 3\n")
    return filled_store(tmp_path / "crawl.db")


def numbered(nodes: int) -> Scores:
    """The later a node, the better."""
    values = np.arange(1, nodes + 1) / (nodes * (nodes + 1) / 2)
    return Scores(values=values, iterations=1, error_bound=0.0, converged=True)


def go_on(store: Path) -> None:
    with closing(HandCrawl(store)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read(C, [NEW])


def as_json(capsys: Captured, *arguments: str, said: str = "") -> Any:
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == said
    return json.loads(out)


def printed(capsys: Captured, *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def refusal(capsys: Captured, *arguments: str) -> str:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


class TestCompare:
    def test_a_rank_agrees_with_itself(self, capsys: Captured) -> None:
        assert as_json(capsys, "compare", "degree", "degree", "--k", "2,1,99") == {
            "a": "degree",
            "b": "degree",
            "nodes": 6,
            "kendall_tau": 1.0,
            "spearman": pytest.approx(1.0),
            "overlap": {"1": 1.0, "2": 1.0},
            "mean_relative_error": {"all": 0.0, "top10": 0.0},
        }

    def test_the_crawls_own_rank_is_measured_by_another(self, capsys: Captured) -> None:
        found = as_json(capsys, "compare", "opic", "degree")
        assert 0 < found["kendall_tau"] <= 1
        assert found["mean_relative_error"]["all"] > 0

    def test_a_rank_that_is_kept_is_taken_as_it_is(self, store: Path, capsys: Captured) -> None:
        assert main(["rank", "degree"]) == 0
        capsys.readouterr()
        go_on(store)
        said = "degree was made before 1 of the pages became known: these have no score\n"
        assert as_json(capsys, "compare", "degree", "opic", said=said)["nodes"] == 6
        assert as_json(capsys, "compare", "by-number", "opic")["nodes"] == 7

    def test_a_graph_file_is_ranked_anew(self, capsys: Captured) -> None:
        found = as_json(capsys, "compare", "by-number", "degree", "--graph", "web.txt", "--k", "1")
        assert (found["nodes"], found["overlap"]) == (4, {"1": 0.0})

    def test_people_get_a_line_for_each_measure(self, capsys: Captured) -> None:
        arguments = ("compare", "degree", "by-number", "--graph", "web.txt", "--k", "2")
        names = [line.split("  ")[0] for line in printed(capsys, *arguments).splitlines()]
        assert names == [
            *("ranks", "Kendall tau", "Spearman"),
            *("top 2", "error of all", "of the top 10 %"),
        ]

    def test_what_is_undefined_is_null_and_said(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alike = Scores(values=np.full(4, 0.25), iterations=0, error_bound=0, converged=True)
        monkeypatch.setitem(RANKS, "alike", lambda _named, _tell: alike)
        arguments = ("compare", "alike", "degree", "--graph", "web.txt")
        found = as_json(capsys, *arguments)
        assert found["kendall_tau"] is found["spearman"] is None
        assert "undefined: all are alike" in printed(capsys, *arguments)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["degree", "beauty"], "no rank beauty is known; there are opic, degree"),
            (["opic", "degree", "--graph", "web.txt"], "no rank opic is known; there are degree"),
            (["degree", "degree", "--k", "0"], "no list of sizes"),
            (["degree", "degree", "--k", "x,1"], "no list of sizes"),
            (["degree", "degree", "--graph", "absent.txt"], "absent.txt"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, capsys: Captured, arguments: list[str], said: str
    ) -> None:
        assert said in refusal(capsys, "compare", *arguments)

    def test_fewer_than_two_nodes_in_common_are_refused(
        self, tmp_path: Path, capsys: Captured
    ) -> None:
        with closing(HandCrawl(tmp_path / "one.db")) as crawl:
            crawl.seeds([A])
        found = refusal(capsys, "compare", "opic", "opic", "--store", "one.db")
        assert "fewer than two nodes" in found


class TestStability:
    def test_a_rank_that_asks_for_no_link_bears_any_loss(self, capsys: Captured) -> None:
        found = as_json(
            capsys, "stability", "by-number", "--drop", "0.5", "--times", "3", "--k", "1"
        )
        runs = found.pop("runs")
        assert [run["nodes"] for run in runs] == [3, 3, 3]
        assert found["kendall_tau"] == found["overlap"]["1"] == 1.0
        assert (found["rank"], found["drop"], found["times"], found["seed"]) == (
            *("by-number", 0.5),
            *(3, 1),
        )

    def test_the_numbers_are_means_and_the_same_for_the_same_seed(self, capsys: Captured) -> None:
        arguments = ("stability", "by-number", "--times", "4", "--graph", "web.txt")
        found = as_json(capsys, *arguments, "--seed", "5")
        errors = [run["mean_relative_error"]["all"] for run in found["runs"]]
        assert found["mean_relative_error"]["all"] == pytest.approx(sum(errors) / 4)
        assert found == as_json(capsys, *arguments, "--seed", "5")
        assert found["runs"] != as_json(capsys, *arguments, "--seed", "6")["runs"]

    def test_people_get_a_line_for_each_measure(self, capsys: Captured) -> None:
        found = printed(capsys, "stability", "degree", "--times", "2")
        assert "degree without 30% of the nodes, mean of 2, 4 left" in found

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["opic"], "no rank opic can be computed; those that can are degree"),
            (["degree", "--drop", "0.99"], "--drop 0.99 leaves 0 of 6 nodes"),
            (["degree", "--drop", "1"], "--drop"),
            (["degree", "--times", "0"], "--times"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, capsys: Captured, arguments: list[str], said: str
    ) -> None:
        assert said in refusal(capsys, "stability", *arguments)


class TestAgree:
    def test_a_rank_is_held_against_grades(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"url,grade\n{A},4\n{B},2\nhttp://a.example/old,1\n")
        assert as_json(capsys, "agree", "degree", "labels.csv") == {
            "rank": "degree",
            "judged": 3,
            "equal": 1.0,
            "within_one": 1.0,
            "by_chance": pytest.approx(1 / 3),
            "spearman": pytest.approx(1.0),
            "unknown": [],
        }

    def test_one_may_be_the_best_grade(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"{A},1\n{B},3\nhttp://a.example/old,4\n")
        assert as_json(capsys, "agree", "degree", "labels.csv", "--best", "1")["equal"] == 1.0
        assert as_json(capsys, "agree", "degree", "labels.csv")["spearman"] == pytest.approx(-1)

    def test_pages_that_are_not_known_are_listed_and_the_others_used(
        self, capsys: Captured
    ) -> None:
        Path("labels.csv").write_text(f"{A},4\n{NEW},2\nno url,2\n{B},1\n{NEW},3\n")
        said = "".join(
            f"{name} is not known to degree: it is left out\n" for name in (NEW, "no url")
        )
        found = as_json(capsys, "agree", "degree", "labels.csv", said=said)
        assert (found["judged"], found["unknown"]) == (2, [NEW, "no url"])

    def test_people_get_a_line_for_each_measure(self, capsys: Captured) -> None:
        Path("labels.csv").write_text("3,4\n2,1\n")
        found = printed(capsys, "agree", "degree", "labels.csv", "--graph", "web.txt")
        assert found == (
            "rank        degree beside 2 grades\n"
            "equal       100.0%, by chance 50.0%\n"
            "within one  100.0%\n"
            "Spearman    1.0000\n"
        )

    def test_grades_out_of_scale_are_refused_with_their_line(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"{A},4\n{B},5\n")
        assert "labels.csv, line 2:" in refusal(capsys, "agree", "degree", "labels.csv")

    def test_where_no_page_is_known_it_is_refused(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"{NEW},4\n")
        assert "knows none of the 1 pages" in refusal(capsys, "agree", "degree", "labels.csv")

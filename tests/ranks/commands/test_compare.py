"""`minicrawl lab compare`: its measures, its remarks and what it refuses."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.ranks.commands.named_ranks import RANKS
from minicrawl.report.saved_ranks import ESTIMATED
from minicrawl.store.derived.file import beside
from tests.ranks.commands.plain_ranks import (
    Captured,
    as_json,
    printed,
    refusal,
    store_with_ranks,
)
from tests.stores import A, C, HandCrawl, read_later


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return store_with_ranks(tmp_path, monkeypatch)


class TestCompare:
    def test_a_rank_agrees_with_itself(self, capsys: Captured) -> None:
        assert as_json(capsys, "compare", "degree", "degree", "--k", "2,1,99") == {
            "a": "degree",
            "b": "degree",
            "origins": ["with default options"] * 2,
            "nodes": 6,
            "left_out": 0,
            "kendall_tau": 1.0,
            "spearman": 1.0,
            "overlap": {"1": 1.0, "2": 1.0, "99": None},
            "mean_relative_error": {"all": 0.0, "top10": 0.0},
            "median_relative_error": {"all": 0.0, "top10": 0.0},
            "remarks": [
                "there is no overlap of more than 6 nodes",
                "nodes with a score of 0 in the second, and so in no error: 1",
            ],
        }

    def test_the_estimate_of_the_crawl_is_a_rank(self, capsys: Captured) -> None:
        found = as_json(capsys, "compare", "opic", "degree")
        assert found["origins"] == [ESTIMATED, "with default options"]
        assert 0 < found["kendall_tau"] <= 1
        assert found["mean_relative_error"]["all"] > 0

    def test_a_saved_rank_is_compared_as_it_was_saved(self, store: Path, capsys: Captured) -> None:
        assert main(["rank", "degree", "--direction", "out", "--as", "mine"]) == 0
        capsys.readouterr()
        read_later(store, C, ["http://new.example/"])
        said = "1 page has no score by mine: found after it was made\n"
        found = as_json(capsys, "compare", "mine", "opic", said=said)
        assert (found["nodes"], found["left_out"]) == (6, 1)
        assert found["origins"] == ["saved", ESTIMATED]
        assert as_json(capsys, "compare", "by-number", "opic")["nodes"] == 7

    def test_compared_ranks_are_not_saved(self, store: Path, capsys: Captured) -> None:
        as_json(capsys, "compare", "degree", "opic")
        assert not beside(store).exists()

    def test_the_nodes_of_a_graph_file_are_ranked(self, capsys: Captured) -> None:
        graph = ("--graph", "web.txt", "--k", "1")
        found = as_json(capsys, "compare", "by-number", "degree", *graph)
        assert (found["nodes"], found["overlap"]) == (4, {"1": 0.0})

    def test_people_get_a_line_for_each_measure(self, capsys: Captured) -> None:
        arguments = ("compare", "degree", "by-number", "--graph", "web.txt", "--k", "1,2")
        assert printed(capsys, *arguments) == (
            "a                      degree, with default options\n"
            "b                      by-number, with default options\n"
            "nodes                  4; 0 without a score in both\n"
            "Kendall's tau-b        0.1826\n"
            "Spearman               0.1054\n"
            "best 1                 0.00% in both\n"
            "best 2                 50.00% in both\n"
            "mean error             93.75%, median 100.00%\n"
            "in the best 10 % of b  100.00%, median 100.00%\n"
        )

    def test_an_undefined_measure_is_null_or_none_with_a_remark(self, capsys: Captured) -> None:
        arguments = ("compare", "alike", "degree", "--graph", "web.txt")
        found = as_json(capsys, *arguments)
        assert found["kendall_tau"] is found["spearman"] is found["overlap"]["10"] is None
        shown = printed(capsys, *arguments).splitlines()
        assert "alike, with default options, not converged" in shown[0]
        assert "none" in shown[3]
        assert any("first" in line and "no order" in line for line in shown)

    @pytest.mark.parametrize("name", RANKS)
    def test_every_rank_can_be_computed_without_links(self, name: str, capsys: Captured) -> None:
        Path("loops.txt").write_text("1 1\n2 2\n")
        assert as_json(capsys, "compare", name, name, "--graph", "loops.txt")["nodes"] == 2

    def test_a_single_page_has_no_correlation(self, tmp_path: Path, capsys: Captured) -> None:
        with closing(HandCrawl(tmp_path / "one.db")) as crawl:
            crawl.seeds([A])
        found = as_json(capsys, "compare", "opic", "degree", "--store", "one.db")
        assert (found["nodes"], found["kendall_tau"]) == (1, None)

    def test_the_name_of_a_command_is_its_main_rank(self, capsys: Captured) -> None:
        found = json.loads(printed(capsys, "compare", "degree", "hits", "--json"))
        assert (found["a"], found["b"]) == ("degree", "hits-authorities")

    def test_importance_is_another_name_of_opic(self, capsys: Captured) -> None:
        found = json.loads(printed(capsys, "compare", "importance", "degree", "--json"))
        assert (found["a"], found["b"]) == ("opic", "degree")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["degree", "beauty"], "beauty"),
            (["opic", "degree", "--graph", "web.txt"], "opic"),
            (["degree", "degree", "--k", "0"], "not a list of numbers"),
            (["degree", "degree", "--k", "x,1"], "not a list of numbers"),
            (["degree", "degree", "--graph", "absent.txt"], "absent.txt"),
        ],
    )
    def test_wrong_arguments_are_refused(
        self, capsys: Captured, arguments: list[str], said: str
    ) -> None:
        assert said in refusal(capsys, "compare", *arguments)

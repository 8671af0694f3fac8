"""`minicrawl lab stability`, `agree` and `eigenvector`: their output, and what they refuse."""

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.cli import main
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks.commands.named_ranks import BUILT_IN, RANKS
from minicrawl.ranks.scores import Scores
from minicrawl.store.records import StoreTerms
from tests.ranks.commands.plain_ranks import (
    NEW,
    Captured,
    as_json,
    by_number,
    go_on,
    printed,
    refusal,
    store_with_ranks,
)
from tests.stores import MOVED, A, B, HandCrawl, filled_store


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return store_with_ranks(tmp_path, monkeypatch)


class TestStability:
    def test_a_rank_that_ignores_links_is_fully_stable(self, capsys: Captured) -> None:
        perfect = {"mean": 1.0, "least": 1.0}
        assert as_json(
            capsys, "stability", "by-number", "--drop=0.5", "--times=3", "--k=1,9", "--places=0"
        ) == {
            "rank": "by-number",
            "drop": 0.5,
            "times": 3,
            "seed": 1,
            "nodes": 6,
            "edges": 6,
            "stay": 3,
            "kendall_tau": perfect,
            "spearman": perfect,
            "overlap": {"1": perfect, "9": {"mean": None, "least": None}},
            "best": [],
            "remarks": ["there is no overlap of more than 3 nodes"],
        }

    def test_the_least_is_below_the_mean_and_the_seed_fixes_both(self, capsys: Captured) -> None:
        arguments = ("stability", "degree", "--times", "5", "--k", "1")
        found = as_json(capsys, *arguments, "--seed", "5")
        assert -1 <= found["kendall_tau"]["least"] < found["kendall_tau"]["mean"] < 1
        assert found == as_json(capsys, *arguments, "--seed", "5")
        assert found["spearman"] != as_json(capsys, *arguments, "--seed", "6")["spearman"]

    def test_people_get_a_table(self, capsys: Captured) -> None:
        arguments = ("--times", "2", "--k", "2", "--places", "1", "--graph", "web.txt")
        found = printed(capsys, "stability", "by-number", *arguments)
        *table, _, best = [line.split() for line in found.splitlines()]
        assert [row[-2:] for row in table[2:5]] == [["1.0000"] * 2] * 2 + [["100.00%"] * 2]
        assert [word for word in table[5] if word.isdigit()] == ["4", "4", "3", "2"]
        assert (best[0], best[-1]) == ("1", "4")
        assert set(best[1:-1]) <= {"1", "-"}  # the last node stays the best, or is dropped

    def test_a_rank_without_order_gets_a_remark(self, capsys: Captured) -> None:
        found = as_json(capsys, "stability", "alike", "--times", "2", "--k", "1")
        assert found["kendall_tau"] == found["spearman"] == {"mean": None, "least": None}
        assert "2 of 2 times" in found["remarks"][0]

    def test_stability_can_be_interrupted(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(named: NamedGraph, tell: Progress) -> Scores:
            if named.graph.nodes < 6:
                raise KeyboardInterrupt
            return by_number(named, tell)

        monkeypatch.setitem(BUILT_IN, "by-number", interrupted)
        assert main(["lab", "stability", "by-number"]) == 130
        assert capsys.readouterr() == ("", "minicrawl: interrupted\n")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["opic"], "'opic'"),
            (["degree", "--drop", "0.99"], "--drop 0.99"),
            (["degree", "--drop", "0.01"], "--drop 0.01"),
            (["degree", "--drop", "1"], "--drop"),
            (["degree", "--drop", "nan"], "--drop"),
            (["degree", "--times", "0"], "--times"),
            (["degree", "--random", "0.2"], "hits-hubs"),
            (["hits-hubs", "--random", "0.2", "--subspace", "2"], "--subspace"),
            (["degree", "--query", "nowhere"], "nowhere"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, capsys: Captured, arguments: list[str], said: str
    ) -> None:
        assert said in refusal(capsys, "stability", *arguments)

    @pytest.mark.parametrize("side", ["authorities", "hubs"])
    def test_stability_of_randomised_hits_agrees_with_dense_matrices(
        self, side: str, capsys: Captured
    ) -> None:
        """The oracle drops the same pages, and multiplies dense matrices."""
        links = np.random.default_rng(4).random((30, 30)) < 0.2
        links[0, 25:] = links[25:, 0] = False  # 25 to 29 are outside the base set of 0
        links[0, 1:25] = True
        links[25:, 1] = True
        Path("dense.txt").write_text("".join(f"{a} {b}\n" for a, b in np.argwhere(links)))
        Path("roots.txt").write_text("0\n")
        near = links[:25, :25]
        arguments = ("--graph", "dense.txt", "--root", "roots.txt", "--times", "4", "--places", "5")
        command = ("stability", f"hits-{side}", "--random", "0.2", *arguments, "--json")
        found = json.loads(printed(capsys, *command))
        assert (found["nodes"], found["edges"]) == (25, int(near.sum()))
        best = np.argsort(-surfed(near, 0.2, side))[:5].tolist()
        expected: list[list[int | None]] = [[] for _ in best]
        draws = np.random.default_rng(1)
        for _ in range(4):
            gone = set(draws.choice(25, round(0.3 * 25), replace=False).tolist())
            stay = [node for node in range(25) if node not in gone]
            order = np.argsort(-surfed(near[np.ix_(stay, stay)], 0.2, side)).tolist()
            for places, node in zip(expected, best, strict=True):
                places.append(order.index(stay.index(node)) + 1 if node in stay else None)
        assert [one["node"] for one in found["best"]] == list(map(str, best))
        assert [one["places"] for one in found["best"]] == expected


def surfed(links: np.ndarray, anew: float, side: str) -> np.ndarray:
    """Distribution of a surfer after many moves forward and back (Ng, Zheng, Jordan, 2001)."""
    forward, back = (stochastic(matrix.astype(float)) for matrix in (links, links.T))
    authorities = hubs = np.full(len(links), 1 / len(links))
    for _ in range(200):
        authorities = anew / len(links) + (1 - anew) * hubs @ forward
        hubs = anew / len(links) + (1 - anew) * authorities @ back
    return authorities if side == "authorities" else hubs


def stochastic(matrix: np.ndarray) -> np.ndarray:
    sums = matrix.sum(axis=1, keepdims=True)
    return np.where(sums > 0, matrix / np.maximum(sums, 1), 1 / len(matrix))


class TestAgree:
    def test_a_rank_is_compared_with_grades(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"url,grade\n{A},4\n{B},2\n{MOVED},1\n")
        assert as_json(capsys, "agree", "degree", "labels.csv") == {
            "rank": "degree",
            "origin": "with default options",
            "judged": 3,
            "equal": 1.0,
            "within_one": 1.0,
            "by_chance": pytest.approx(1 / 3),
            "spearman": 1.0,
            "table": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]],
            "judges": {},
            "unknown": [],
            "unscored": [],
            "remarks": [],
        }

    def test_grade_1_may_be_the_best(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"{A},1\n{B},3\n{MOVED},4\n")
        assert as_json(capsys, "agree", "degree", "labels.csv", "--best", "1")["equal"] == 1.0
        assert as_json(capsys, "agree", "degree", "labels.csv")["spearman"] == -1

    def test_unknown_pages_are_listed_and_skipped(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"{A},4\n{NEW},2\nno url,2\n{B},1\n{NEW},2\n")
        said = "".join(f"minicrawl: skipped {name}: not in the graph\n" for name in (NEW, "no url"))
        found = as_json(capsys, "agree", "degree", "labels.csv", said=said)
        assert (found["judged"], found["unknown"]) == (2, [NEW, "no url"])

    def test_pages_without_a_score_are_listed_and_skipped(
        self, store: Path, capsys: Captured
    ) -> None:
        assert main(["rank", "degree"]) == 0
        capsys.readouterr()
        go_on(store)
        Path("labels.csv").write_text(f"{A},4\n{NEW},2\n")
        said = f"minicrawl: skipped {NEW}: no score by degree: found after it was made\n"
        found = as_json(capsys, "agree", "degree", "labels.csv", said=said)
        assert (found["origin"], found["judged"], found["unscored"]) == ("saved", 1, [NEW])
        Path("labels.csv").write_text(f"{NEW},2\n")
        assert "labels.csv" in refusal(capsys, "agree", "degree", "labels.csv")

    def test_a_page_that_is_graded_twice_counts_once(self, capsys: Captured) -> None:
        Path("labels.csv").write_text(f"{A},4\n{B},1\n{A}#top,4\n")
        assert as_json(capsys, "agree", "degree", "labels.csv")["judged"] == 2

    @pytest.mark.parametrize(
        ("labels", "said"),
        [
            (f"{A},4\n{B},1\n{A}#top,3\n", f"line 3: {A}#top has grade 3 here and 4 on line 1"),
            (f"{A},4,\n{B},1,1\n{A}#top,4,3\n", f"{A}#top has grades 4, 3 here and 4, - on line 1"),
        ],
    )
    def test_different_grades_of_a_page_are_refused(
        self, capsys: Captured, labels: str, said: str
    ) -> None:
        Path("labels.csv").write_text(labels)
        assert said in refusal(capsys, "agree", "degree", "labels.csv")

    def test_people_get_a_table_of_the_grades(self, capsys: Captured) -> None:
        Path("labels.csv").write_text("3,4\n2,1\n1,2\n4,2\n")
        found = printed(capsys, "agree", "degree", "labels.csv", "--graph", "web.txt")
        assert re.findall(r"[\d.]+%|0\.\d+", found) == ["50.00%", "37.50%", "100.00%", "0.3333"]
        table = [line.split() for line in found.splitlines() if line[0].isdigit()]
        assert table == [list(row) for row in ("10100", "21100", "30000", "40001")]
        assert found.endswith(": 2\n"), "nodes with equal scores and different grades"

    def test_judges_and_the_rank_are_compared_with_the_mean_of_the_judges(
        self, capsys: Captured
    ) -> None:
        Path("labels.csv").write_text("page,anna,ben\n3,4,4\n2,3,2\n1,1,2\n4,1,\n")
        arguments = ("agree", "degree", "labels.csv", "--graph", "web.txt")
        found = as_json(capsys, *arguments)
        # The means of pages 3, 2, 1, 4 are 4, 3, 2, 1. By links 3 is first, then 2, then 1 and 4.
        assert (found["judged"], found["equal"]) == (4, 1.0)
        assert found["judges"] == {
            "anna": {
                "judged": 4,
                "equal": 0.75,
                "within_one": 1.0,
                "spearman": pytest.approx(0.9487, abs=1e-4),
            },
            "ben": {
                "judged": 3,
                "equal": pytest.approx(2 / 3),
                "within_one": 1.0,
                "spearman": pytest.approx(0.8660, abs=1e-4),
            },
        }
        shown = [line.split() for line in printed(capsys, *arguments).splitlines()]
        assert ["anna", "4", "75.00%", "100.00%", "0.9487"] in shown
        assert ["ben", "3", "66.67%", "100.00%", "0.8660"] in shown

    def test_sites_may_be_judged(self, capsys: Captured) -> None:
        Path("web.csv").write_text(
            "source,target\nhttp://a.org/,http://b.org/1\nhttp://c.org/,http://b.org/2\n"
            "http://b.org/1,http://www.a.org/x\n"
        )
        Path("labels.csv").write_text("b.org,4\nhttp://a.org/,2\nWWW.C.org,1\nd.org,3\n")
        said = "minicrawl: skipped d.org: not in the graph\n"
        found = as_json(
            capsys, "agree", "degree", "labels.csv", "--sites", "--graph", "web.csv", said=said
        )
        # b.org has two links, a.org one, c.org none.
        assert (found["judged"], found["equal"], found["spearman"]) == (3, 1.0, 1.0)
        Path("labels.csv").write_text("d.org,3\n")
        assert "none of its 1 sites is known" in refusal(
            capsys, "agree", "degree", "labels.csv", "--sites", "--graph", "web.csv"
        )

    def test_a_saved_rank_loads_no_links(self, capsys: Captured) -> None:
        filled_store(Path("no-links.db"), StoreTerms(links=False))
        Path("labels.csv").write_text(f"{A},4\n{B},1\n")
        arguments = ("labels.csv", "--store", "no-links.db")
        assert as_json(capsys, "agree", "opic", *arguments)["judged"] == 2
        assert "--no-links" in refusal(capsys, "agree", "degree", *arguments)

    def test_grades_may_come_from_standard_input(self) -> None:
        found = subprocess.run(
            [sys.executable, "-m", "minicrawl", "lab", "agree", "opic", "-", "--json"],
            input=f"{A},4\n{B},1\n".encode(),
            capture_output=True,
            check=True,
        )
        assert json.loads(found.stdout)["judged"] == 2


@pytest.mark.parametrize("name", RANKS)
def test_every_rank_can_be_computed_without_links(name: str, capsys: Captured) -> None:
    arguments = ("--graph", "web.txt", "--drop", "0.5", "--times", "5", "--k", "1")
    assert as_json(capsys, "stability", name, *arguments)["stay"] == 2


class TestEigenvector:
    @pytest.mark.parametrize(
        ("options", "wanted"),
        [
            (["--matrix=either"], [0.2881, 0.2373, 0.2373, 0.1635, 0.0738]),
            (["--matrix=links"], [0.2, 0.2, 0.2, 0.2, 0.2]),
            (["--matrix=walk"], [0.2599, 0.1637, 0.2063, 0.1637, 0.2063]),
        ],
    )
    def test_each_matrix_has_its_own_scores(
        self, options: list[str], wanted: list[float], tmp_path: Path, capsys: Captured
    ) -> None:
        path = tmp_path / "five.txt"
        path.write_text("1 2\n2 3\n3 1\n1 4\n4 5\n")
        found = as_json(capsys, "eigenvector", *options, "--graph", str(path))
        shown = {score["node"]: score["score"] for score in found["scores"]}
        assert [shown[str(node)] for node in range(1, 6)] == pytest.approx(wanted, abs=2e-4)
        assert (found["error_bound"] is None) == (options != ["--matrix=either"])

    def test_a_walk_with_the_virtual_page_gives_the_importance_of_opic(
        self, capsys: Captured
    ) -> None:
        pagerank = "rank pagerank --dangling=virtual --one-more-link --graph web.txt --json"
        assert main(pagerank.split()) == 0
        own = json.loads(capsys.readouterr().out)
        asked = ("--matrix=walk", "--virtual-page", "--graph", "web.txt")
        found = as_json(capsys, "eigenvector", *asked)
        assert found["scores"] == own["scores"]

    @pytest.mark.parametrize("matrix", ["walk", "links"])
    def test_a_graph_without_a_cycle_gets_a_remark(
        self, matrix: str, tmp_path: Path, capsys: Captured
    ) -> None:
        path = tmp_path / "chain.txt"
        path.write_text("1 2\n2 3\n")
        assert main(["lab", "eigenvector", f"--matrix={matrix}", "--graph", str(path)]) == 0
        assert re.search(r"cycle.*--virtual-page", capsys.readouterr().err)

    @pytest.mark.parametrize("matrix", ["walk", "links", "either"])
    def test_the_virtual_page_is_not_suggested_when_it_is_there(
        self, matrix: str, tmp_path: Path, capsys: Captured
    ) -> None:
        with closing(HandCrawl(tmp_path / "one.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A)
        asked = ("eigenvector", f"--matrix={matrix}", "--virtual-page", "--store", str(crawl.path))
        assert main(["lab", *asked]) == 0
        assert "--virtual-page" not in capsys.readouterr().err

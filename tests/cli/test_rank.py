"""`minicrawl rank`: output, keeping and refusals of all ranks."""

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from minicrawl.cli import main
from minicrawl.graph.csr import NamedGraph
from minicrawl.opic.money import PARTS
from minicrawl.ports import Progress
from minicrawl.ranks import commands as group
from minicrawl.ranks.commands.rank_options import ranking
from minicrawl.ranks.scores import Scores
from minicrawl.store import tables
from minicrawl.store.derived import RankRow, beside, kept_ranks, reading_beside
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.cli import calls
from tests.cli.calls import Captured, as_json
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "web.txt"
    path.write_text("10 20\n10 30\n20 30\n40 30\n")
    return path


def document(capsys: Captured, *arguments: str | Path) -> Any:
    return as_json(capsys, "rank", *arguments)


def refusal(capsys: Captured, *arguments: str | Path) -> str:
    return calls.refusal(capsys, "rank", *arguments)


def kept(store: Path) -> list[RankRow]:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        return kept_ranks(derived)


class TestDegree:
    def test_a_graph_file_is_ranked_by_its_ids(self, graph: Path, capsys: Captured) -> None:
        assert document(capsys, "degree", "--graph", graph) == {
            "rank": "degree",
            "nodes": 4,
            "edges": 4,
            "iterations": 0,
            "error_bound": 0.0,
            "scores": [
                {"node": "30", "score": 0.75},
                {"node": "20", "score": 0.25},
                {"node": "10", "score": 0.0},
                {"node": "40", "score": 0.0},
            ],
        }

    def test_direction_out_counts_links_from_a_page(self, graph: Path, capsys: Captured) -> None:
        found = document(capsys, "degree", "--direction", "out", "--n", "1", "--graph", graph)
        assert found["scores"] == [{"node": "10", "score": 0.5}]

    def test_a_store_is_ranked_by_its_urls(self, store: Path, capsys: Captured) -> None:
        found = document(capsys, "degree", "--store", store)
        assert (found["nodes"], found["edges"]) == (6, 6)
        assert found["scores"][0] == {"node": A, "score": 2 / 6}
        assert {score["node"] for score in found["scores"]} == {A, B, C, DEEP, GONE, MOVED}

    def test_a_table_of_scores_ends_with_a_summary(self, graph: Path, capsys: Captured) -> None:
        assert main(["rank", "degree", "--n", "1", "--graph", str(graph)]) == 0
        assert capsys.readouterr().out == (
            "rank      score  node\n   1  75.0000 %  30\ndegree of 4 nodes, 4 links\n"
        )


class TestKeeping:
    def test_a_rank_is_kept_by_name_with_its_options(self, store: Path, capsys: Captured) -> None:
        document(capsys, "degree", "--store", store)
        document(capsys, "degree", "--direction", "out", "--as", "hubs", "--store", store)
        assert [(row.name, row.options, row.nodes, row.edges) for row in kept(store)] == [
            ("degree", '{"direction": "in"}', 6, 6),
            ("hubs", '{"direction": "out"}', 6, 6),
        ]

    def test_ranks_are_removed_by_name_all_or_none(self, store: Path, capsys: Captured) -> None:
        for name in ("one", "two", "three"):
            document(capsys, "degree", "--as", name, "--store", store)
        remove = ["rank", "--store", str(store), "--remove"]
        assert main([*remove, "one", "--remove", "four"]) == 2
        assert "one, three, two" in capsys.readouterr().err
        assert main([*remove, "one", "--remove", "three", "--json"]) == 0
        assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["two"]
        assert [row.name for row in kept(store)] == ["two"]

    def test_nothing_is_kept_of_a_graph_file(self, graph: Path, capsys: Captured) -> None:
        document(capsys, "degree", "--graph", graph)
        assert [path.name for path in graph.parent.iterdir()] == ["web.txt"]

    def test_a_store_is_ranked_during_its_crawl(self, tmp_path: Path, capsys: Captured) -> None:
        with closing(HandCrawl(tmp_path / "busy.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B])
            crawl.commit()
            assert document(capsys, "degree", "--store", crawl.path)["edges"] == 1
            crawl.read(B, [C])
        assert document(capsys, "degree", "--store", crawl.path)["edges"] == 2

    def test_a_rank_that_cannot_be_kept_is_still_shown(self, store: Path, capsys: Captured) -> None:
        beside(store).write_bytes(b"something else" * 100)
        assert main(["rank", "degree", "--store", str(store), "--json"]) == 1
        out, err = capsys.readouterr()
        assert json.loads(out)["nodes"] == 6
        assert "delete it" in err


class TestRefusals:
    def test_a_store_without_links_is_refused(self, tmp_path: Path, capsys: Captured) -> None:
        path = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
        assert "--no-links" in refusal(capsys, "degree", "--store", path)

    def test_a_store_without_pages_is_refused(self, tmp_path: Path, capsys: Captured) -> None:
        with closing(HandCrawl(tmp_path / "new.db")) as crawl:
            pass
        assert "nothing to rank" in refusal(capsys, "degree", "--store", crawl.path)

    def test_an_empty_graph_file_is_refused(self, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / "web.txt"
        path.write_text("# nothing\n")
        assert "no links" in refusal(capsys, "degree", "--graph", path)

    def test_an_absent_graph_file_is_refused(self, capsys: Captured) -> None:
        assert "absent.txt" in refusal(capsys, "degree", "--graph", "absent.txt")

    def test_two_graphs_are_refused(self, store: Path, graph: Path, capsys: Captured) -> None:
        found = refusal(capsys, "degree", "--graph", graph, "--store", store)
        assert "cannot be combined" in found

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            *((name, "") for name in ("opic", "a,b", "", "-x", "ä", "A", "a b")),
            *(("150", "letter"), ("1.5", "letter"), ("x" * 65, "at most 64")),
        ],
    )
    def test_an_invalid_name_is_refused(
        self, store: Path, capsys: Captured, name: str, told: str
    ) -> None:
        assert told in refusal(capsys, "degree", f"--as={name}", "--store", store)
        assert not beside(store).exists()

    def test_an_unknown_rank_is_refused(self, capsys: Captured) -> None:
        assert "No such command 'degre'" in refusal(capsys, "degre")


class TestEveryRank:
    """Laws of all ranks, shown by a command that only these tests have."""

    @pytest.fixture(autouse=True)
    def _command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        @click.command("twin")
        @click.option("--fail", is_flag=True)
        @ranking
        def twin(named: NamedGraph, tell: Progress, fail: bool) -> Mapping[str, Scores]:
            tell(0.5)
            if fail:
                raise KeyboardInterrupt
            nodes = named.graph.nodes
            values = np.arange(nodes, dtype=np.float32)
            return {
                "up": Scores(values=values, iterations=7, error_bound=0.25, converged=False),
                "down": Scores(
                    values=-values, iterations=7, error_bound=float("inf"), converged=False
                ),
            }

        monkeypatch.setitem(group.rank.commands, "twin", twin)

    def test_all_ranks_of_one_run_are_kept_and_shown(self, store: Path, capsys: Captured) -> None:
        found = document(capsys, "twin", "--n", "1", "--as", "two", "--store", store)
        (other,) = found.pop("others")
        assert list(found) == ["rank", "nodes", "edges", "iterations", "error_bound", "scores"]
        assert (found["rank"], other["rank"]) == ("two-up", "two-down")
        assert (found["error_bound"], other["error_bound"]) == (0.25, None)
        assert other["scores"] == [{"node": A, "score": 0.0}]
        assert [row.name for row in kept(store)] == ["two-down", "two-up"]
        assert not any(row.converged for row in kept(store))

    def test_a_rank_that_has_not_converged_says_so(self, graph: Path, capsys: Captured) -> None:
        assert main(["rank", "twin", "--n", "1", "--graph", str(graph)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[2] == (
            "twin-up of 4 nodes, 4 links; 7 iterations, error at most 2.5e-01; not converged"
        )
        assert "7 iterations, error unknown; not converged" in lines[-1]

    def test_an_interrupted_run_keeps_the_earlier_rank(self, store: Path, capsys: Captured) -> None:
        document(capsys, "twin", "--store", store)
        before = kept(store)
        assert main(["rank", "twin", "--fail", "--store", str(store)]) == 130
        assert capsys.readouterr() == ("", "minicrawl: interrupted\n")
        assert kept(store) == before


class TestWeightsOfTheCrawl:
    def test_links_have_the_weights_of_the_crawl(self, tmp_path: Path, capsys: Captured) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C], weights=[PARTS, 3 * PARTS])
            crawl.read(B, [C])
        found = document(capsys, "degree", "--crawl-weights", "--store", crawl.path)
        shown = {score["node"]: score["score"] for score in found["scores"]}
        assert shown == pytest.approx({A: 0, B: 1 / 5, C: 4 / 5})
        assert json.loads(kept(crawl.path)[0].options)["crawl_weights"] is True

    def test_equal_weights_of_a_crawl_are_reported(self, tmp_path: Path, capsys: Captured) -> None:
        """The crawl had --weight-internal 3 and met no link within a site."""
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.batch.counters[tables.SETTINGS] = {"weight-internal": 3}
            crawl.seeds([A])
            crawl.read(A, [B, C])
        assert main(["rank", "degree", "--crawl-weights", "--store", str(crawl.path)]) == 0
        told = capsys.readouterr().err
        assert "all links between these pages have the same weight" in told
        assert "despite --weight-internal 3" in told

    def test_weights_of_a_crawl_without_them_or_of_a_file_are_refused(
        self, store: Path, graph: Path, capsys: Captured
    ) -> None:
        options = ("degree", "--crawl-weights")
        assert "weighed all links alike" in refusal(capsys, *options, "--store", store)
        assert "needs a store" in refusal(capsys, *options, "--graph", graph)


class TestWeightsThatDoNotCount:
    """Harmonic centrality counts distances; trust counts weights only where it is split."""

    RANKS = (
        (("harmonic", "--exact"), "distances do not count weights"),
        (("trust", "--passing", "maximum"), "each link gets all of the trust"),
        (("trust", "--passing", "sum"), "each link gets all of the trust"),
    )

    @pytest.fixture
    def weighed(self, tmp_path: Path) -> Path:
        with closing(HandCrawl(tmp_path / "weighed.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C], weights=[PARTS, 3 * PARTS])
            crawl.read(B, [C])
        return crawl.path

    @pytest.fixture
    def sites(self, tmp_path: Path) -> Path:
        """Graph file of two sites whose links have weights."""
        links = [("a.net/1", "a.net/2", 2), ("a.net/1", "b.net/", 3), ("b.net/", "a.net/1", 1)]
        path = tmp_path / "sites.tsv"
        path.write_text("".join(f"http://{a}\thttp://{b}\t{w}\n" for a, b, w in links))
        return path

    @pytest.mark.parametrize(("options", "reason"), RANKS)
    def test_weights_without_effect_are_refused(
        self, weighed: Path, sites: Path, capsys: Captured, options: tuple[str, ...], reason: str
    ) -> None:
        told = refusal(capsys, *options, "--crawl-weights", "--store", weighed)
        assert "--crawl-weights changes nothing" in told
        assert reason in told
        told = refusal(capsys, *options, "--weight", "internal=3", "--graph", sites)
        assert "--weight internal=3 changes nothing" in told

    @pytest.mark.parametrize(("options", "_reason"), RANKS)
    @pytest.mark.parametrize("guard", [("--weight", "internal=0"), ("--domain-cap", "1"), ()])
    def test_guards_and_weights_of_a_file_are_accepted(
        self,
        sites: Path,
        capsys: Captured,
        options: tuple[str, ...],
        _reason: str,
        guard: tuple[str, ...],
    ) -> None:
        assert document(capsys, *options, *guard, "--graph", sites)["scores"]

    def test_weights_count_where_trust_is_split(self, weighed: Path, capsys: Captured) -> None:
        found = document(capsys, "trust", "--crawl-weights", "--store", weighed)
        plain = document(capsys, "trust", "--store", weighed)
        assert found["scores"] != plain["scores"]

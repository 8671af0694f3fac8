"""`minicrawl seed-set`: seeds on stdout, remarks on stderr, and what is refused."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.cli import main
from minicrawl.graph.distances import Extent
from minicrawl.ranks.commands.seed_set import Trial, caption
from minicrawl.web.urls import read_seeds
from tests.cli.calls import Captured, refusal
from tests.stores import HandCrawl


def url(name: str) -> str:
    return f"http://{name}.org/"


def web(*links: str) -> str:
    """Lines of a graph file; `a>b` is a link."""
    ends = (link.split(">") for link in links)
    return "".join(f"{url(source)}\t{url(target)}\n" for source, target in ends)


# Hubs h1, h2, h3 of authorities a1, a2; hubs k1, k2 of b1, b2; one link from core to core.
LARGE = [f"{hub}>{authority}" for hub in ("h1", "h2", "h3") for authority in ("a1", "a2")]
SMALL = [f"{hub}>{authority}" for hub in ("k1", "k2") for authority in ("b1", "b2")]
WEB = web(*LARGE, *SMALL, "a1>k1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.tsv").write_text(WEB)
    return tmp_path


def printed(capsys: Captured, *arguments: str) -> tuple[list[str], list[str]]:
    assert main(["seed-set", "--graph", "web.tsv", *arguments]) == 0
    out, err = capsys.readouterr()
    return out.splitlines(), err.splitlines()


def document(capsys: Captured, *arguments: str) -> Any:
    out, err = printed(capsys, *arguments, "--json")
    assert err == []
    assert len(out) == 1
    return json.loads(out[0])


class TestSeeds:
    def test_the_best_hubs_or_authorities_alone_go_to_stdout(self, capsys: Captured) -> None:
        out, err = printed(capsys, "--count", "2")
        assert out == [url("h1"), url("k1")]
        assert [line.split() for line in err[:3]] == [
            ["core", "hubs×authorities", "density", "seed"],
            ["1", "(3×2)", "100", "%", url("h1")],
            ["2", "(2×2)", "100", "%", url("k1")],
        ]
        assert "11 of 11" in err[3]
        assert "9 nodes" in err[4]
        assert list(read_seeds(out, lambda *_: pytest.fail("a crawl does not accept it"))) == out
        out, _ = printed(capsys, "--count", "2", "--take", "authority")
        assert out == [url("a1"), url("b1")]

    def test_links_inside_hosts_are_left_out_and_counted(
        self, folder: Path, capsys: Captured
    ) -> None:
        inside = f"{url('h1')}\t{url('h1')}inside\n"
        (folder / "web.tsv").write_text(WEB + inside)
        found = document(capsys)
        assert (found["edges"], found["links_between_hosts"]) == (12, 11)
        # The first core takes its 6 links, and the one from a1 to k1.
        assert [core["links_left"] for core in found["cores"]] == [11, 4]

    @pytest.mark.parametrize("pair", ["{} {}", "site {}\tsite {}"])
    def test_names_without_hosts_get_a_remark(
        self, folder: Path, capsys: Captured, pair: str
    ) -> None:
        links = ((source, target) for source in range(3) for target in range(3, 6))
        (folder / "web.tsv").write_text("".join(pair.format(*link) + "\n" for link in links))
        assert "6 nodes" in printed(capsys, "--count", "1")[1][-1]

    def test_the_number_of_sites_is_reported(self, folder: Path, capsys: Captured) -> None:
        links = [f"http://{hub}.org/\thttp://{hub}.com/\n" for hub in ("one.h", "two.h", "k")]
        inside = "http://k.org/\thttp://k.org/inside\n"
        (folder / "web.tsv").write_text("".join([*links, inside]))
        out, err = printed(capsys, "--count", "3")
        assert len(out) == 3
        assert any("3 seeds on 2 sites, 2 of them on h.org" in line for line in err)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ([], "2 of 10 seeds"),
            (["--core", "size", "--size", "50", "--count", "1"], "1 of 1 core below 50 pages"),
        ],
    )
    def test_a_lack_of_cores_or_pages_is_reported(
        self, capsys: Captured, options: list[str], said: str
    ) -> None:
        assert said in printed(capsys, *options)[1][-1]

    def test_a_store_has_seeds_as_well(self, folder: Path, capsys: Captured) -> None:
        with closing(HandCrawl(folder / "crawl.db")) as crawl:
            crawl.seeds([url("h1"), url("h2")])
            crawl.read(url("h1"), [url("a1"), url("a2"), url("h1") + "inside"])
            crawl.read(url("h2"), [url("a1")])
        assert main(["seed-set", "--store", "crawl.db", "--count", "1"]) == 0
        out, err = capsys.readouterr()
        assert out == f"{url('h1')}\n"
        assert "(1×2)" in err


class TestCores:
    @pytest.mark.parametrize(
        ("options", "shapes"),
        [
            (["--core", "size", "--size", "3"], [(1, 2), (1, 2)]),
            (["--core", "size", "--size", "3", "--at-once", "2"], [(2, 1), (2, 1)]),
            (["--size", "4"], [(2, 2), (2, 2)]),
            (["--core", "paper", "--size", "4", "--at-once", "2"], [(2, 2), (2, 2)]),
            (["--core", "density"], [(3, 2), (2, 2)]),
        ],
    )
    def test_cores_grow_by_the_rule(
        self, options: list[str], shapes: list[tuple[int, int]], capsys: Captured
    ) -> None:
        found = document(capsys, *options)
        assert [(core["hubs"], core["authorities"]) for core in found["cores"]][:2] == shapes

    def test_a_lower_density_makes_larger_cores(self, folder: Path, capsys: Captured) -> None:
        (folder / "web.tsv").write_text(WEB + web("h4>a1"))  # one link of eight is missing
        (core,) = document(capsys, "--count", "1", "--density", "87.5")["cores"]
        assert (core["hubs"], core["authorities"], core["density"]) == (4, 2, 87.5)
        (core,) = document(capsys, "--count", "1", "--density", "88")["cores"]
        assert (core["hubs"], core["authorities"], core["density"]) == (3, 2, 100)

    def test_json_describes_each_core(self, capsys: Captured) -> None:
        found = document(capsys, "--count", "1")
        assert found == {
            "nodes": 9,
            "edges": 11,
            "links_between_hosts": 11,
            "asked": 1,
            "core": "maximal",
            "seeds": [url("h1")],
            "cores": [
                {
                    "seed": url("h1"),
                    "hubs": 3,
                    "authorities": 2,
                    "links": 6,
                    "density": 100.0,
                    "links_left": 11,
                    "first_hubs": [url("h1"), url("h2"), url("h3")],
                    "first_authorities": [url("a1"), url("a2")],
                }
            ],
            "heirs": None,
            "evaluation": None,
        }


class TestNewerGraph:
    @pytest.fixture(autouse=True)
    def newer(self, folder: Path) -> None:
        moved = url("h1") + "moved\t"
        links = [moved + url("a1"), moved + url("a2")]
        (folder / "new.tsv").write_text(web("k1>b1", "h2>a1") + "".join(f"{x}\n" for x in links))

    def test_seeds_that_vanished_are_named_or_replaced(self, capsys: Captured) -> None:
        moved = url("h1") + "moved"
        newer = ("--count", "2", "--new", "new.tsv")
        out, err = printed(capsys, *newer)
        assert out == [url("k1")]
        assert f"{url('h1')} is not" in err[-1]
        out, err = printed(capsys, *newer, "--similar")
        assert out == [moved, url("k1")]
        assert f"{moved} replaces it, with 2 shared links" in err[-1]
        found = document(capsys, *newer, "--similar")
        assert found["seeds"] == out
        assert found["heirs"] == [
            {"seed": url("h1"), "now": moved, "shared_links": 2},
            {"seed": url("k1"), "now": url("k1"), "shared_links": None},
        ]

    def test_seeds_are_evaluated_in_the_newer_graph(self, capsys: Captured) -> None:
        found = document(capsys, "--count", "2", "--new", "new.tsv", "--evaluate")
        depths = found["evaluation"]["depths"]
        assert [(one["depth"], one["pages"]) for one in depths] == [(0, 1), (1, 1)]


class TestEvaluation:
    def test_the_evaluation_is_a_table_on_stderr(self, capsys: Captured) -> None:
        out, err = printed(capsys, "--count", "2", "--evaluate")
        assert out == [url("h1"), url("k1")]
        first = err.index("breadth-first crawls from 2 seeds and from as many random pages")
        headings = " ".join(err[first + 1].split())
        assert headings == "depth pages mean PageRank random pages mean PageRank"
        assert [line.split()[:2] for line in err[first + 2 : first + 4]] == [["0", "2"], ["1", "4"]]
        caption = " ".join(" ".join(err[first + 4 :]).split())
        assert "1 link on average, 1 at least and 1 at most" in caption
        assert "1 of 2 pairs connected" in caption

    def test_json_has_the_numbers_of_the_evaluation(self, capsys: Captured) -> None:
        found = document(capsys, "--count", "2", "--evaluate", "--draws", "3")["evaluation"]
        assert found["core_distances"] == [[0, 1], [None, 0]]
        for which in ("smallest", "mean", "largest"):
            assert found[f"{which}_core_distance"] == 1
        assert found["mean_distance"] == pytest.approx((11 * 1 + 5 * 2 + 6 * 3) / 22)
        assert found["mean_distance_is_exact"]
        assert [(one["depth"], one["pages"]) for one in found["depths"]][:2] == [(0, 2.0), (1, 4.0)]
        assert found["depths"][0]["random_pages"] == 2.0
        assert found["depths"][1]["mean_pagerank"] > found["depths"][0]["mean_pagerank"]
        assert [one["pages"] for one in found["after"]] == [5, 7]
        for one in found["after"]:
            assert 0 < one["random_pagerank"] < 1
            assert one["random_error"] > 0
        # The crawl reads h1 and k1, then a1, a2, b1 and b2, and ends there.
        pages = sum(depth["pages"] for depth in found["depths"])
        share = sum(depth["pages"] * (depth["mean_pagerank"] or 0) for depth in found["depths"])
        assert pages == 6
        assert found["after"][-1]["pagerank"] == pytest.approx(share)

    def test_the_random_seed_fixes_the_numbers(self, capsys: Captured) -> None:
        one, same, other = (
            document(capsys, "--evaluate", "--seed", seed) for seed in ("5", "5", "6")
        )
        assert one == same
        assert one["evaluation"]["depths"] != other["evaluation"]["depths"]

    @pytest.mark.parametrize(("is_exact", "told"), [(True, ""), (False, ", estimated")])
    def test_a_sampled_measure_of_a_large_graph_gets_a_remark(
        self, is_exact: bool, told: str
    ) -> None:
        found = Extent(3, 1.5, 10, is_exact=is_exact)
        trial = Trial(between_cores=np.zeros((1, 1), np.int32), extent=found, depths=(), after=())
        assert caption(trial).endswith(f"between pages: 1.5 links on average{told}")

    def test_cores_without_a_path_between_them_get_a_remark(
        self, folder: Path, capsys: Captured
    ) -> None:
        (folder / "web.tsv").write_text(web(*LARGE))
        _, err = printed(capsys, "--evaluate")
        assert "between cores: no path, 0 of 0 pairs" in " ".join(err)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--core", "maximal", "--size", "5"], "--core size"),
        (["--at-once", "5"], "--core size"),
        (["--core", "size", "--density", "50"], "--core maximal"),
        (["--draws", "5"], "--evaluate"),
        (["--seed", "5"], "--evaluate"),
        (["--similar"], "--new"),
        (["--take", "random"], "random:SEED"),
        (["--take", "random:x"], "random:SEED"),
        (["--density", "0"], "--density"),
        (["--density", "nan"], "--density"),
        (["--density", "101"], "--density"),
        (["--count", "0"], "--count"),
        (["--graph", "site.tsv"], "none of the 2 links"),
        (["--store", "crawl.db"], "has no links"),
        (["--new", "bad.tsv"], "bad.tsv, line 2"),
        (["--new", "other.tsv"], "no seed is in the newer graph"),
    ],
)
def test_what_cannot_be_is_refused(
    options: list[str], said: str, folder: Path, capsys: Captured
) -> None:
    (folder / "site.tsv").write_text(f"{url('a')}\t{url('a')}b\n{url('a')}\t{url('a')}c\n")
    (folder / "bad.tsv").write_text("1 2\nx\n")
    (folder / "other.tsv").write_text(web("x>y"))
    with closing(HandCrawl(folder / "crawl.db")) as crawl:
        crawl.seeds([url("a")])
        crawl.read(url("a"))
    source = [] if {"--graph", "--store"} & {*options} else ["--graph", "web.tsv"]
    assert said in refusal(capsys, "seed-set", *source, *options)

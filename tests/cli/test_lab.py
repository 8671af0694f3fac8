"""Experiments and graphs of `minicrawl lab`: tables, JSON, figures, and errors of one line."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from minicrawl.lab.dynamic_graphs.suite import SUITE, solved
from minicrawl.lab.reading_orders import CRAWL_ORDERS
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.stores import HandCrawl

SMALL = ["--nodes", "300", "--seed", "3"]
TINY = ["--nodes", "40", "--seed", "3"]


def run(capsys: Captured, *arguments: str) -> str:
    return printed(capsys, "lab", *arguments)


def document(capsys: Captured, *arguments: str) -> Any:
    return as_json(capsys, "lab", *arguments)


def test_convergence_prints_a_series_for_each_estimator_as_json(capsys: Captured) -> None:
    found = document(capsys, "convergence", *SMALL, "--laps", "2", "--strategy", "greedy")
    assert found["graph"]["nodes"] == 300
    assert found["graph"]["edges"] > 300
    assert [(one["strategy"], one["estimator"]) for one in found["series"]] == [
        ("off-line", "off-line"),
        ("greedy", "paper"),
        ("greedy", "minus-c0"),
    ]
    for one in found["series"]:
        assert one["laps"] == [1, 2]
        assert all(
            len(one[key]) == 2
            for key in ("error_all", "error_top10", "error_weighted", "rank_error", "g")
        )


@pytest.mark.parametrize("experiment", ["convergence", "windows"])
def test_the_small_edge_of_a_known_web_can_be_set(experiment: str, capsys: Captured) -> None:
    more = ("--rate", "0.1", "--warm-up", "1", "--draws", "1") if experiment == "windows" else ()
    chosen = (experiment, *SMALL, "--laps", "2", *more)
    usual = document(capsys, *chosen)
    found = document(capsys, *chosen, "--small-edge", "0.4")
    assert found["graph"] == usual["graph"]
    assert found["series"] != usual["series"]


def test_windows_prints_a_series_for_each_policy_and_rate_as_json(capsys: Captured) -> None:
    chosen = ["--policy", "variable=3", "--policy", "interpolation+history", "--width", "5"]
    rates = ["--rate", "0.1", "--rate", "0"]
    starts = ["--warm-up", "0", "--warm-up", "1"]
    found = document(
        capsys, "windows", *SMALL, "--laps", "2", *chosen, *rates, *starts, "--draws", "2"
    )
    names = ("warm_up", "rate", "policy", "width", "default_history")
    assert [tuple(map(point.get, names)) for point in found["series"]] == [
        (laps, rate, *policy)
        for laps in (0, 1)
        for rate in (0.1, 0)
        for policy in (("variable", 3, False), ("interpolation", 5, True))
    ]
    assert all(point["standard_error"]["error_all"] > 0 for point in found["series"])
    assert all(one["error_all"] > 0 < one["error_top10"] for one in found["series"])
    assert found["series"][1]["measures_per_page"] == 1


@pytest.mark.slow
def test_a_window_of_time_counts_a_lap_as_a_month(capsys: Captured) -> None:
    policies = [f"--policy=fixed={size}" for size in ("30d", "60d", "1e9", "999w")]
    found = document(
        capsys, "windows", *SMALL, "--laps", "6", "--warm-up", "0", "--rate", "0.1", *policies
    )["series"]
    assert [point["width"] for point in found] == ["30d", "60d", 1e9, "999w"]
    month, months, *ever = (point["measures_per_page"] for point in found)
    assert months == pytest.approx(month + 1, abs=0.1)  # a page is read once a month
    assert months < ever[0] == ever[1]
    assert found[2]["error_all"] == found[3]["error_all"] != found[0]["error_all"]


def test_order_prints_a_series_for_each_order_as_json(capsys: Captured) -> None:
    found = document(capsys, "order", *SMALL, "--draws", "1")
    assert [one["order"] for one in found["series"]] == list(CRAWL_ORDERS)
    for one in found["series"]:
        assert one["fractions"] == [0.01, 0.05, 0.1, 0.2, 0.3, 0.5]
        assert one["mass"] == sorted(one["mass"])
        assert one["mass_error"] is one["value"] is None


def test_order_is_measured_by_the_values_of_a_file(tmp_path: Path, capsys: Captured) -> None:
    links = [(a, b) for a in range(12) for b in range(12) if (a * 7 + b) % 3 == 0]
    (tmp_path / "web.tsv").write_text("".join(f"p{a}\tp{b}\n" for a, b in links))
    (tmp_path / "values").write_text("p3\np4\t0.5\n")
    chosen = ["order", "--graph", "web.tsv", "--draws", "2", "--value", "values"]
    found = document(capsys, *chosen)["series"]
    assert [one["order"] for one in found] == ["siblings", "value"]
    for one in found:
        assert len(one["value"]) == len(one["value_error"]) == 6
        assert all(0 <= share <= 1 for share in one["value"])
    assert run(capsys, *chosen).count("siblings") == 3  # importance, fresh, value


def test_standard_errors_and_gains_are_printed(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ["--strategy", "opic", "--strategy", "random", "--draws", "2", "--polite", "3"]
    opic, other = document(capsys, "order", *SMALL, *chosen)["series"]
    assert opic["gain"] is None
    for name in ("mass", "gain"):
        assert len(other[name]) == len(other[f"{name}_error"]) == 6
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(capsys, "order", *SMALL, *chosen)
    for word in ("with standard errors", "±", "from opic"):
        assert word in shown
    assert "…" not in shown


@pytest.mark.slow
def test_a_larger_small_edge_gathers_less_importance_early(capsys: Captured) -> None:
    """The small edge changes the true importance and PageRank as well as the order."""
    orders = ["order", *SMALL, "--draws", "2", "--strategy", "opic", "--strategy", "pagerank"]
    usual = document(capsys, *orders)
    assert document(capsys, *orders, "--small-edge", "0.15") == usual
    other = document(capsys, *orders, "--small-edge", "0.5")
    pairs = zip(usual["series"], other["series"], strict=True)
    assert all(one["mass"][2] > two["mass"][2] for one, two in pairs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["convergence", "--laps", "2"], ["greedy, minus-c0", "n x cash", "300 pages"]),
        (["windows", "--laps", "1", *("--rate=.1", "--draws=2")], ["interpolation 8", "measures"]),
        (["order", "--draws", "1"], ["breadth-first", "50%", "300 pages"]),
    ],
)
def test_tables_fit_a_terminal_of_80_columns(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(capsys, *arguments, *SMALL)
    assert all(word in shown for word in expected)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_same_seed_gives_the_same_output(capsys: Captured) -> None:
    once, again = (run(capsys, "order", *TINY, "--draws", "1") for _ in "12")
    assert once == again
    other = run(capsys, "order", *TINY[:2], "--seed", "4", "--draws", "1")
    assert other != once


def test_a_graph_file_takes_the_place_of_a_synthetic_one(capsys: Captured, tmp_path: Path) -> None:
    graph = tmp_path / "ring.txt"
    graph.write_text("# a ring\n" + "".join(f"{page} {(page + 1) % 7}\n" for page in range(7)))
    for experiment in ("convergence", "windows", "order"):
        found = document(capsys, experiment, "--graph", str(graph), "--quick")
        assert found["graph"] == {"nodes": 7, "edges": 7}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["convergence", "--nodes", "1"], ["--nodes", "1"]),
        (["convergence", "--graph", "absent.txt"], ["--graph", "absent.txt"]),
        (["convergence", "--graph", "."], ["--graph", "'.'"]),
        (["convergence", "--graph", "bad.txt"], ["bad.txt, line 2", "hello"]),
        (["convergence", "--graph", "bad.txt", "--nodes", "10"], ["--nodes", "--graph"]),
        (["windows", "--policy", "interpolation=0"], ["--policy", "0"]),
        (["windows", "--policy", "variable=8/1"], ["--policy", "1"]),
        (["windows", "--policy", "variable=-3"], ["--policy", "-3"]),
        (["windows", "--policy", "fixed=wide"], ["--policy", "wide"]),
        (["windows", "--policy", "fixed=nan"], ["--policy", "nan"]),
        (["windows", "--policy", "variable=0.5"], ["variable", "0.5"]),
        (["windows", "--policy", "variable", "--width", "2.5"], ["variable", "2.5"]),
        (["windows", "--policy", "wimdow"], ["--policy", "wimdow"]),
        (["windows", "--rate", "nan"], ["--rate", "nan"]),
        (["order", "--polite", "2", "--web", "poisson", "--quick"], ["--polite", "hosts"]),
        (["windows", "--policy", "interpolation=8/5"], ["keeps no measures"]),
        (["windows", "--policy", "static=8"], ["a static window has no width"]),
        (["order", "--value", "page.txt"], ["--graph"]),
        (["order", "--strategy", "value"], ["--value"]),
        (["order", "--budget", "0"], ["--budget"]),
        (["order", "--budget", "101%"], ["--budget", "101%"]),
        (["order", "--budget", "1.5"], ["--budget", "1.5"]),
        (["graphs", "nothing-there"], ["is neither a file nor one of"]),
        (["graphs", "."], ["is neither a file nor one of"]),
        (["graphs", "sc1", "--algorithm", "a5"], ["is not one of"]),
        (["graphs", "sc1", "--timeout", "0"], ["--timeout"]),
        (["graphs", "bad.txt"], ["bad.txt, line 2: expected two page ids, found 'hello'"]),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else None,
)
def test_a_mistake_is_one_line_that_names_it_and_nothing_is_written(
    capsys: Captured, tmp_path: Path, arguments: list[str], named: list[str]
) -> None:
    Path("bad.txt").write_text("1 2\nhello\n")
    Path("web.tsv").write_text("a\tb\n")
    Path("page.txt").write_text("a\n")
    before = sorted(tmp_path.iterdir())
    line = refusal(capsys, "lab", *arguments)
    assert [word for word in named if word not in line] == []
    assert sorted(tmp_path.iterdir()) == before


class TestStoreAsGraph:
    """A store takes the place of a graph file."""

    def test_the_graph_of_a_store_has_the_read_pages_and_their_hosts(
        self, path: Path, capsys: Captured
    ) -> None:
        """Each of 20 read pages on two hosts links to the next one and to an unread page."""
        urls = [f"http://h{page % 2}.example/{page}" for page in range(20)]
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds(urls[:1])
            for page, url in enumerate(urls):
                crawl.read(url, [urls[(page + 1) % 20], f"{url}/unread"])
        options = ("--strategy", "opic", "--draws", "1", "--polite", "2")
        found = document(capsys, "order", "--graph", str(crawl.path), *options)
        assert found["graph"] == {"nodes": 20, "edges": 20}
        assert found["series"][0]["mass"][-1] == pytest.approx(0.5)

    def test_a_store_without_a_read_page_is_refused(self, path: Path, capsys: Captured) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds(["http://a.example/"])
        line = refusal(capsys, "lab", "order", "--graph", crawl.path)
        assert "crawl.db: only 0 pages in it" in line


@pytest.mark.slow
def test_a_table_has_a_row_for_each_chosen_algorithm(capsys: Captured) -> None:
    shown = run(capsys, "graphs", "sc3", "--algorithm", "a2", "--algorithm", "19", "--validate")
    assert "sc3: 4 pages, 6 edges" in shown
    assert [line.split()[0] for line in shown.splitlines()[2:4]] == ["a2", "levels"]
    assert shown.count("passed") == 2


@pytest.mark.slow
def test_matrices_are_shown(capsys: Captured) -> None:
    shown = run(capsys, "graphs", "sc3", "--algorithm", "a1", "--print-matrices")
    assert shown.splitlines()[-4:] == ["0 1 2 2", "2 0 1 1", "1 2 0 3", "1 2 1 0"]


@pytest.mark.slow
def test_an_algorithm_that_is_named_twice_runs_once(capsys: Captured) -> None:
    twice = ("--algorithm", "a1", "--algorithm", "4", "--trials", "2")
    (found,) = json.loads(run(capsys, "graphs", "sc1", *twice, "--json"))
    assert found["graph"]["components"] == 1
    (report,) = found["algorithms"]
    assert (report["algorithm"], len(report["seconds"])) == ("a1", 2)


@pytest.mark.proof
def test_several_trials_are_listed_with_their_times(capsys: Captured) -> None:
    out = run(capsys, "graphs", "sc3", "--algorithm", "levels", "--trials", "2")
    assert "trial 1" in out
    assert "trial 2" in out
    assert "trial 1" not in run(capsys, "graphs", "sc3", "--algorithm", "levels")


@pytest.mark.proof
def test_validation_finds_unexpected_distances(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Here the expected distances are wrong."""
    case = solved(SUITE["sc1"]())
    case.distances[0, 1] += 5
    monkeypatch.setattr("minicrawl.lab.commands.growing_graphs.solved", lambda _graph: case)
    chosen = ("sc1", "--algorithm", "a1", "--algorithm", "levels")
    run(capsys, "graphs", *chosen)
    out = printed(capsys, "lab", "graphs", *chosen, "--validate", code=1)
    assert "distance of 0 to 1 is 1, expected 6" in out
    assert "passed" in out

"""Orders of packages in `minicrawl lab order`, budgets in pages, and what is still fresh."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.cli import main
from minicrawl.lab.importance_curves import still_fresh
from minicrawl.lab.reading_orders import bounds
from tests.processes import run_python

SHORT = """
from array import array

class Short:
    def __init__(self, frontier):
        self.keys = array("q")
        self.urls = frontier.urls

    def grow(self, pages):
        for page in pages:
            assert len(self.urls.host_of) > page
            self.keys.append(-len(self.urls.url_of(page)) - 1000 * self.urls.depth[page])
"""
GRAPH = "".join(
    f"http://{source % 7}.example/{'x' * (source % 11)}{source}\t"
    f"http://{target % 7}.example/{'x' * (target % 11)}{target}\n"
    for source in range(200)
    for target in {(3 * source + shift) % 200 for shift in (1, 2, 5, 7, 11, source)}
)


ORDERS = ("--strategy", "siblings", "--strategy", "short")


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    (path := tmp_path / "links.tsv").write_text(GRAPH, encoding="utf-8")
    return path


@pytest.fixture
def short(tmp_path: Path) -> dict[str, str]:
    """Variables for a process in which a package adds the order `short`."""
    (tmp_path / "short_first.py").write_text(SHORT, encoding="utf-8")
    (about := tmp_path / "short_first-1.dist-info").mkdir()
    (about / "entry_points.txt").write_text(
        "[minicrawl.orders]\nshort = short_first:Short\n", encoding="utf-8"
    )
    return {"PYTHONPATH": str(tmp_path)}


def series(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["series"]
    return found


@pytest.mark.slow
def test_an_order_of_a_package_is_compared(graph: Path, short: dict[str, str]) -> None:
    arguments = ("lab", "order", "--graph", str(graph), "--draws", "3", "--json")
    done = run_python("-m", "minicrawl", *arguments, *ORDERS, "--budget", "20", variables=short)
    by_order = {curve["order"]: curve for curve in series(done.stdout)}
    assert {"short", "siblings"} == by_order.keys()
    assert 0 < by_order["short"]["mass"][-1] != by_order["siblings"]["mass"][-1]
    assert by_order["short"]["mass_error"][-1] >= 0


def test_a_package_of_this_order_is_unknown_without_it(graph: Path) -> None:
    assert main(["lab", "order", "--graph", str(graph), "--strategy", "short"]) == 2


@pytest.mark.slow
def test_budgets_are_pages_or_shares(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--graph", str(graph), "--draws", "2", "--budget", "30", "--budget", "100%"]
    assert main(["lab", "order", *arguments, "--json"]) == 0
    for curve in series(capsys.readouterr().out):
        assert curve["fractions"] == [30, 1.0]
        assert curve["mass"][0] < curve["mass"][1] == pytest.approx(1.0)
        assert 0 < curve["fresh"][1] < 1
    assert main(["lab", "order", *arguments]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["order", "30", "100%"]


def test_a_page_is_fresh_until_it_changes() -> None:
    """Pages never change, or with an even chance until the next fetch."""
    importance, rates = np.array([0.25, 0.5, 0.125]), np.array([np.log(2), 0.0, np.log(2)])
    fresh = still_fresh(importance, rates, [1, 2, 3, 9])
    assert fresh == pytest.approx([0.125, 0.5625, 0.59375, 0.59375])


def test_the_bounds_of_the_worked_example() -> None:
    assert bounds(np.array([3, 1]), np.array([0.9, 0.1])) == pytest.approx([1.12, 1.35], abs=0.005)

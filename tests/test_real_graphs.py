"""A test that wants a real graph finds it or says what to set."""

from pathlib import Path

import pytest

from tests.real_graphs import BESIDE_THE_PROJECT, AbsentGraph, find_graph


def test_a_graph_is_found_where_the_variable_points(tmp_path: Path) -> None:
    graph = tmp_path / "small.txt.gz"
    graph.touch()
    assert find_graph("small.txt.gz", {"MINICRAWL_GRAPHS": str(tmp_path)}) == graph


def test_an_absent_graph_names_the_place_and_the_variable(tmp_path: Path) -> None:
    with pytest.raises(AbsentGraph, match=rf"{tmp_path}.*MINICRAWL_GRAPHS"):
        find_graph("small.txt.gz", {"MINICRAWL_GRAPHS": str(tmp_path)})


@pytest.mark.parametrize("environment", [{}, {"MINICRAWL_GRAPHS": ""}])
def test_without_the_variable_graphs_are_beside_the_project(environment: dict[str, str]) -> None:
    with pytest.raises(AbsentGraph, match=f"{BESIDE_THE_PROJECT};"):
        find_graph("no such graph", environment)

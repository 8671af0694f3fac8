"""`minicrawl lab graphs`: reports, validation, and errors of one line."""

import json

import pytest

from minicrawl.cli import main
from minicrawl.lab.dynamic_graphs.suite import SUITE, solved
from tests.cli.calls import Captured, printed


def run(capsys: Captured, *arguments: str) -> str:
    assert main(["lab", "graphs", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_a_table_has_a_row_for_each_chosen_algorithm(capsys: Captured) -> None:
    shown = run(capsys, "sc3", "--algorithm", "a2", "--algorithm", "19", "--validate")
    assert "sc3: 4 pages, 6 edges" in shown
    assert [line.split()[0] for line in shown.splitlines()[2:4]] == ["a2", "levels"]
    assert shown.count("passed") == 2


@pytest.mark.slow
def test_matrices_are_shown(capsys: Captured) -> None:
    shown = run(capsys, "sc3", "--algorithm", "a1", "--print-matrices")
    assert shown.splitlines()[-4:] == ["0 1 2 2", "2 0 1 1", "1 2 0 3", "1 2 1 0"]


@pytest.mark.slow
def test_an_algorithm_that_is_named_twice_runs_once(capsys: Captured) -> None:
    twice = ("--algorithm", "a1", "--algorithm", "4", "--trials", "2")
    (found,) = json.loads(run(capsys, "sc1", *twice, "--json"))
    assert found["graph"]["components"] == 1
    (report,) = found["algorithms"]
    assert (report["algorithm"], len(report["seconds"])) == ("a1", 2)


@pytest.mark.proof
def test_several_trials_are_listed_with_their_times(capsys: Captured) -> None:
    out = run(capsys, "sc3", "--algorithm", "levels", "--trials", "2")
    assert "trial 1" in out
    assert "trial 2" in out
    assert "trial 1" not in run(capsys, "sc3", "--algorithm", "levels")


@pytest.mark.proof
def test_validation_finds_unexpected_distances(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Here the expected distances are wrong."""
    case = solved(SUITE["sc1"]())
    case.distances[0, 1] += 5
    monkeypatch.setattr("minicrawl.lab.commands.growing_graphs.solved", lambda _graph: case)
    chosen = ("sc1", "--algorithm", "a1", "--algorithm", "levels")
    run(capsys, *chosen)
    out = printed(capsys, "lab", "graphs", *chosen, "--validate", code=1)
    assert "distance of 0 to 1 is 1, expected 6" in out
    assert "passed" in out

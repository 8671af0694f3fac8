"""`minicrawl lab graphs`: reports, conversion, validation, and errors of one line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.graphfiles import pack, unpack
from minicrawl.lab.dynamic_graphs import SUITE, solved
from tests.cli.calls import Captured, printed, refusal


def run(capsys: Captured, *arguments: str) -> str:
    assert main(["lab", "graphs", *arguments]) == 0
    return capsys.readouterr().out


def test_a_table_has_a_row_for_each_chosen_algorithm(capsys: Captured) -> None:
    shown = run(capsys, "sc3", "--algorithm", "a2", "--algorithm", "19", "--validate")
    assert "sc3: 4 pages, 6 edges" in shown
    assert [line.split()[0] for line in shown.splitlines()[2:4]] == ["a2", "levels"]
    assert shown.count("passed") == 2


def test_reports_are_printed_as_json(capsys: Captured) -> None:
    (found,) = json.loads(run(capsys, "sc1", "--algorithm", "s2", "--trials", "2", "--json"))
    assert found["graph"]["components"] == 1
    (report,) = found["algorithms"]
    assert report["algorithm"] == "s2"
    assert len(report["seconds"]) == 2


def test_matrices_are_shown(capsys: Captured) -> None:
    shown = run(capsys, "sc3", "--algorithm", "a1", "--print-matrices")
    assert shown.splitlines()[-4:] == ["0 1 2 2", "2 0 1 1", "1 2 0 3", "1 2 1 0"]


def test_graphs_are_converted_between_both_formats(tmp_path: Path, capsys: Captured) -> None:
    packed, text, again = tmp_path / "x.g", tmp_path / "x.txt", tmp_path / "again.g"
    run(capsys, "sc2", "--convert", str(packed))
    run(capsys, str(packed), "--convert", str(text))
    assert text.read_text().splitlines()[1] == "p sp 8 14"
    run(capsys, str(packed), "--convert", str(again))
    assert again.read_bytes() == packed.read_bytes()
    assert unpack(packed.read_bytes()).graph == SUITE["sc2"]()


def test_a_converted_graph_may_get_another_name(tmp_path: Path, capsys: Captured) -> None:
    packed, text = tmp_path / "x.g", tmp_path / "x.txt"
    run(capsys, "sc2", "--convert", str(packed), "--name", "merging twice")
    assert unpack(packed.read_bytes()).graph == replace(SUITE["sc2"](), name="merging twice")
    run(capsys, "sc2", "--convert", str(text), "--name", "merging twice")
    assert text.read_text().startswith("c merging twice\np sp 8 14\n")


def test_an_algorithm_that_is_named_twice_runs_once(capsys: Captured) -> None:
    shown = json.loads(run(capsys, "sc1", "--algorithm", "a1", "--algorithm", "4", "--json"))
    assert [one["algorithm"] for one in shown[0]["algorithms"]] == ["a1"]


@pytest.mark.proof
def test_each_figure_has_a_csv_file_with_its_numbers(tmp_path: Path, capsys: Captured) -> None:
    names = [part for name in ("a2", "s1-8", "johnson") for part in ("--algorithm", name)]
    run(capsys, "sc3", *names, "--out", str(tmp_path / "drawn"))
    drawn = sorted(path.name for path in (tmp_path / "drawn").iterdir())
    kinds = ("blocks", "components", "distances", "memory")
    assert drawn == [f"graphs-{kind}.{end}" for kind in kinds for end in ("csv", "png")]
    rows = (tmp_path / "drawn" / "graphs-distances.csv").read_text().splitlines()
    assert rows[0] == "graph,algorithm,seconds"
    assert [row.rsplit(",", 1)[0] for row in rows[1:]] == ["sc3,a2", "sc3,johnson"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing-there"], "is neither a file nor one of"),
        (["."], "is neither a file nor one of"),
        (["sc1", "--trials", "0"], "--trials"),
        (["sc1", "--algorithm", "a5"], "is not one of"),
        (["sc1", "--threshold", "-1"], "--threshold"),
        (["sc1", "--timeout", "0"], "--timeout"),
        (["sc1", "sc2", "--convert", "x.g"], "--convert"),
        (["sc1", "--name", "x"], "needs --convert"),
        (["sc1", "--convert", "x.g", "--name", "a\nb"], "printable"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, capsys: Captured) -> None:
    assert message in refusal(capsys, "lab", "graphs", *arguments)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("links.txt", "1 2\n3\n", "line 2: expected two page ids, found '3'"),
        ("dimacs.gr", "p sp 3 2\na 1 2 1\na 1 9 1\n", "line 3: expected `a from to weight`"),
        ("empty.gr", "", "no links"),
    ],
)
@pytest.mark.parametrize(
    "command", [["lab", "graphs"], ["graph", "--graph"], ["rank", "pagerank", "--graph"]]
)
def test_a_wrong_line_is_named(
    tmp_path: Path, capsys: Captured, command: list[str], name: str, text: str, says: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    line = refusal(capsys, *command, file)
    assert line.startswith(f"minicrawl: {file}")
    assert says in line


@pytest.mark.proof
def test_several_trials_are_listed_with_their_times(capsys: Captured) -> None:
    out = run(capsys, "sc3", "--algorithm", "levels", "--trials", "2")
    assert "trial 1" in out
    assert "trial 2" in out
    assert "trial 1" not in run(capsys, "sc3", "--algorithm", "levels")


@pytest.mark.proof
def test_validation_finds_distances_unlike_the_file(tmp_path: Path, capsys: Captured) -> None:
    """Here the distances of the file are wrong."""
    saved = solved(SUITE["sc1"]())
    saved.distances[0, 1] += 5
    file = tmp_path / "wrong.g"
    file.write_bytes(pack(saved))
    chosen = (str(file), "--algorithm", "a1", "--algorithm", "levels")
    run(capsys, *chosen)
    out = printed(capsys, "lab", "graphs", *chosen, "--validate", code=1)
    assert "distance of 0 to 1 is 1, expected 6" in out
    assert "passed" in out


def test_a_damaged_file_is_refused(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "bad.g"
    file.write_bytes(b"minigraph\x01x\0\xff")
    assert "truncated" in refusal(capsys, "lab", "graphs", file)

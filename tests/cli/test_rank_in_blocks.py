"""PageRank in blocks is PageRank, and says what it cannot do."""

import json
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.ranks.commands import pagerank_command as command
from minicrawl.report.snapshot import snapshot
from minicrawl.store.derived import kept_ranks, reading_beside
from tests.stores import HandCrawl

Captured = pytest.CaptureFixture[str]
A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "graph.txt"
    path.write_text("1 2\n2 3\n3 1\n3 2\n4 2\n2 5\n")
    return str(path)


def pageranks(capsys: Captured, *arguments: str) -> dict[str, float]:
    assert main(["rank", "pagerank", *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    return {each["node"]: each["score"] for each in document["scores"]}


@pytest.mark.parametrize(
    "options", [["--blocks", "2"], ["--memory", "3GB"], ["--blocks", "3", "--memory", "3GB"]]
)
def test_blocks_come_to_what_memory_comes_to(
    capsys: Captured, graph: str, options: list[str]
) -> None:
    whole = pageranks(capsys, "--graph", graph, "--damping", "0.5")
    blocks = pageranks(capsys, "--graph", graph, "--damping", "0.5", "--n", "0", *options)
    assert blocks == pytest.approx(whole, abs=1e-8)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_is_shown_in_parts_reads_as_one_list(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: list[str]
) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("".join(f"{node // 2} {node}\n" for node in range(1, 1200)))
    arguments = ["rank", "pagerank", "--graph", str(path), "--blocks", "2", "--n", "0", *form]
    outputs = []
    for at_once in (7, 10_000):
        monkeypatch.setattr(command, "_SHOWN_AT_ONCE", at_once)
        assert main(arguments) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    if not form:
        lines = outputs[0].splitlines()[1:-1]
        assert [int(line.split()[0].replace(",", "")) for line in lines] == [*range(1, 1201)]
        assert len({line.index("%") for line in lines}) == 1


def test_what_was_read_from_disk_and_written_is_told(capsys: Captured, graph: str) -> None:
    arguments = ["rank", "pagerank", "--graph", graph, "--blocks", "2"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rounds = found["iterations"]
    assert found["disk"] == {
        "blocks": 2,
        "reads": 1 + 8 * rounds,
        "bytes_read": 40 + (6 * 8 + 4 * 40) * rounds,
        "writes": 2 + 4 * rounds,
        "bytes_written": 80 + 80 * rounds,
    }
    assert main(arguments) == 0
    told = f"in 2 blocks: read 0.0 MB in {1 + 8 * rounds} reads, wrote 0.0 MB in {2 + 4 * rounds}"
    assert told in capsys.readouterr().out


def test_files_of_blocks_go_where_they_are_wanted_and_away(
    capsys: Captured, graph: str, tmp_path: Path
) -> None:
    (folder := tmp_path / "temp").mkdir()
    pageranks(capsys, "--graph", graph, "--blocks", "2", "--temp", str(folder))
    assert list(folder.iterdir()) == []


def test_a_store_is_ranked_in_blocks_and_the_rank_is_kept(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawl = HandCrawl(path)
    crawl.seeds([A])
    crawl.read(A, [B, C])
    crawl.read(B, [A])
    crawl.commit()
    whole = pageranks(capsys, "--store", str(path), "--as", "whole")
    assert pageranks(capsys, "--store", str(path), "--blocks", "2") == pytest.approx(whole)
    with snapshot(path) as seen, reading_beside(path, seen.connection) as beside:
        rows = {row.name: row for row in kept_ranks(beside)}
    assert rows["pagerank"].edges == rows["whole"].edges == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--temp", "."], "--temp needs --blocks or --memory"),
        (["--memory", "much"], "not a size such as 64MB"),
        (["--memory", "1MB"], "1 MB are too little"),
        (["--blocks", "2", "--method", "sweeping"], "--method does not work with --blocks"),
    ],
)
def test_what_is_not_possible_is_refused_in_one_line(
    capsys: Captured, graph: str, options: list[str], said: str
) -> None:
    assert main(["rank", "pagerank", "--graph", graph, *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err

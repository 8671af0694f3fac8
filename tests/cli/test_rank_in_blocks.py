"""PageRank in blocks has the scores of PageRank, and refuses options that need memory."""

from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.ranks.commands import pagerank_command as command
from minicrawl.report.snapshot import snapshot
from minicrawl.store.derived import kept_ranks, reading_beside
from tests.cli.calls import Captured, as_json, refusal
from tests.stores import A, B, C, HandCrawl


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "graph.txt"
    path.write_text("1 2\n2 3\n3 1\n3 2\n4 2\n2 5\n")
    return str(path)


def pageranks(capsys: Captured, *arguments: str) -> dict[str, float]:
    document = as_json(capsys, "rank", "pagerank", *arguments)
    return {each["node"]: each["score"] for each in document["scores"]}


@pytest.mark.parametrize(
    "options", [["--blocks", "2"], ["--memory", "3GB"], ["--blocks", "3", "--memory", "3GB"]]
)
def test_blocks_give_the_scores_of_memory(capsys: Captured, graph: str, options: list[str]) -> None:
    whole = pageranks(capsys, "--graph", graph, "--damping", "0.5")
    blocks = pageranks(capsys, "--graph", graph, "--damping", "0.5", "--n", "0", *options)
    assert blocks == pytest.approx(whole, abs=1e-8)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_list_printed_in_parts_is_the_same_list(
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


def test_disk_reads_and_writes_are_reported(capsys: Captured, graph: str) -> None:
    arguments = ["rank", "pagerank", "--graph", graph, "--blocks", "2"]
    found = as_json(capsys, *arguments)
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


def test_files_of_blocks_are_removed_from_the_temporary_folder(
    capsys: Captured, graph: str, tmp_path: Path
) -> None:
    (folder := tmp_path / "temp").mkdir()
    pageranks(capsys, "--graph", graph, "--blocks", "2", "--temp", str(folder))
    assert list(folder.iterdir()) == []


def test_a_store_is_ranked_in_blocks_and_the_rank_is_kept(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B, C])
        crawl.read(B, [A])
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
def test_options_that_do_not_work_are_refused(
    capsys: Captured, graph: str, options: list[str], said: str
) -> None:
    assert said in refusal(capsys, "rank", "pagerank", "--graph", graph, *options)

"""`minicrawl lab eigenvector`: its output, and what it refuses."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.cli import main
from tests.ranks.commands.plain_ranks import (
    Captured,
    as_json,
    store_with_ranks,
)
from tests.stores import A, HandCrawl


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return store_with_ranks(tmp_path, monkeypatch)


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

"""`minicrawl graph`: what its commands print, make and refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cli import main
from minicrawl.graph import outline
from tests.stores import filled_store

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINICRAWL_CONFIG", raising=False)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    (tmp_path / "web.txt").write_text("# a web\n10 20\n10 30\n20 30\n20 20\n40 10\n")
    return tmp_path


def printed(capsys: Captured, *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def document(capsys: Captured, *arguments: str) -> Any:
    return json.loads(printed(capsys, *arguments, "--json"))


def refusal(capsys: Captured, *arguments: str) -> str:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


class TestImport:
    def test_people_are_told_what_there_is_and_what_was_left_out(self, capsys: Captured) -> None:
        assert printed(capsys, "graph", "import", "web.txt") == (
            "store     crawl.db\n"
            "pages     4, 3 of them with links\n"
            "links     4\n"
            "left out  1 links of pages to themselves\n"
            "next      `minicrawl refine` makes the ranks converge\n"
        )

    def test_programs_get_the_same(self, capsys: Captured) -> None:
        assert document(capsys, "graph", "import", "web.txt", "--store", "new.db") == {
            "pages": 4,
            "links": 4,
            "read": 3,
            "merged": 0,
            "self_links": 1,
            "store": "new.db",
        }

    def test_every_command_that_reads_a_store_reads_it(self, capsys: Captured) -> None:
        printed(capsys, "graph", "import", "web.txt")
        assert printed(capsys, "check").startswith("ok: ")
        printed(capsys, "refine")
        assert {page["url"] for page in document(capsys, "top")} == {"10", "20", "30", "40"}
        assert [page["url"] for page in document(capsys, "frontier")] == ["30"]
        assert {site["site"] for site in document(capsys, "top", "--sites")} == {
            "10",
            "20",
            "30",
            "40",
        }
        assert document(capsys, "top", "--host", "20")[0]["status"] is None
        assert "imported from web.txt" in printed(capsys, "explain", "40")
        assert printed(capsys, "errors") == "no failures\n"
        assert document(capsys, "status", "--mirrors")["pages_fetched"] == 3
        assert "10,10," in printed(capsys, "export", "-")
        assert document(capsys, "rank", "degree")["edges"] == 4

    def test_nobody_crawls_from_there(self, capsys: Captured) -> None:
        printed(capsys, "graph", "import", "web.txt")
        for arguments in (["crawl"], ["crawl", "--dry-run"]):
            assert "holds an imported graph" in refusal(capsys, *arguments)
        assert printed(capsys, "check").startswith("ok: ")

    def test_a_store_that_is_there_is_not_overwritten(self, capsys: Captured, folder: Path) -> None:
        before = filled_store(folder / "crawl.db").read_bytes()
        assert "crawl.db exists" in refusal(capsys, "graph", "import", "web.txt")
        assert (folder / "crawl.db").read_bytes() == before

    def test_what_is_no_graph_makes_no_store(self, capsys: Captured, folder: Path) -> None:
        (folder / "none.txt").write_text("once upon a time\n")
        refusal(capsys, "graph", "import", "none.txt")
        refusal(capsys, "graph", "import", "absent.txt")
        assert not (folder / "crawl.db").exists()


class TestInfo:
    def test_a_file_in_a_few_numbers(self, capsys: Captured) -> None:
        assert printed(capsys, "graph", "info", "--graph", "web.txt") == (
            "nodes              4, 1 of them without links\n"
            "links              5, 1 of them to the node itself\n"
            "strong components  4, the largest of 1 nodes and 1 links\n"
            "weak components    1, the largest of 4 nodes\n"
            "mean distance      1.333 links\n"
            "diameter           2\n"
        )

    def test_what_was_not_measured_from_all_nodes_says_so(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(outline.outline, "__defaults__", (lambda _share: None, 0))
        lines = printed(capsys, "graph", "info", "--graph", "web.txt").splitlines()
        assert lines[4:] == [
            "mean distance      1.333 links, measured from some nodes",
            "diameter           at least 2",
        ]

    def test_where_nothing_is_linked_there_is_no_distance(
        self, capsys: Captured, folder: Path
    ) -> None:
        (folder / "alone.txt").write_text("1 1\n2 2\n")
        found = printed(capsys, "graph", "info", "--graph", "alone.txt")
        assert "mean distance      none\n" in found

    def test_a_store_leads_its_links_through_redirects(
        self, capsys: Captured, folder: Path
    ) -> None:
        filled_store(folder / "crawl.db")
        found = document(capsys, "graph", "info")
        assert (found["nodes"], found["edges"], found["dangling"]) == (6, 6, 3)
        assert (found["diameter"], found["is_exact"]) == (3, True)

    def test_a_real_graph(self, capsys: Captured, shared_graph: Callable[[str], Path]) -> None:
        path = shared_graph("wiki-Vote.txt.gz")
        found = document(capsys, "graph", "info", "--graph", str(path))
        assert (found["strong_components"], found["largest_strong"]) == (5816, 1300)
        assert (found["diameter"], found["is_exact"]) == (10, True)

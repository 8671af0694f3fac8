"""`minicrawl graph`, and `import` and `export` of graphs."""

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx
import pytest

from minicrawl.store.records import StoreTerms
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.processes import killed_on_failure
from tests.stores import DEEP, MOVED, A, B, C, filled_store


@pytest.fixture(autouse=True)
def folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    (place / "web.txt").write_text("# a web\n10 20\n10 30\n20 30\n20 20\n40 10\n")
    return place


STOPPED_HALFWAY = """
import os, signal, sys
from minicrawl.crawl.imports import graph_import as importing
from minicrawl.cli import main

def wait_for_a_signal(*_):
    # The signal writes to the pipe, so that one that comes before the read is not lost.
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    print("ready", flush=True)
    os.read(read, 1)

importing._CrawlWriter.read_all = wait_for_a_signal
sys.exit(main(["import", "web.txt"]))
"""


class TestImport:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_leaves_nothing_behind(self, number: signal.Signals, folder: Path) -> None:
        before = sorted(folder.iterdir())
        importing = subprocess.Popen(
            [sys.executable, "-c", STOPPED_HALFWAY], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with killed_on_failure(importing) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            assert sorted(folder.iterdir()) != before
            process.send_signal(number)
            _, err = process.communicate()
        assert (process.returncode, err) == (130, b"minicrawl: interrupted\n")
        assert sorted(folder.iterdir()) == before

    def test_the_output_counts_pages_links_and_omitted_links(self, capsys: Captured) -> None:
        assert printed(capsys, "import", "web.txt") == (
            "store      crawl.db\n"
            "pages      4, 3 with links\n"
            "links      4\n"
            "left out   1 link from a page to itself\n"
            "next step  `minicrawl refine --store crawl.db` makes the ranks converge\n"
        )

    def test_commands_that_read_a_store_read_an_imported_graph(self, capsys: Captured) -> None:
        printed(capsys, "import", "web.txt")
        assert printed(capsys, "check").startswith("ok: ")
        printed(capsys, "refine")
        assert {page["url"] for page in as_json(capsys, "top")} == {"10", "20", "30", "40"}
        assert [page["url"] for page in as_json(capsys, "frontier")] == ["30"]
        sites = {site["site"] for site in as_json(capsys, "top", "--sites")}
        assert sites == {"10", "20", "30", "40"}
        assert as_json(capsys, "top", "--host", "20")[0]["status"] is None
        assert "imported from web.txt" in printed(capsys, "explain", "40")
        assert printed(capsys, "errors") == "no failures\n"
        assert as_json(capsys, "status", "--mirrors")["pages_fetched"] == 3
        assert "10,10," in printed(capsys, "export", "-")
        assert as_json(capsys, "rank", "degree")["edges"] == 4

    def test_no_crawl_goes_on_from_an_imported_graph(self, capsys: Captured) -> None:
        printed(capsys, "import", "web.txt")
        for arguments in (["crawl"], ["crawl", "--dry-run"]):
            assert "has an imported graph" in refusal(capsys, *arguments)
        assert printed(capsys, "check").startswith("ok: ")

    def test_names_of_the_same_url_are_merged(self, capsys: Captured, folder: Path) -> None:
        (folder / "urls.tsv").write_text("http://a.example\tb\nHTTP://a.example/\tc\n")
        assert "merged     1 name" in printed(capsys, "import", "urls.tsv")

    def test_a_graph_may_be_compressed_or_piped(self, capsys: Captured, folder: Path) -> None:
        packed = gzip.compress((folder / "web.txt").read_bytes())
        (folder / "web.gz").write_bytes(packed)
        assert as_json(capsys, "import", "web.gz", "--store", "packed.db")["links"] == 4
        done = subprocess.run(
            [sys.executable, "-m", "minicrawl", "import", "-", "--json"],
            input=packed,
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout)["links"] == 4


class TestExport:
    @pytest.fixture(autouse=True)
    def _store(self, folder: Path) -> None:
        filled_store(folder / "crawl.db")

    @pytest.mark.parametrize("file", ["links.csv", "links.tsv"])
    def test_a_table_of_links_is_read_as_a_graph(self, capsys: Captured, file: str) -> None:
        printed(capsys, "export", file, "--edges")
        assert as_json(capsys, "graph", "--graph", file)["edges"] == 6

    @pytest.mark.parametrize(
        ("file", "read"),
        [
            ("web.graphml", networkx.read_graphml),
            ("web.gexf", partial(networkx.read_gexf, version="1.3")),
        ],
    )
    def test_networkx_reads_graphml_and_gexf(
        self, capsys: Captured, file: str, read: Callable[[str], networkx.DiGraph]
    ) -> None:
        printed(capsys, "export", file, "--host", "a.example")
        graph = read(file)
        assert {told["label"] for _, told in graph.nodes(data=True)} == {A, DEEP, MOVED}
        assert graph.number_of_edges() == 2
        printed(capsys, "export", file, "--level", "host", "--force")
        graph = read(file)
        assert {told["label"]: told["pages"] for _, told in graph.nodes(data=True)} == {
            "a.example": 3,
            "b.example": 2,
            "c.example": 1,
        }
        assert graph.number_of_edges() == 5

    def test_the_crawled_graph_has_the_links_between_read_pages(self, capsys: Captured) -> None:
        rows = printed(capsys, "export", "-", "--edges", "--graph-of", "crawled").splitlines()
        assert rows[1:] == [f"{A},{B},1,", f"{A},{MOVED},1,{A}", f"{B},{A},1,"]
        printed(capsys, "export", "web.graphml", "--graph-of=crawled")
        oracle = networkx.read_graphml("web.graphml")
        assert {data["label"] for _, data in oracle.nodes(data=True)} == {A, B}

    @pytest.mark.parametrize("arguments", [["web.gexf"], ["--edges", "links.csv"]])
    def test_a_store_without_links_overwrites_no_file(
        self, capsys: Captured, folder: Path, arguments: list[str]
    ) -> None:
        filled_store(folder / "bare.db", StoreTerms(links=False))
        (folder / arguments[-1]).write_text("before")
        assert "--no-links" in refusal(
            capsys, "export", "--force", "--store", "bare.db", *arguments
        )
        assert (folder / arguments[-1]).read_text() == "before"

    @pytest.mark.parametrize("weights", ["", "\t3"])
    def test_exported_links_are_imported_unchanged(
        self, capsys: Captured, folder: Path, weights: str
    ) -> None:
        lines = [
            f"{A}\t{B}{weights and chr(9)}{weights and 2}",
            f"{B}\tÅland{weights}",
            f"{C}\t{A}{weights}",
        ]
        (folder / "web.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        printed(capsys, "import", "web.tsv", "--store", "one.db")
        printed(capsys, "export", "one.csv", "--edges", "--store", "one.db")
        printed(capsys, "import", "one.csv", "--store", "other.db")
        printed(capsys, "export", "other.csv", "--edges", "--store", "other.db")
        one, other = (
            sorted(Path(name).read_text().splitlines()) for name in ("one.csv", "other.csv")
        )
        assert one == other
        assert f"{B},Åland,{weights.strip() or 1}," in one

    def test_the_weights_of_an_imported_graph_of_hosts_are_its_numbers_of_links(
        self, capsys: Captured, folder: Path
    ) -> None:
        (folder / "hosts.tsv").write_text("1996|a|b\t7\n1996|b|c\t2\n")
        printed(capsys, "import", "hosts.tsv", "--store", "hosts.db")
        found = printed(capsys, "export", "-", "--edges", "--level", "host", "--store", "hosts.db")
        assert found.splitlines()[1:] == ["a,b,7", "b,c,2"]


class TestInfo:
    def test_the_graph_may_be_of_the_crawled_pages(self, folder: Path, capsys: Captured) -> None:
        filled_store(folder / "crawl.db")
        found = as_json(capsys, "graph", "--graph-of", "crawled")
        assert (found["nodes"], found["edges"], found["dangling"]) == (2, 3, 0)
        assert found["self_links"] == 1  # by a redirect
        known = as_json(capsys, "graph", "--graph-of", "known")
        assert (known["nodes"], known["edges"]) == (6, 6)

    def test_a_graph_is_described_in_a_few_numbers(self, capsys: Captured) -> None:
        assert printed(capsys, "graph", "--graph", "web.txt") == (
            "nodes              4, 1 without links\n"
            "links              5, 1 from a node to itself\n"
            "strong components  4; the largest has 1 node and 0 links\n"
            "weak components    1; the largest has 4 nodes\n"
            "bow-tie            core 1, in 1, out 2, tendrils 0, apart 0\n"
            "mean distance      1.333 links\n"
            "diameter           2\n"
            "reciprocity        0.0%\n"
            "triangles          1; the innermost core is the 2-core, which has 3 nodes\n"
            "PageRank           half of it is on 2 nodes\n"
            "links from a node  0-19: 4; at most 2\n"
            "links to a node    0-19: 4; at most 2\n"
        )

    @pytest.mark.slow
    def test_a_real_graph_is_measured_exactly(
        self, capsys: Captured, shared_graph: Callable[[str], Path]
    ) -> None:
        path = shared_graph("wiki-Vote.txt.gz")
        found = as_json(capsys, "graph", "--graph", str(path))
        assert (found["strong_components"], found["largest_strong"]) == (5816, 1300)
        assert (found["diameter"], found["is_exact"]) == (10, True)

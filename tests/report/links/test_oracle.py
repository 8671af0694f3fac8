"""Every command shows exactly the links of a small site with known links."""

import csv
import io
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import networkx
import pytest

from minicrawl.cli import main
from minicrawl.model import CRAWLED, GRAPHS
from tests.cli.calls import Captured, as_json
from tests.webs import crawl_web

HOST, OTHER = "http://a.example", "http://b.example"
LONG = "a long text that two pages have in common, word by word, so that they are one and the same"
PAGES = {
    "/": '<a href="/">home</a> <a href="#top">top</a> <a href="a">A</a> <a href="/a#x">again</a> '
    '<a href="/old">old</a> <a href="/copy">copy</a> <a href="/other">other</a> '
    f'<a rel="nofollow" href="/secret">no</a> <a href="{OTHER}/">away</a>',
    "/a": '<a href="">itself</a> <a href="/old">back by a redirect</a> <a href="/original">o</a>',
    "/original": f"<p>{LONG} <a href='/a'>A</a> <a href='/original'>this</a> <a href='/copy'>C</a>",
    "/copy": f"<p>{LONG} <a href='/a'>A</a> <a href='/original'>this</a> <a href='/copy'>C</a>",
    "/other": '<link rel="canonical" href="/a"><a href="/">up</a> <a href="/other">me</a> '
    '<a href="/only">only here</a>',
    "/only": '<a href="#here">a place</a> <a href="/gone">gone</a>',
    "/closed": '<meta name="robots" content="nofollow"><a href="/">up</a> <a href="/closed">me</a>',
}
MOVED = {"/old": "/a"}
LINKS = {
    *(("/", to) for to in ("/", "/a", "/old", "/copy", "/other", f"{OTHER}/")),
    *(("/a", to) for to in ("/a", "/old", "/original")),
    *(("/original", to) for to in ("/a", "/original", "/copy")),
    *(("/copy", to) for to in ("/a", "/original", "/copy")),
    *(("/other", to) for to in ("/", "/other", "/only")),
    ("/only", "/gone"),
}
"""Both links from `/` to `/a` are one row; links marked nofollow are omitted."""


def answer(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if request.url.host != "a.example":
        return httpx.Response(404)
    if path in MOVED:
        return httpx.Response(301, headers={"location": MOVED[path]})
    return httpx.Response(200, html=PAGES[path]) if path in PAGES else httpx.Response(404)


def full(path: str) -> str:
    return path if path.startswith("http") else f"{HOST}{path}"


WANTED = {(full(source), full(target)) for source, target in LINKS}


@pytest.fixture(scope="module", params=["greedy", "siblings"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("oracle") / "crawl.db"
    return crawl_web(path, answer, [f"{HOST}/", f"{HOST}/closed"], strategy=request.param)


def exported(store: Path, file: Path, *options: str) -> list[dict[str, str]]:
    args = ["export", str(file), "--edges", "--force", "--store", str(store), *options]
    assert main(args) == 0
    return list(csv.DictReader(io.StringIO(file.read_text())))


@pytest.mark.parametrize("raw", [False, True])
def test_exported_edges_are_the_links_of_the_pages(store: Path, tmp_path: Path, raw: bool) -> None:
    rows = exported(store, tmp_path / "links.csv", *["--raw"] * raw)
    pairs = [(row["source"], row["target"]) for row in rows]
    assert set(pairs) == WANTED
    assert raw or len(pairs) == len(WANTED)
    ends = {row["target"]: row["end"] for row in rows if row["end"]}
    assert ends.pop(f"{HOST}/old") == ends.pop(f"{HOST}/other") == f"{HOST}/a"
    assert ends in ({f"{HOST}/copy": f"{HOST}/original"}, {f"{HOST}/original": f"{HOST}/copy"})


def test_a_drawing_has_the_same_links(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "links.graphml"
    assert main(["export", str(file), "--store", str(store)]) == 0
    graph = networkx.read_graphml(file)
    url = networkx.get_node_attributes(graph, "label")
    assert {(url[one], url[other]) for one, other in graph.edges} == WANTED
    stands_for = networkx.get_node_attributes(graph, "stands_for")
    assert {url[node]: end for node, end in stands_for.items()}[f"{HOST}/old"] == f"{HOST}/a"


def test_hosts_have_the_links_of_their_pages(store: Path, tmp_path: Path) -> None:
    rows = exported(store, tmp_path / "hosts.csv", "--level", "host")
    counts = {(row["source"], row["target"]): int(row["weight"]) for row in rows}
    assert counts == {("a.example", "a.example"): len(WANTED) - 1, ("a.example", "b.example"): 1}


def test_the_view_links_has_the_same_links(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        found = connection.execute("SELECT source, target FROM links").fetchall()
    assert (len(found), set(found)) == (len(WANTED), WANTED)


@pytest.mark.parametrize("graph_of", GRAPHS)
def test_the_graph_counts_the_same_links(store: Path, graph_of: str, capsys: Captured) -> None:
    shown = as_json(capsys, "graph", "--graph-of", graph_of, "--store", store)
    wanted = WANTED
    if graph_of == CRAWLED:  # a link to the redirect counts for its target
        led = {(one, f"{HOST}/a" if other.endswith("/old") else other) for one, other in WANTED}
        wanted = {pair for pair in led if pair[1] not in (f"{HOST}/gone", f"{OTHER}/")}
    assert shown["edges"] == len(wanted)
    assert shown["self_links"] == sum(one == other for one, other in wanted)


def test_no_atom_is_missing(store: Path) -> None:
    assert main(["check", "--store", str(store)]) == 0

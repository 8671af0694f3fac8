"""Readers of each graph format read an exported graph back unchanged."""

import gzip
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import networkx
import pytest
from hypothesis import given, strategies as st

from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.report.files.drawings import (
    DrawingWriter as Writer,
    write_dot,
    write_gexf,
    write_graphml,
)
from minicrawl.report.files.graph_folder import (
    ADJACENCY,
    EDGES,
    VERTICES,
    refuse_folder,
    write_graph_folder,
)
from minicrawl.report.selected_graph import Drawing
from minicrawl.report.selected_pages import Block
from minicrawl.wording import visible
from tests.stores import filled_store

Node = tuple[str, float | None, int, str]
Link = tuple[int, int, int]


_DOT_TEXT = r'"((?:[^"\\]|\\.)*)"'


def drawing_of(nodes: Sequence[Node], links: Sequence[Link]) -> Drawing:
    """Return a drawing with its nodes and its links in two blocks each."""
    attributes = {"importance": float, "pages": int, "state": str}
    numbered = [(number, *node) for number, node in enumerate(nodes)]
    node_blocks = (
        columns(rows, "id", "label", *attributes) for rows in (numbered[:1], numbered[1:])
    )
    link_blocks = (columns(rows, "source", "target", "weight") for rows in (links[:2], links[2:]))
    return Drawing(attributes, node_blocks, link_blocks)


def columns(rows: Sequence[tuple[object, ...]], *names: str) -> Block:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def written(write: Writer, nodes: Sequence[Node], links: Sequence[Link]) -> bytes:
    file = io.BytesIO()
    write(drawing_of(nodes, links), file)
    return file.getvalue()


def read_dot(text: bytes) -> networkx.DiGraph:
    """Read the subset of DOT that `write_dot` uses: a statement per line, numbers as ids."""
    graph = networkx.DiGraph()
    lines = text.decode().split("\n")
    assert lines[0] == "digraph web {"
    assert lines[-2:] == ["}", ""]
    for line in lines[1:-2]:
        if link := re.fullmatch(r"(\d+) -> (\d+)(?: \[weight=(\d+)\])?;", line):
            weight = {"weight": int(link[3])} if link[3] else {}
            graph.add_edge(link[1], link[2], **weight)
            continue
        node = re.fullmatch(
            rf"(\d+) \[({_DOT_TEXT}={_DOT_TEXT}(?:, {_DOT_TEXT}={_DOT_TEXT})*)\];", line
        )
        assert node, line
        facts = {
            key: unescaped(value) for key, value in re.findall(f"{_DOT_TEXT}={_DOT_TEXT}", node[2])
        }
        numbers: dict[str, Callable[[str], object]] = {"importance": float, "pages": int}
        graph.add_node(node[1], **{key: numbers.get(key, str)(text) for key, text in facts.items()})
    return graph


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


READERS: dict[Writer, Callable[[bytes], networkx.DiGraph]] = {
    write_graphml: networkx.parse_graphml,
    write_gexf: lambda text: networkx.read_gexf(io.BytesIO(text), version="1.3"),
    write_dot: read_dot,
}


def expected(nodes: Sequence[Node], links: Sequence[Link]) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    for number, (label, importance, pages, state) in enumerate(nodes):
        facts: dict[str, object] = {"label": visible(label), "pages": pages, "state": state}
        graph.add_node(
            str(number), **facts | ({} if importance is None else {"importance": importance})
        )
    for source, target, weight in links:
        graph.add_edge(str(source), str(target), **({} if weight == 1 else {"weight": weight}))
    return graph


def links_of(graph: networkx.DiGraph) -> list[tuple[str, str, float]]:
    return sorted(graph.edges.data("weight", default=1))


@pytest.mark.slow
@pytest.mark.parametrize("write", READERS)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=20),
            st.none() | st.floats(0, 1),
            st.integers(0, 1 << 40),
            st.text(max_size=5),
        ),
        max_size=5,
    ),
    st.data(),
)
def test_no_text_breaks_out_of_its_quotes(
    write: Writer, nodes: list[Node], data: st.DataObject
) -> None:
    ends = st.integers(0, len(nodes) - 1)
    some = st.tuples(ends, ends, st.integers(1, 1 << 40))
    some_links = st.lists(some, max_size=6, unique_by=lambda link: link[:2])
    links = data.draw(some_links) if nodes else []
    nodes = [(*node[:3], visible(node[3])) for node in nodes]
    found = _trimmed(READERS[write](written(write, nodes, links)))
    wanted = _trimmed(expected(nodes, links))
    assert found.is_directed()
    assert dict(found.nodes(data=True)) == dict(wanted.nodes(data=True))
    assert links_of(found) == links_of(wanted)


def _trimmed(graph: networkx.DiGraph) -> networkx.DiGraph:
    """Remove empty texts, which the readers of networkx cannot tell from missing ones."""
    for _, facts in graph.nodes(data=True):
        for key in [key for key, value in facts.items() if value in ("", None)]:
            del facts[key]
    return graph


def test_a_folder_has_numbered_vertices_and_edges(tmp_path: Path) -> None:
    names = ["www.b.example", "a.example", "10.0.0.1", "b.example"]
    nodes: list[Node] = [(name, None, 1, "") for name in names]
    links = [(0, 1, 3), (1, 0, 1), (0, 3, 1), (3, 3, 2), (2, 0, 1)]
    for folder in (tmp_path / "graph", tmp_path / "again"):
        assert write_graph_folder(drawing_of(nodes, links), folder, of_hosts=True) == len(links)
        with pytest.raises(UsageError, match="--force"):
            refuse_folder(folder, force=False)
    files = {path.name: path.read_bytes() for path in (tmp_path / "graph").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    vertices = gzip.decompress(files[VERTICES]).decode()
    assert vertices == "0\t10.0.0.1\n1\texample.a\n2\texample.b\n3\texample.b.www\n"
    edges = gzip.decompress(files[EDGES]).decode()
    assert edges == "0\t3\n1\t3\n2\t2\n3\t1\n3\t2\n"
    assert files[ADJACENCY].decode() == "4\n3\n3\n2\n1 2\n"


@pytest.mark.parametrize("level", ["page", "host"])
def test_a_store_is_exported_as_a_folder(
    level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    filled_store(tmp_path / "crawl.db")
    export = ["export", "graph/", "--store", "crawl.db", "--level", level]
    assert main(export) == 0
    assert main(export) == 2
    assert main([*export, "--force"]) == 0
    number, *rows = (tmp_path / "graph" / ADJACENCY).read_text().splitlines()
    vertices = gzip.decompress((tmp_path / "graph" / VERTICES).read_bytes()).decode().splitlines()
    assert int(number) == len(rows) == len(vertices)
    assert vertices[0].endswith("example.a" if level == "host" else "http://a.example/")
    lines = gzip.decompress((tmp_path / "graph" / EDGES).read_bytes()).decode().split()
    assert len(lines) == 2 * sum(len(row.split()) for row in rows) > 0

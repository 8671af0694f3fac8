"""A graph file is a graph with names, or refused in one line."""

import gzip
from pathlib import Path

import pytest

from minicrawl.analysis import graphfile
from minicrawl.errors import GraphFileError

TEXT = b"# a web\n10 20\n20 10\n20 30\n"


def test_nodes_are_called_as_in_the_file_plain_or_compressed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "web.txt", tmp_path / "web.txt.gz"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT))
    for path in (plain, packed):
        named = graphfile.read(path)
        assert named.graph.adjacency() == [[1], [0, 2], []]
        assert named.names.of([0, 1, 2]) == ["10", "20", "30"]
        assert named.weights is None


@pytest.mark.parametrize("content", [b"1 2\nhello\n", gzip.compress(TEXT)[:-9], b""])
def test_a_file_that_is_no_graph_is_named_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "web.gz"
    path.write_bytes(content)
    with pytest.raises(GraphFileError) as refused:
        graphfile.read(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)

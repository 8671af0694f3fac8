import gzip
from pathlib import Path

import pytest

from minicrawl.errors import GraphFileError
from minicrawl.lab.webs import Model, synthetic_web, web_from_file


@pytest.mark.parametrize("model", Model)
def test_the_same_seed_gives_the_same_web(model: Model) -> None:
    one, same, other = (synthetic_web(model, 500, seed) for seed in (1, 1, 2))
    assert one.graph.nodes == 500
    assert list(one.graph.targets) == list(same.graph.targets) != list(other.graph.targets)
    assert list(one.host) == list(same.host)


def test_a_web_is_read_from_an_edge_list_plain_or_compressed(tmp_path: Path) -> None:
    text = b"# a web\n10 20\n20 10\n20 30\n"
    plain, packed = tmp_path / "web.txt", tmp_path / "web.txt.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    for path in (plain, packed):
        graph = web_from_file(path).graph
        assert graph.adjacency() == [[1], [0, 2], []]


def test_where_nothing_is_known_of_hosts_each_page_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "web.txt"
    path.write_text("1 2\n2 3\n")
    assert list(web_from_file(path).host) == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("web.txt", b"1 2\nhello\n"),
        ("not-compressed.gz", b"1 2\n2 1\n"),
        ("cut-short.gz", gzip.compress(b"1 2\n" * 1000)[:-20]),
        ("broken.gz", gzip.compress(b"1 2\n" * 1000)[:30] + b"\0" * 30),
        ("empty.txt", b""),
    ],
)
def test_a_file_that_is_no_graph_is_named_in_one_line(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(GraphFileError) as refused:
        web_from_file(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(GraphFileError, match=r"absent\.txt"):
        web_from_file(tmp_path / "absent.txt")

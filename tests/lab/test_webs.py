from pathlib import Path

import pytest

from minicrawl.errors import GraphFileError
from minicrawl.graphfiles import read
from minicrawl.lab.webs import Model, synthetic_web, web_of


@pytest.mark.parametrize("model", Model)
def test_the_same_seed_gives_the_same_web(model: Model) -> None:
    one, same, other = (synthetic_web(model, 500, seed) for seed in (1, 1, 2))
    assert one.graph.nodes == 500
    assert list(one.graph.targets) == list(same.graph.targets) != list(other.graph.targets)
    assert list(one.host) == list(same.host)


def test_pages_without_urls_are_on_one_host(tmp_path: Path) -> None:
    path = tmp_path / "web.txt"
    path.write_text("10 20\n20 10\n20 30\n")
    web = web_of(read(path), path)
    assert web.graph.adjacency() == [[1], [0, 2], []]
    assert list(web.host) == list(web.site) == [0, 0, 0]
    assert not web.has_hosts


def test_the_hosts_of_urls_and_their_sites_are_known(tmp_path: Path) -> None:
    path = tmp_path / "web.tsv"
    path.write_text("http://a.x.org/1\thttp://b.x.org/\nhttp://b.x.org/\thttp://a.x.org/2\n")
    web = web_of(read(path), path)
    assert list(web.host) == [0, 1, 0]
    assert list(web.site) == [0, 0, 0]
    assert web.has_hosts


@pytest.mark.parametrize("content", ["7 7\n", "1 2\nhello\n", ""])
def test_a_file_without_a_usable_web_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "web.txt"
    path.write_text(content)
    with pytest.raises(GraphFileError, match=r"web\.txt"):
        web_of(read(path), path)

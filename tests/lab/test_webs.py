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


def test_a_web_is_read_from_a_graph_file_and_a_page_without_url_is_its_own_host(
    tmp_path: Path,
) -> None:
    path = tmp_path / "web.txt"
    path.write_text("10 20\n20 10\n20 30\n")
    web = web_from_file(path)
    assert web.graph.adjacency() == [[1], [0, 2], []]
    assert list(web.host) == [0, 1, 2]


def test_the_hosts_of_urls_are_known(tmp_path: Path) -> None:
    path = tmp_path / "web.tsv"
    path.write_text("http://a/1\thttp://b/\nhttp://b/\thttp://a/2\n")
    assert list(web_from_file(path).host) == [0, 1, 0]


@pytest.mark.parametrize("content", ["7 7\n", "1 2\nhello\n", ""])
def test_what_no_experiment_can_run_on_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "web.txt"
    path.write_text(content)
    with pytest.raises(GraphFileError, match=r"web\.txt"):
        web_from_file(path)

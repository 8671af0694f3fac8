"""The graph of a store: its latest links, with moved pages replaced by their targets."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.ports import Progress
from minicrawl.report.graph.source import Source, opened
from minicrawl.store.records import StoreTerms
from tests.ranks.graphs import links_in
from tests.stores import DEEP, MOVED, A, B, C, HandCrawl, filled_store


def links(source: Source) -> list[list[int]]:
    return source.graph.graph.adjacency()


def test_two_links_that_meet_behind_a_redirect_are_one(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A, [MOVED, B, C])
        crawl.moved(MOVED, C)
    assert links_in(crawl.path) == {(A, B), (A, C), (MOVED, C)}


def test_loading_links_reports_progress(filled: Path) -> None:
    told: list[float] = []

    @contextmanager
    def progress(label: str) -> Iterator[Progress]:
        assert label == "links"
        yield told.append

    with opened(filled, None, progress) as source:
        assert told == []  # links are loaded on first use
        assert source.graph is source.graph
    assert told == [1.0]


def test_a_store_without_links_or_pages_is_refused(tmp_path: Path) -> None:
    without_links = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
    with closing(HandCrawl(tmp_path / "empty.db")) as empty:
        pass
    for path, said in ((without_links, "--no-links"), (empty.path, "no page")):
        with opened(path, None) as source, pytest.raises(UsageError, match=said):
            links(source)


def test_a_store_may_have_pages_and_no_links_and_origins_with_one_host_name_are_one_host(
    path: Path,
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B, "https://a.example/login", "http://a.example:8080/"])
    with opened(crawl.path, None) as source:
        assert links(source) == [[], [], [], []]
        of_node, names = source.graph.names.hosts()
    assert names == ["a.example", "b.example"]
    assert of_node.tolist() == [0, 1, 0, 0]


def test_a_page_is_found_by_any_spelling_of_its_url(filled: Path) -> None:
    with opened(filled, None) as source:
        wanted = [B, "http://A.example#top", "http://d.example/", "no url", DEEP, B]
        assert source.graph.names.find(wanted) == [1, 0, None, None, 3, 1]
        assert source.graph.names.find([]) == []


def test_a_graph_file_takes_the_place_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "web.txt"
    path.write_text("1 2\n2 3\n")
    with opened(tmp_path / "absent.db", path) as source:
        assert source.snapshot is None
        assert links(source) == [[1], [2], []]

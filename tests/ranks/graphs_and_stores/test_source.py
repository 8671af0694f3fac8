"""The graph of a store: its latest links, with moved pages replaced by their targets."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.ports import Progress
from minicrawl.report.store_graph import Source, opened
from minicrawl.store.records import StoreTerms
from tests.ranks.graphs import links_in
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store

SECURE, ELSEWHERE = "https://a.example/login", "http://a.example:8080/"


def links(source: Source) -> list[list[int]]:
    return source.graph.graph.adjacency()


class TestLinks:
    def test_a_link_to_a_moved_page_leads_to_its_target(self, tmp_path: Path) -> None:
        assert links_in(filled_store(tmp_path / "crawl.db")) == {
            *((A, B), (A, DEEP)),  # and the link to MOVED leads back to A
            *((B, A), (B, C), (B, GONE)),
            (MOVED, A),
        }

    def test_two_links_that_meet_behind_a_redirect_are_one(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [MOVED, B, C])
            crawl.moved(MOVED, C)
        assert links_in(crawl.path) == {(A, B), (A, C), (MOVED, C)}

    def test_a_page_that_was_read_again_has_its_latest_links(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C])
            crawl.read(A, [C, DEEP])
        assert links_in(crawl.path) == {(A, C), (A, DEEP)}

    def test_loading_links_reports_progress(self, tmp_path: Path) -> None:
        told: list[float] = []

        @contextmanager
        def progress(label: str) -> Iterator[Progress]:
            assert label == "links"
            yield told.append

        with opened(filled_store(tmp_path / "crawl.db"), None, progress) as source:
            assert told == []  # links are loaded on first use
            assert source.graph is source.graph
        assert told == [1.0]

    def test_a_store_without_links_is_refused(self, tmp_path: Path) -> None:
        path = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
        with opened(path, None) as source, pytest.raises(UsageError, match="--no-links"):
            links(source)

    def test_a_store_without_pages_is_refused(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            pass
        with opened(crawl.path, None) as source, pytest.raises(UsageError, match="no page yet"):
            links(source)

    def test_a_store_may_have_pages_and_no_links(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B])
        with opened(crawl.path, None) as source:
            assert links(source) == [[], []]


class TestNames:
    def test_a_page_is_found_by_any_spelling_of_its_url(self, tmp_path: Path) -> None:
        with opened(filled_store(tmp_path / "crawl.db"), None) as source:
            wanted = [B, "http://A.example#top", "http://d.example/", "no url", DEEP, B]
            assert source.graph.names.find(wanted) == [1, 0, None, None, 3, 1]
            assert source.graph.names.find([]) == []

    def test_origins_with_one_host_name_are_one_host(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B, SECURE, ELSEWHERE])
        with opened(crawl.path, None) as source:
            of_node, names = source.graph.names.hosts()
            assert [names[host] for host in of_node] == [
                *("a.example", "b.example"),
                *("a.example", "a.example"),
            ]
            assert len(names) == 2


def test_a_graph_file_takes_the_place_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "web.txt"
    path.write_text("1 2\n2 3\n")
    with opened(tmp_path / "absent.db", path) as source:
        assert source.snapshot is None
        assert links(source) == [[1], [2], []]

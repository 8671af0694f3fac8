"""The graph of a store is that of its links as they count now."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.progress import Progress
from minicrawl.report.store_graph import Source, opened
from minicrawl.store.records import StoreTerms
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store

SECURE, ELSEWHERE = "https://a.example/login", "http://a.example:8080/"


def links(source: Source) -> list[list[int]]:
    return source.graph.graph.adjacency()


def links_of(store: Path) -> set[tuple[str, str]]:
    with opened(store, None) as source:
        graph, names = source.graph.graph, source.graph.names
        pairs = zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)
        return {(giver, end) for pair in pairs for giver, end in [names.of(pair)]}


class TestLinks:
    def test_a_link_to_a_page_that_moved_leads_to_where_it_stands(self, tmp_path: Path) -> None:
        assert links_of(filled_store(tmp_path / "crawl.db")) == {
            *((A, B), (A, DEEP)),  # and the link to MOVED leads back to A
            *((B, A), (B, C), (B, GONE)),
            (MOVED, A),
        }

    def test_two_links_that_meet_behind_a_redirect_are_one(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [MOVED, B, C])
            crawl.moved(MOVED, C)
        assert links_of(crawl.path) == {(A, B), (A, C), (MOVED, C)}

    def test_a_page_that_was_read_again_has_the_links_of_the_last_time(
        self, tmp_path: Path
    ) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C])
            crawl.read(A, [C, DEEP])
        assert links_of(crawl.path) == {(A, C), (A, DEEP)}

    def test_every_page_that_is_known_is_a_node(self, tmp_path: Path) -> None:
        with opened(filled_store(tmp_path / "crawl.db"), None) as source:
            assert source.graph.graph.nodes == len(source.graph.names) == 6
            assert source.graph.weights is None

    def test_what_is_read_is_told(self, tmp_path: Path) -> None:
        told: list[float] = []

        @contextmanager
        def progress(label: str) -> Iterator[Progress]:
            assert label == "links"
            yield told.append

        with opened(filled_store(tmp_path / "crawl.db"), None, progress) as source:
            assert told == []  # links are loaded when they are asked for
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

    def test_pages_may_be_known_before_any_was_read(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B])
        with opened(crawl.path, None) as source:
            assert links(source) == [[], []]


class TestNames:
    def test_pages_are_called_by_their_urls_in_any_order_and_more_than_once(
        self, tmp_path: Path
    ) -> None:
        with opened(filled_store(tmp_path / "crawl.db"), None) as source:
            assert source.graph.names.of([1, 0, 1]) == [B, A, B]
            assert source.graph.names.of([]) == []

    def test_a_page_is_found_by_what_a_person_writes(self, tmp_path: Path) -> None:
        with opened(filled_store(tmp_path / "crawl.db"), None) as source:
            wanted = [B, "http://A.example#top", "http://d.example/", "no url", DEEP, B]
            assert source.graph.names.find(wanted) == [1, 0, None, None, 3, 1]
            assert source.graph.names.find([]) == []

    def test_origins_of_one_name_are_one_host(self, tmp_path: Path) -> None:
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

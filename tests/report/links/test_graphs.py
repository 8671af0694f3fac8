"""Exported graphs of pages and of hosts, with redirects followed."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.errors import UsageError
from minicrawl.model import State
from minicrawl.opic.money import PARTS
from minicrawl.report import selected_pages as graphs
from minicrawl.report.selected_pages import Block, HostGraph, PageGraph, PageSelection
from minicrawl.report.snapshot import snapshot
from minicrawl.store.derived import RankRow, keep_ranks
from minicrawl.store.records import StoreTerms
from tests.stores import DEEP, GONE, MOVED, NOON, A, B, C, HandCrawl, filled_store

ALL = PageSelection()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def rows(blocks: Iterable[Block]) -> list[tuple[Any, ...]]:
    return [row for block in blocks for row in zip(*block.values(), strict=True)]


def named(
    kind: type[PageGraph] | type[HostGraph], store: Path, choice: PageSelection = ALL
) -> set[object]:
    with snapshot(store) as seen:
        found = rows(kind(seen, choice).named_links())
    assert len(set(found)) == len(found)
    return set(found)


class TestPages:
    def test_every_link_of_a_page_is_an_edge(self, store: Path) -> None:
        assert named(PageGraph, store) == {
            (A, B, 1, ""),
            (A, MOVED, 1, A),
            (A, DEEP, 1, ""),
            (B, A, 1, ""),
            (B, C, 1, ""),
            (B, GONE, 1, ""),
        }

    def test_a_link_and_a_link_by_a_redirect_are_two_edges(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B, MOVED])
            crawl.moved(MOVED, A)
            crawl.read(B, [A, MOVED, C], weights=[3, 5, 1])
        wanted = {(B, A, 3, ""), (B, MOVED, 5, A), (B, C, 1, "")}
        assert named(PageGraph, crawl.path) == wanted

    def test_in_a_drawing_without_the_redirect_both_links_are_one_edge(
        self, tmp_path: Path
    ) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B, MOVED])
            crawl.read(A)
            crawl.moved(MOVED, A)
            crawl.read(B, [A, MOVED, C], weights=[3, 5, 1])
        with snapshot(crawl.path) as seen:
            drawing = PageGraph(seen, PageSelection(fetched=True)).drawing()
            assert rows(drawing.links) == [(1, 0, 3)]
            assert len(rows(PageGraph(seen, ALL).drawing().links)) == 3

    def test_links_without_cash_have_the_usual_weight(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B, C])
            crawl.read(A, [A, B])
            crawl.read(B, [A, B], weights=[PARTS])
            crawl.moved(C, A, State.ALIAS, links=[B, C])
        assert named(PageGraph, crawl.path) == {
            *((A, A, 1, ""), (A, B, 1, "")),
            *((B, A, PARTS, ""), (B, B, PARTS, "")),
            *((C, B, 1, ""), (C, C, 1, A)),
        }

    def test_edges_have_the_weights_of_the_spendings(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B, C])
            crawl.read(A, [B, C], weights=[3, 5])
            crawl.read(B, [A, C], focus=[1, 2])
            crawl.read(C, [A])
        assert named(PageGraph, crawl.path) == {
            (A, B, 3, ""),
            (A, C, 5, ""),
            (B, A, 1, ""),
            (B, C, 1, ""),
            (C, A, 1, ""),
        }

    def test_edges_connect_selected_pages_only(self, store: Path) -> None:
        assert named(PageGraph, store, PageSelection(fetched=True)) == {
            *((A, B, 1, ""), (A, MOVED, 1, A), (B, A, 1, ""))
        }
        of_host = named(PageGraph, store, PageSelection(host="a.example"))
        assert of_host == {(A, DEEP, 1, ""), (A, MOVED, 1, A)}
        assert len(named(PageGraph, store, PageSelection(count=1))) <= 1

    def test_nodes_are_sorted_by_importance(self, store: Path) -> None:
        with snapshot(store) as seen:
            drawing = PageGraph(seen, ALL).drawing()
            found = rows(drawing.nodes)
            importance = seen.importance
        texts = dict.fromkeys(("host", "state", "stands_for"), str)
        assert drawing.attributes == {"importance": float} | texts
        assert [row[0] for row in found] == np.argsort(-importance, kind="stable").tolist()
        labels = {row[1]: row[2:] for row in found}
        assert labels[A] == (importance[0], "a.example", "fetched", "")
        assert labels[MOVED][3] == A
        assert labels[GONE][2] == "not-found"

    def test_edges_of_a_drawing_connect_ids_of_its_nodes(self, store: Path) -> None:
        with snapshot(store) as seen:
            graph = PageGraph(seen, ALL)
            drawing = graph.drawing()
            label = {row[0]: row[1] for row in rows(drawing.nodes)}
            links = {
                (label[one], label[other], weight) for one, other, weight in rows(drawing.links)
            }
            assert links == {row[:3] for row in rows(graph.named_links())}

    def test_saved_ranks_are_attributes(self, store: Path) -> None:
        row = RankRow("hubs", "{}", NOON, 1, nodes=5, edges=6, iterations=0, error_bound=0.0,
                      converged=True)  # fmt: skip
        with snapshot(store) as seen:
            keep_ranks(store, seen.connection, [(row, np.array([0.5, 0.25, 0.25, 0, 0]))])
            drawing = PageGraph(seen, ALL, ["hubs"]).drawing()
            assert drawing.attributes["rank_hubs"] is float
            scores = {node[0]: node[-1] for node in rows(drawing.nodes)}
            assert scores == {0: 0.5, 1: 0.25, 2: 0.25, 3: 0, 4: 0, 5: None}
            hosts = HostGraph(seen, ALL, ["hubs"]).drawing()
            assert sum(node[-1] for node in rows(hosts.nodes)) == 1

    def test_the_graph_does_not_depend_on_the_block_size(
        self, store: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = named(PageGraph, store), named(HostGraph, store)
        monkeypatch.setattr(graphs, "_ROWS_AT_ONCE", 1)
        monkeypatch.setattr(graphs, "_PAIRS_AT_ONCE", 0)
        assert (named(PageGraph, store), named(HostGraph, store)) == whole


class TestHosts:
    def test_the_weight_of_an_edge_is_the_number_of_links(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, DEEP])
            crawl.read(A, [B, C, DEEP])
            crawl.read(DEEP, [B, GONE, "https://c.example:8443/"])
        assert named(HostGraph, crawl.path) == {
            ("a.example", "a.example", 1),
            ("a.example", "b.example", 3),
            ("a.example", "c.example", 2),
        }

    def test_hosts_have_the_sums_of_their_pages(self, store: Path) -> None:
        with snapshot(store) as seen:
            drawing = HostGraph(seen, ALL).drawing()
            found = {label: facts for _, label, *facts in rows(drawing.nodes)}
            importance = seen.importance
        assert drawing.attributes == {"importance": float, "pages": int}
        pages = {host: count for host, (_, count) in found.items()}
        assert pages == {"a.example": 3, "b.example": 2, "c.example": 1}
        assert sum(facts[0] for facts in found.values()) == pytest.approx(importance.sum())

    def test_hosts_without_selected_pages_are_omitted(self, store: Path) -> None:
        with snapshot(store) as seen:
            nodes = rows(HostGraph(seen, PageSelection(fetched=True)).drawing().nodes)
        assert {label for _, label, *_ in nodes} == {"a.example", "b.example"}


@pytest.mark.parametrize("kind", [PageGraph, HostGraph])
class TestBoth:
    def test_progress_rises_to_1(
        self, store: Path, kind: type[PageGraph] | type[HostGraph]
    ) -> None:
        facts: list[float] = []
        with snapshot(store) as seen:
            drawing = kind(seen, ALL, tell=facts.append).drawing()
            assert rows(drawing.nodes)
            assert rows(drawing.links)
            assert facts == sorted(facts)
            assert facts.pop() == 1
            list(kind(seen, ALL, tell=facts.append).named_links())
            assert facts[-1] == 1

    def test_an_empty_store_has_an_empty_graph(
        self, tmp_path: Path, kind: type[PageGraph] | type[HostGraph]
    ) -> None:
        with closing(HandCrawl(tmp_path / "new.db")) as crawl:
            pass
        with snapshot(crawl.path) as seen:
            drawing = kind(seen, ALL).drawing()
            assert rows(drawing.nodes) == rows(drawing.links) == []

    def test_a_store_without_links_is_refused(
        self, tmp_path: Path, kind: Callable[..., object]
    ) -> None:
        path = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
        with snapshot(path) as seen, pytest.raises(UsageError, match="--no-links"):
            kind(seen, ALL)

"""Exported graphs of pages and of hosts, with redirects followed."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.opic.ledger.money import PARTS
from minicrawl.report.selected_graph import HostGraph, PageGraph
from minicrawl.report.selected_pages import Block, PageSelection
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.states import State
from minicrawl.store.derived.ranks import RankRow, keep_ranks
from tests.stores import DEEP, GONE, MOVED, NOON, A, B, C, HandCrawl

ALL = PageSelection()
Kind = type[PageGraph] | type[HostGraph]


def rows(blocks: Iterable[Block]) -> list[tuple[Any, ...]]:
    return [row for block in blocks for row in zip(*block.values(), strict=True)]


def named(graph: PageGraph | HostGraph) -> set[tuple[Any, ...]]:
    found = rows(graph.named_links())
    assert len(set(found)) == len(found)
    return set(found)


def spendings(crawl: HandCrawl) -> None:
    crawl.read(A, [B, C], weights=[3, 5])
    crawl.read(B, [A, C], focus=[1, 2])


def links_by_a_redirect(crawl: HandCrawl) -> None:
    crawl.moved(C, A)
    crawl.read(B, [A, C, DEEP], weights=[3, 5, 1])


def links_without_cash(crawl: HandCrawl) -> None:
    crawl.read(A, [A, B])
    crawl.read(B, [A, B], weights=[PARTS])
    crawl.moved(C, A, State.ALIAS, links=[B, C])


EDGES: dict[Callable[[HandCrawl], None], set[tuple[Any, ...]]] = {
    spendings: {(A, B, 3, ""), (A, C, 5, ""), (B, A, 1, ""), (B, C, 1, "")},
    links_by_a_redirect: {(B, A, 3, ""), (B, C, 5, A), (B, DEEP, 1, "")},
    links_without_cash: {
        *((A, A, 1, ""), (A, B, 1, "")),
        *((B, A, PARTS, ""), (B, B, PARTS, "")),
        *((C, B, 1, ""), (C, C, 1, A)),
    },
}


@pytest.mark.parametrize("event", EDGES)
def test_edges_have_the_weights_of_their_links(
    event: Callable[[HandCrawl], None], path: Path
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B, C])
        event(crawl)
    with snapshot(crawl.path) as seen:
        assert named(PageGraph(seen, ALL)) == EDGES[event]


def test_in_a_drawing_without_the_redirect_both_links_are_one_edge(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B, C])
        crawl.read(A)
        links_by_a_redirect(crawl)
    with snapshot(crawl.path) as seen:
        assert rows(PageGraph(seen, PageSelection(fetched=True)).drawing().links) == [(1, 0, 3)]
        assert len(rows(PageGraph(seen, ALL).drawing().links)) == 3


def test_edges_connect_selected_pages_only(seen: Snapshot) -> None:
    for selection, wanted in (
        (PageSelection(fetched=True), {(A, B, 1, ""), (A, MOVED, 1, A), (B, A, 1, "")}),
        (PageSelection(host="a.example"), {(A, DEEP, 1, ""), (A, MOVED, 1, A)}),
    ):
        assert named(PageGraph(seen, selection)) == wanted
    assert len(named(PageGraph(seen, PageSelection(count=1)))) <= 1


def test_nodes_are_sorted_by_importance_and_edges_connect_their_ids(seen: Snapshot) -> None:
    graph = PageGraph(seen, ALL)
    drawing = graph.drawing()
    found = rows(drawing.nodes)
    label = {row[0]: row[1] for row in found}
    links = {(label[one], label[other], w) for one, other, w in rows(drawing.links)}
    assert links == {row[:3] for row in named(graph)}
    texts = dict.fromkeys(("host", "state", "stands_for"), str)
    assert drawing.attributes == {"importance": float} | texts
    assert [row[0] for row in found] == np.argsort(-seen.importance, kind="stable").tolist()
    facts = {row[1]: row[2:] for row in found}
    assert facts[A] == (seen.importance[0], "a.example", "fetched", "")
    assert facts[MOVED][3] == A
    assert facts[GONE][2] == "not-found"


def test_hosts_have_the_sums_of_their_pages(seen: Snapshot) -> None:
    drawing = HostGraph(seen, ALL).drawing()
    found = {label: facts for _, label, *facts in rows(drawing.nodes)}
    assert drawing.attributes == {"importance": float, "pages": int}
    pages = {host: count for host, (_, count) in found.items()}
    assert pages == {"a.example": 3, "b.example": 2, "c.example": 1}
    assert sum(facts[0] for facts in found.values()) == pytest.approx(seen.importance.sum())
    nodes = rows(HostGraph(seen, PageSelection(fetched=True)).drawing().nodes)
    assert {label for _, label, *_ in nodes} == {"a.example", "b.example"}


def test_saved_ranks_are_attributes(seen: Snapshot) -> None:
    row = RankRow("hubs", "{}", NOON, 1, nodes=5, edges=6, iterations=0, error_bound=0.0,
                  converged=True)  # fmt: skip
    keep_ranks(seen.path, seen.connection, [(row, np.array([0.5, 0.25, 0.25, 0, 0]))])
    drawing = PageGraph(seen, ALL, ["hubs"]).drawing()
    assert drawing.attributes["rank_hubs"] is float
    scores = {node[0]: node[-1] for node in rows(drawing.nodes)}
    assert scores == {0: 0.5, 1: 0.25, 2: 0.25, 3: 0, 4: 0, 5: None}
    hosts = HostGraph(seen, ALL, ["hubs"]).drawing()
    assert sum(node[-1] for node in rows(hosts.nodes)) == 1


@pytest.mark.parametrize("kind", [PageGraph, HostGraph])
def test_the_graph_does_not_depend_on_the_block_size_and_progress_rises_to_1(
    seen: Snapshot, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    def links() -> set[tuple[Any, ...]]:
        shares: list[float] = []
        drawing = kind(seen, ALL, progress=shares.append).drawing()
        assert rows(drawing.nodes)
        assert rows(drawing.links)
        assert (shares, shares[-1]) == (sorted(shares), 1)
        shares.clear()
        found = named(kind(seen, ALL, progress=shares.append))
        assert shares[-1] == 1
        return found

    usual = links()
    monkeypatch.setattr("minicrawl.report.selected_graph.ROWS_AT_ONCE", 1)
    monkeypatch.setattr("minicrawl.report.selected_graph.PAIRS_AT_ONCE", 0)
    assert links() == usual


@pytest.mark.parametrize("kind", [PageGraph, HostGraph])
def test_an_empty_store_has_an_empty_graph(tmp_path: Path, kind: Kind) -> None:
    with closing(HandCrawl(tmp_path / "new.db")) as crawl:
        pass
    with snapshot(crawl.path) as seen:
        drawing = kind(seen, ALL).drawing()
        assert rows(drawing.nodes) == rows(drawing.links) == []

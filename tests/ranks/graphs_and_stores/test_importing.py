"""An imported graph becomes a store like any other, and overwrites none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from minicrawl.crawl.imports import graph_import
from minicrawl.crawl.imports.graph_import import Imported, import_graph
from minicrawl.crawl.refinement.converged_ranks import refine
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.report.graph.source import opened
from minicrawl.report.integrity.audit import audit
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.selected_pages import PageSelection, rows
from minicrawl.report.snapshot import page_of, snapshot
from minicrawl.report.states.explanation import explain
from minicrawl.states import State
from minicrawl.store.reader import reading
from minicrawl.store.tables import last_step
from tests.graph.graphs import Link, links_of, nodes_and_links
from tests.ranks.graphs import links_in, named
from tests.stores import NOON

A, B, C = "http://a.example/", "http://a.example/b", "http://c.example/"
NAMES = [A, B, C, "www.d.example", "Åland"]
# A and B link to each other and to C, Åland to www.d.example; C and www.d.example link nowhere.
LINKS = [(0, 1), (0, 2), (1, 0), (1, 2), (4, 3), (1, 1)]


def imported(path: Path, graph: NamedGraph) -> Imported:
    return import_graph(graph, path, "web.txt", NOON)


@pytest.fixture
def web(tmp_path: Path) -> Path:
    return imported(tmp_path / "web.db", named(NAMES, LINKS)).store


def test_links_are_those_of_the_graph_but_for_self_links(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    found = imported(path, named(NAMES, LINKS))
    assert found == Imported(pages=5, links=5, read=3, merged=0, self_links=1, store=path)
    assert links_in(path) == {(NAMES[one], NAMES[other]) for one, other in LINKS if one != other}
    assert list(tmp_path.iterdir()) == [path]
    assert audit(path).notes == []


def test_pages_with_links_count_as_read_and_others_as_unread(web: Path) -> None:
    said = status(web)
    assert (said.pages_known, said.pages_fetched, said.pages_unread, said.hosts) == (5, 3, 2, 4)
    assert said.requests is None
    with snapshot(web) as seen:
        states = {row.url: (row.state, row.status, row.host) for row in rows(seen, PageSelection())}
    assert states == {
        A: ("fetched", None, "a.example"),
        B: ("fetched", None, "a.example"),
        C: ("unread", None, "c.example"),
        "www.d.example": ("unread", None, "www.d.example"),
        "Åland": ("fetched", None, "Åland"),
    }


def test_ranks_can_be_refined_and_pages_explained(web: Path) -> None:
    refine(web)
    with snapshot(web) as seen:
        found, other = explain(seen, "Åland"), explain(seen, "www.d.example")
    assert (found.state, found.status) == ("fetched", None)
    assert "web.txt" in found.reasons[-1]
    assert "no links" in other.reasons[0]
    assert audit(web).wrong == []


def test_a_page_is_found_by_its_name_and_by_other_spellings_of_its_url(tmp_path: Path) -> None:
    imported(tmp_path / "web.db", named([*NAMES, f"{C}?utm_source=x"], LINKS))
    with snapshot(tmp_path / "web.db") as seen:
        assert page_of(seen, "www.d.example") == 3
        assert page_of(seen, "HTTP://A.EXAMPLE/b#part") == 1
        assert page_of(seen, f"{C}?utm_source=x") == 5
        with pytest.raises(UsageError, match="nobody"):
            page_of(seen, "nobody")


def test_names_that_are_one_url_become_one_page(tmp_path: Path) -> None:
    spelled = ["http://a.example", "http://A.example/", C]
    found = imported(tmp_path / "web.db", named(spelled, [(0, 2), (1, 2), (2, 0), (0, 1)]))
    assert (found.pages, found.links, found.merged) == (2, 2, 1)
    assert links_in(tmp_path / "web.db") == {(A, C), (C, A)}


def test_a_link_between_two_names_of_a_page_is_a_self_link(tmp_path: Path) -> None:
    made = imported(tmp_path / "web.db", named([A, A[:-1], B], [(0, 1), (1, 2), (2, 2)]))
    assert (made.pages, made.links, made.merged, made.self_links) == (2, 1, 1, 2)


def test_control_characters_in_names_are_escaped(tmp_path: Path) -> None:
    imported(tmp_path / "web.db", named(["a\nb", "\x1b[2J"], [(0, 1)]))
    assert links_in(tmp_path / "web.db") == {(r"a\nb", r"\x1b[2J")}


@pytest.mark.parametrize(
    ("names", "links", "weights", "kept"),
    [
        ([A, B, C], [(0, 1), (0, 2), (1, 0)], [3, 1, 7], {A: [3, 1], B: [7]}),
        ([A, B, C], [(0, 1), (0, 2), (1, 0)], [0.5, 0.25, 1e-12], {A: [2**31, 2**30], B: [1]}),
        ([A, B, C], [(0, 1), (0, 2)], [2, 2], {A: []}),  # equal ones are not stored
        ([A[:-1], A, C], [(0, 2), (1, 2), (2, 0), (2, 1)], [1, 2, 3, 4], {A: [3], C: [7]}),
    ],
    ids=["whole", "fractional", "equal", "merged"],
)
def test_weights_are_kept_as_whole_numbers_above_0(
    tmp_path: Path, names: list[str], links: list[Link], weights: list[float], kept: dict[str, Any]
) -> None:
    path = tmp_path / "web.db"
    imported(path, named(names, links, weights))
    with snapshot(path) as seen:
        spending = seen.frontier.spendings.of
        assert {name: list(spending(page_of(seen, name)).weights) for name in kept} == kept
    assert audit(path).wrong == []


def test_the_graph_of_the_store_has_the_weights_of_the_file(tmp_path: Path) -> None:
    graph = named(NAMES, [(0, 1), (0, 2), (4, 0)], [3, 1, 7])
    imported(tmp_path / "web.db", graph)
    with opened(tmp_path / "web.db", None) as found:
        again = found.graph
        assert again.names.find(["Åland", A, "nobody"]) == [4, 0, None]
        assert again.names.hosts().names == ["a.example", "c.example", "www.d.example", "Åland"]
    assert links_of(again.graph) == links_of(graph.graph)
    assert again.weights is not None
    assert again.weights.tolist() == [3, 1, 7]


def test_an_existing_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "web.db").write_bytes(b"something")
    with pytest.raises(UsageError, match=r"web\.db exists"):
        imported(tmp_path / "web.db", named(NAMES, LINKS))
    assert (tmp_path / "web.db").read_bytes() == b"something"


def test_an_interrupted_import_leaves_no_file(tmp_path: Path) -> None:
    def interrupt(_share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_graph(named(NAMES, LINKS), tmp_path / "web.db", "web.txt", NOON, interrupt)
    assert list(tmp_path.iterdir()) == []


def test_large_graphs_are_imported_in_batches_and_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    links = [(page, (page * 7 + step) % 40) for page in range(40) for step in range(3)]
    graph = named([f"http://h{page % 5}.example/{page}" for page in range(40)], links)
    for size in ("NAMES_AT_ONCE", "BIRTHS_AT_ONCE", "VISITS_AT_ONCE"):
        monkeypatch.setattr(graph_import, size, 7)
    monkeypatch.setattr(graph_import, "CHANGES_A_CHECKPOINT", 20)
    import_graph(graph, tmp_path / "web.db", "web.txt", NOON, told.append)
    assert audit(tmp_path / "web.db").wrong == []
    assert len(told) == 6 + 6
    assert told == sorted(told)
    assert told[-1] == 1
    with reading(tmp_path / "web.db") as connection:
        assert last_step(connection) == 6 + 40


@pytest.mark.slow
@settings(max_examples=25)
@given(nodes_and_links())
def test_any_graph_can_be_imported(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[int, list[Link]]
) -> None:
    nodes, links = case
    path = tmp_path_factory.mktemp("import") / "web.db"
    imported(path, named([f"n{node}" for node in range(nodes)], links))
    assert audit(path).wrong == []
    if nodes:
        assert links_in(path) == {(f"n{one}", f"n{other}") for one, other in links if one != other}


def test_a_real_graph_is_imported_whole(
    tmp_path: Path, shared_graph: Callable[[str], Path]
) -> None:
    with opened(tmp_path, shared_graph("wiki-Vote.txt.gz")) as found:
        made = imported(tmp_path / "vote.db", found.graph)
    assert (made.pages, made.links, made.read, made.self_links) == (7115, 103689, 6110, 0)
    with snapshot(tmp_path / "vote.db") as seen:
        assert np.count_nonzero(seen.states == State.FETCHED) == 6110
        assert int(seen.inlinks.sum()) == 103689

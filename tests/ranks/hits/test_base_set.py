"""A base set: roots, the pages that they link to, and some of the pages that link to them."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minicrawl.ranks.hits import base_set, hits
from tests.graph.graphs import graph_of, links_of
from tests.ranks.graphs import Pairs, named

PAGES = [f"http://host{page}.org/" for page in range(8)]
LINKS: Pairs = [(0, 1), (1, 2), (3, 0), (4, 0), (5, 0), (1, 3), (6, 7)]


def urls_of(roots: list[int], linking: int = 50) -> list[str]:
    found = base_set(named(PAGES, LINKS), roots, linking).named
    return found.names.of(range(len(found.names)))


def test_a_base_set_has_the_neighbours_of_its_root() -> None:
    assert urls_of([0]) == [PAGES[page] for page in (0, 1, 3, 4, 5)]


def test_only_the_first_pages_that_link_to_a_root_are_taken() -> None:
    assert urls_of([0], 2) == [PAGES[page] for page in (0, 1, 3, 4)]
    assert urls_of([0], 0) == [PAGES[page] for page in (0, 1)]


def test_all_links_between_its_pages_are_kept_with_their_weights() -> None:
    weighed = named(PAGES, sorted(LINKS), [1, 2, 3, 4, 5, 6, 7])
    found = base_set(weighed, [0]).named
    assert links_of(found.graph) == [(0, 1), (1, 2), (2, 0), (3, 0), (4, 0)]
    assert found.weights is not None
    assert found.weights.tolist() == [1, 3, 4, 5, 6]


def test_pages_keep_their_names_and_hosts() -> None:
    names = base_set(named(PAGES, LINKS), [0]).named.names
    assert names.find([PAGES[3], PAGES[7], "http://nowhere.org/", PAGES[0]]) == [2, None, None, 0]
    hosts = names.hosts()
    assert [hosts.names[host] for host in hosts.of_node] == [
        f"host{page}.org" for page in (0, 1, 3, 4, 5)
    ]


def test_a_base_set_without_roots_is_empty() -> None:
    found = base_set(named(PAGES, LINKS), []).named
    assert (found.graph.nodes, len(found.names)) == (0, 0)


def test_a_real_base_set_grows_from_its_root_set(shared_graph: Callable[[str], Path]) -> None:
    """The file of the graph marks each page of the root set."""
    with tarfile.open(shared_graph("toronto-Movies.tar.gz")) as archive:
        nodes = _text(archive, "Movies/nodes").split("\n\n")[1:]
        rows = _text(archive, "Movies/adj_list").splitlines()
    kinds = [node.split("[")[1][0] for node in nodes if "[" in node]
    pairs = [
        (int(row.partition(":")[0]), int(target))
        for row in rows
        for target in row.partition(":")[2].split()[:-1]
    ]
    graph = named([f"http://host{page}.org/" for page in range(len(kinds))], pairs)
    roots = [page for page, kind in enumerate(kinds) if kind == "R"]
    grown = base_set(graph, roots, linking=50).named
    assert 0 < len(roots) < grown.graph.nodes <= len(kinds)
    whole = base_set(graph, roots, linking=len(kinds)).named
    linked = np.zeros(len(kinds), dtype=np.bool_)
    linked[roots] = True
    for source, target in pairs:
        if kinds[source] == "R" or kinds[target] == "R":
            linked[[source, target]] = True
    assert whole.graph.nodes == np.count_nonzero(linked)
    assert whole.graph.edges == sum(linked[source] and linked[target] for source, target in pairs)


def _text(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(name)
    assert file is not None
    return io.TextIOWrapper(file, errors="replace").read()


def test_all_pages_as_roots_give_the_whole_graph() -> None:
    graph, grown = graph_of(8, LINKS), base_set(named(PAGES, LINKS), range(8)).named.graph
    assert links_of(grown) == links_of(graph)


def test_pages_outside_have_no_score() -> None:
    base = base_set(named(PAGES, LINKS), [0])
    found = base.over_all(hits(base.named.graph).authorities, 8)
    assert found.values.sum() == pytest.approx(1)
    assert np.flatnonzero(found.values > 1e-9).tolist() == [0]
    assert found.converged

"""Seeds of an old graph that a newer graph still has, or that another page replaces."""

from collections.abc import Sequence

import numpy as np

from minicrawl.graph.csr import NamedGraph
from minicrawl.graph.text_formats import NumericNames
from minicrawl.graphfiles import Texts
from minicrawl.ranks.seeds import SeedReplacement, most_similar, still_there
from tests.graph.graphs import graph_of

A, B, C = "http://a.org/", "http://a.org/b", "http://a.org/c"
FAR, X, Y, Z = "http://far.org/", "http://x.org/", "http://y.org/", "http://z.org/"


def named(names: Sequence[str], *links: tuple[str, str]) -> NamedGraph:
    ends = [(names.index(source), names.index(target)) for source, target in links]
    return NamedGraph(graph_of(len(names), ends), Texts([name.encode() for name in names]))


OLD = named([A, X, Y, Z], (A, X), (A, Y), (Z, A))


def test_seeds_are_found_by_their_names() -> None:
    new = named([Z, Y, A])
    assert still_there(OLD, new, [0, 3, 1]) == [
        SeedReplacement(seed=A, node=2),
        SeedReplacement(seed=Z, node=0),
        SeedReplacement(seed=X, node=None),
    ]


def test_seeds_are_found_by_their_ids() -> None:
    old = NamedGraph(graph_of(2, []), NumericNames(np.array([10, 20])))
    new = NamedGraph(graph_of(2, []), NumericNames(np.array([20, 30])))
    assert still_there(old, new, [0, 1]) == [
        SeedReplacement(seed="10", node=None),
        SeedReplacement(seed="20", node=0),
    ]


def test_a_seed_that_is_still_there_is_not_replaced() -> None:
    new = named([A, B, X], (B, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=0)]


def test_the_page_with_the_most_shared_links_replaces_a_seed() -> None:
    new = named([B, C, X, Y, Z], (B, X), (C, X), (C, Y))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=2)]


def test_links_in_count_as_links_out() -> None:
    new = named([B, C, X, Y, Z], (B, X), (C, X), (Z, C))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=2)]


def test_a_link_the_other_way_round_is_not_shared() -> None:
    new = named([B, X, Z], (X, B), (B, Z))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=None)]


def test_a_page_of_another_host_replaces_no_seed() -> None:
    new = named([FAR, B, X, Y], (FAR, X), (FAR, Y), (B, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=1)]


def test_without_a_shared_link_on_its_host_a_seed_is_not_replaced() -> None:
    assert most_similar(OLD, named([B, X]), [0]) == [SeedReplacement(seed=A, node=None)]
    assert most_similar(OLD, named([FAR, X], (FAR, X)), [0]) == [SeedReplacement(seed=A, node=None)]
    assert most_similar(OLD, named([]), [0]) == [SeedReplacement(seed=A, node=None)]


def test_with_as_many_shared_links_the_page_with_the_fewest_others_is_taken() -> None:
    new = named([B, C, X, FAR], (B, X), (B, FAR), (C, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=1)]


def test_of_equal_pages_the_first_is_taken() -> None:
    new = named([C, B, X], (B, X), (C, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=0, shared_links=1)]


def test_no_page_replaces_two_seeds_or_is_already_a_seed() -> None:
    old = named([A, B, C, X], (A, X), (B, X), (C, X))
    two = "http://a.org/2"
    new = named([C, two, X], (C, X), (two, X))
    assert most_similar(old, new, [0, 1, 2]) == [
        SeedReplacement(seed=A, node=1, shared_links=1),
        SeedReplacement(seed=B, node=None),
        SeedReplacement(seed=C, node=0),
    ]

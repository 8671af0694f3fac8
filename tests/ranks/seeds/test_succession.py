"""What became of the seeds of an old graph in a newer one."""

from collections.abc import Sequence

import numpy as np

from minicrawl.graph.csr import NamedGraph
from minicrawl.graph.text import Ids
from minicrawl.graphfiles.reading import Texts
from minicrawl.ranks.seeds import SeedReplacement, most_similar, still_there
from tests.graph.graphs import graph_of

A, B, C = "http://a.org/", "http://a.org/b", "http://a.org/c"
FAR, X, Y, Z = "http://far.org/", "http://x.org/", "http://y.org/", "http://z.org/"


def named(names: Sequence[str], *links: tuple[str, str]) -> NamedGraph:
    ends = [(names.index(source), names.index(target)) for source, target in links]
    return NamedGraph(graph_of(len(names), ends), Texts([name.encode() for name in names]))


OLD = named([A, X, Y, Z], (A, X), (A, Y), (Z, A))


def test_seeds_are_known_again_by_their_names() -> None:
    new = named([Z, Y, A])
    assert still_there(OLD, new, [0, 3, 1]) == [
        SeedReplacement(seed=A, node=2),
        SeedReplacement(seed=Z, node=0),
        SeedReplacement(seed=X, node=None),
    ]


def test_ids_are_names_as_well() -> None:
    old = NamedGraph(graph_of(2, []), Ids(np.array([10, 20])))
    new = NamedGraph(graph_of(2, []), Ids(np.array([20, 30])))
    assert still_there(old, new, [0, 1]) == [
        SeedReplacement(seed="10", node=None),
        SeedReplacement(seed="20", node=0),
    ]


def test_who_is_still_there_needs_nobody_to_stand_in() -> None:
    new = named([A, B, X], (B, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=0)]


def test_the_page_with_the_most_shared_links_stands_in() -> None:
    new = named([B, C, X, Y, Z], (B, X), (C, X), (C, Y))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=2)]


def test_links_in_count_as_links_out() -> None:
    new = named([B, C, X, Y, Z], (B, X), (C, X), (Z, C))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=2)]


def test_a_link_the_other_way_round_is_not_shared() -> None:
    new = named([B, X, Z], (X, B), (B, Z))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=None)]


def test_a_page_of_another_host_does_not_stand_in() -> None:
    new = named([FAR, B, X, Y], (FAR, X), (FAR, Y), (B, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=1)]


def test_without_a_shared_link_or_a_page_on_the_host_nobody_stands_in() -> None:
    assert most_similar(OLD, named([B, X]), [0]) == [SeedReplacement(seed=A, node=None)]
    assert most_similar(OLD, named([FAR, X], (FAR, X)), [0]) == [SeedReplacement(seed=A, node=None)]
    assert most_similar(OLD, named([]), [0]) == [SeedReplacement(seed=A, node=None)]


def test_of_equals_it_is_the_one_with_the_fewest_links_besides() -> None:
    new = named([B, C, X, FAR], (B, X), (B, FAR), (C, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=1, shared_links=1)]


def test_of_equals_in_that_as_well_it_is_the_first() -> None:
    new = named([C, B, X], (B, X), (C, X))
    assert most_similar(OLD, new, [0]) == [SeedReplacement(seed=A, node=0, shared_links=1)]


def test_no_page_stands_in_for_two_seeds_or_is_a_seed_already() -> None:
    old = named([A, B, C, X], (A, X), (B, X), (C, X))
    two = "http://a.org/2"
    new = named([C, two, X], (C, X), (two, X))
    assert most_similar(old, new, [0, 1, 2]) == [
        SeedReplacement(seed=A, node=1, shared_links=1),
        SeedReplacement(seed=B, node=None),
        SeedReplacement(seed=C, node=0),
    ]

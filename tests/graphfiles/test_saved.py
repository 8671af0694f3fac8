"""Packed graphs come back equal, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicrawl.graph.synthetic import SUITE, EdgeSequence, random_edges, roads
from minicrawl.graphfiles import MAGIC, as_dimacs, pack, unpack
from tests.graph.graphs import solved

SMALL = solved(SUITE["sc3"]())


@given(
    edges=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20),
    name=st.text(max_size=9).filter(lambda name: "\0" not in name and name.isprintable()),
)
def test_a_packed_graph_comes_back(edges: list[tuple[int, int]], name: str) -> None:
    saved = solved(EdgeSequence(name, 6, tuple(edges)))
    again = unpack(pack(saved))
    assert again.graph == saved.graph
    assert np.array_equal(again.distances, saved.distances)
    assert np.array_equal(again.components, saved.components)


def test_the_layout_by_hand() -> None:
    packed = pack(solved(EdgeSequence("x", 2, ((0, 1),))))
    one, two, far = b"\1\0\0\0", b"\2\0\0\0", b"\xff\xff\xff\xff"
    zero = b"\0\0\0\0"
    sizes = two + one + two
    assert packed == (
        b"minigraph\1x\0" + sizes + zero + one + far + zero + zero + one + b"\0\1\0\0" + zero + one
    )


@settings(max_examples=200)
@given(data=st.data())
def test_damaged_bytes_are_refused_or_keep_the_number_of_nodes(data: st.DataObject) -> None:
    whole = bytearray(pack(SMALL))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        found = unpack(bytes(whole))
    except ValueError:
        return
    assert found.graph.nodes == SMALL.graph.nodes


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "`minigraph`"),
        (b"minigraph\x02x\0", "version 2 "),
        (MAGIC + b"no end", "truncated"),
        (MAGIC + b"x\0" + b"\1\0", "truncated"),
        (pack(SMALL)[:-1], "4 pages"),
        (pack(SMALL) + b"\0", "6 edges"),
        (pack(SMALL)[:-4] + b"\x09\0\0\0", "not below 4"),
        (pack(SMALL).replace(b"\4\0\0\0\6\0\0\0\1", b"\4\0\0\0\6\0\0\0\2"), "expected 2 by"),
    ],
)
def test_a_malformed_file_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        unpack(data)


def test_dimacs_counts_pages_from_one() -> None:
    lines = list(as_dimacs(EdgeSequence("two", 2, ((0, 1), (1, 0)))))
    assert lines == ["c two", "p sp 2 2", "a 1 2 1", "a 2 1 1"]


def test_graphs_of_the_suite_have_their_sizes() -> None:
    sizes = {"a300": (300, 397), "a900": (900, 1197), "c100": (100, 9900), "sc1": (8, 11)}
    sizes |= {"a1500": (1500, 1997), "roads-georgia": (1557, 5016), "roads-idaho": (256, 672)}
    sizes |= {"sc2": (8, 14), "sc3": (4, 6), "c200": (200, 39800)}
    for name, (nodes, edges) in sizes.items():
        graph = SUITE[name]()
        assert (graph.name, graph.nodes, len(graph.edges)) == (name, nodes, edges)
        assert len(set(graph.edges)) == edges
        assert all(source != target for source, target in graph.edges)


def test_generated_graphs_are_reproducible() -> None:
    assert random_edges(9, 20).edges == random_edges(9, 20).edges
    assert len(random_edges(3, 100).edges) == 6
    assert roads("x", 2, 2, 4) == roads("x", 2, 2, 4)

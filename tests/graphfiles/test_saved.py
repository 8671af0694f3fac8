"""Packed graphs come back equal, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minicrawl.graphfiles.saved import MAGIC, EdgeSequence, as_dimacs, pack, unpack
from tests.graph.graphs import SMALL, solved

SAVED = solved(SMALL["sc3"])


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
    whole = bytearray(pack(SAVED))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        found = unpack(bytes(whole))
    except ValueError:
        return
    assert found.graph.nodes == SAVED.graph.nodes


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "`minigraph`"),
        (b"minigraph\x02x\0", "version 2 "),
        (MAGIC + b"no end", "truncated"),
        (MAGIC + b"x\0" + b"\1\0", "truncated"),
        (pack(SAVED)[:-1], "4 pages"),
        (pack(SAVED) + b"\0", "6 edges"),
        (pack(SAVED)[:-4] + b"\x09\0\0\0", "not below 4"),
        (pack(SAVED).replace(b"\4\0\0\0\6\0\0\0\1", b"\4\0\0\0\6\0\0\0\2"), "expected 2 by"),
    ],
)
def test_a_malformed_file_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        unpack(data)


def test_dimacs_counts_pages_from_one() -> None:
    lines = list(as_dimacs(EdgeSequence("two", 2, ((0, 1), (1, 0)))))
    assert lines == ["c two", "p sp 2 2", "a 1 2 1", "a 2 1 1"]

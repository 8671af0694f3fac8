"""Formats that list their nodes before their links are read whole or refused."""

import numpy as np
import pytest

from minicrawl.errors import GraphFileError
from tests.graph.texts import named_links, parsed

COUNTED = b"3 2 1\n1 http://a/ \n2 http://b/\n3 7 \n1 2\n3 1\n"
LETTERED = b"n 0 http://a/\nn 1 b b\nn 2 7\ne 0 1\ne 2 0\n"


@pytest.mark.parametrize("at_once", [2, 3, 1000])
def test_names_come_first_then_links_by_number(at_once: int) -> None:
    counted, lettered = parsed(COUNTED, at_once), parsed(LETTERED, at_once)
    assert counted.names == [b"http://a/", b"http://b/", b"7"]
    assert list(named_links(counted)) == [("http://a/", "http://b/"), ("7", "http://a/")]
    assert lettered.names == [b"http://a/", b"b b", b"7"]
    assert list(named_links(lettered)) == [("http://a/", "b b"), ("7", "http://a/")]


def test_nodes_may_have_no_links_and_share_a_name() -> None:
    found = parsed(b"n 0 a\nn 1 a\nn 2 a\ne 0 1\n")
    assert found.graph.graph.adjacency() == [[1], [], []]


def test_comments_are_skipped() -> None:
    assert parsed(b"# old\n" + COUNTED + b"\n").names == parsed(COUNTED).names


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"e 0 2", "two numbers of nodes, found 'e 0 2'"),
        (b"e 0", "two numbers of nodes, found 'e 0'"),
        (b"0 1", "two numbers of nodes, found '0 1'"),
        (b"n 3 c", "the name of node 2, found 'n 3 c'"),
        (b"n 2", "the name of node 2, found 'n 2'"),
    ],
)
def test_a_malformed_line_is_named(line: bytes, message: str) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(b"n 0 a\nn 1 b\ne 0 1\n" + line + b"\ne 1 0\n")
    assert str(refused.value) == f"graph.txt, line 4: expected {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"2 1 1\n1 a\n2 b\n0 1\n", "line 4: expected two numbers of nodes, found '0 1'"),
        (b"2 1 1\n1 a\n3 b\n1 2\n", "line 3: expected the name of node 2, found '3 b'"),
        (COUNTED + b"1 3\n", "3 nodes and 2 links as announced, found 3 and 3"),
        (COUNTED[:-4], "3 nodes and 2 links as announced, found 3 and 1"),
        (b"3 2 1\n1 a\n", "3 nodes and 2 links as announced, found 1 and 0"),
        (b"n 0 a\n", "no links"),
    ],
)
def test_a_file_that_differs_from_its_header_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(text)
    assert message in str(refused.value)


ARCS = b"c roads\np sp 4 3\na 1 2 5\nc more\na 2 1 7\na 3 1 1\n"
EDGES = b"c\nc a triangle with a tail\np edge 5 4\ne 1 2\ne 2 3\ne 3 1\ne 3 4\n"


@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_an_arc_of_dimacs_is_a_link_with_its_weight(at_once: int) -> None:
    found = parsed(ARCS, at_once)
    assert named_links(found) == {("1", "2"): 5, ("2", "1"): 7, ("3", "1"): 1}
    assert found.graph.graph.nodes == 4


@pytest.mark.parametrize("at_once", [1, 2, 1000])
@pytest.mark.parametrize("kind", [b"edge", b"col"])
def test_an_edge_of_dimacs_is_a_link_both_ways(kind: bytes, at_once: int) -> None:
    found = parsed(EDGES.replace(b"edge", kind), at_once)
    edges = [("1", "2"), ("2", "3"), ("3", "1"), ("3", "4")]
    assert {*named_links(found)} == {*edges, *((other, one) for one, other in edges)}
    assert (found.graph.graph.nodes, found.graph.weights) == (5, None)


def test_written_arcs_are_read_back() -> None:
    rng = np.random.default_rng(1)
    arcs = {(int(one), int(other)) for one, other in rng.integers(1, 51, size=(400, 2))}
    lines = [f"a {one} {other} {one + other}" for one, other in arcs]
    found = parsed("\n".join(["c many", f"p sp 50 {len(arcs)}", *lines, ""]).encode())
    assert named_links(found) == {(str(one), str(other)): one + other for one, other in arcs}
    assert found.ids is not None
    assert found.ids.tolist() == list(range(1, 51))


@pytest.mark.parametrize("at_once", [1, 1000])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b"p sp 2 1\na 1 3 1\n",
            "`a from to weight` with numbers of nodes from 1 to 2, found 'a 1 3 1'",
        ),
        (b"p sp 2 1\na 0 1 1\n", "line 2: expected `a from to weight` with numbers of nodes"),
        (b"p sp 2 1\na 1 2\n", "line 2: expected `a from to weight` with numbers of nodes"),
        (b"p sp 2 1\na 1 2 0\n", "line 2: expected a weight above 0, found '0'"),
        (b"p sp 2 1\na 1 2 x\n", "line 2: expected a weight above 0, found 'x'"),
        (b"p edge 2 1\ne 1 3\n", "line 2: expected `e one other` with numbers of nodes"),
        (b"p edge 2 1\na 1 2 1\n", "line 2: expected `e one other` with numbers of nodes"),
        (b"p max 2 1\n", "line 1: expected `p sp nodes links` or `p edge nodes edges`, found"),
        (b"c old\ne 1 2\n", "line 2: expected `p sp nodes links` or `p edge nodes edges`, found"),
        (b"p sp 2 2\na 1 2 1\n", "2 links as announced, found 1"),
        (b"c nothing\n", "a line `p`, found 0"),
        (b"p edge 9000000 1\ne 1 2\n", "9,000,000 nodes are too many for 1 links"),
        (b"p sp 1000000 1\na 1 2 1\n", "1,000,000 nodes are too many for 1 links"),
        (b"p edge 80000 10000\n" + b"e 1 80000\n" * 10000, "of 80,000 nodes only 2 have a link"),
        (b"p edge 2 0\n", "no links; expected `e one other`"),
        (b"p sp 0 0\n", "no links; expected `a from to weight`"),
    ],
)
def test_malformed_dimacs_is_refused(text: bytes, message: str, at_once: int) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(text, at_once)
    assert message in str(refused.value)

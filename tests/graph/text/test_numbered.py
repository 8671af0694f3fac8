"""The two old formats, which name their nodes first, are read whole or refused."""

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


def test_nodes_without_links_and_of_the_same_name_are_nodes() -> None:
    found = parsed(b"n 0 a\nn 1 a\nn 2 a\ne 0 1\n")
    assert found.graph.graph.adjacency() == [[1], [], []]


def test_a_comment_says_nothing() -> None:
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
def test_a_bad_line_is_named(line: bytes, message: str) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(b"n 0 a\nn 1 b\ne 0 1\n" + line + b"\ne 1 0\n")
    assert str(refused.value) == f"graph.txt, line 4: expected {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"2 1 1\n1 a\n2 b\n0 1\n", "line 4: expected two numbers of nodes, found '0 1'"),
        (b"2 1 1\n1 a\n3 b\n1 2\n", "line 3: expected the name of node 2, found '3 b'"),
        (COUNTED + b"1 3\n", "3 nodes and 2 links were announced, 3 and 3 are there"),
        (COUNTED[:-4], "3 nodes and 2 links were announced, 3 and 1 are there"),
        (b"3 2 1\n1 a\n", "3 nodes and 2 links were announced, 1 and 0 are there"),
        (b"n 0 a\n", "no link in it"),
    ],
)
def test_what_does_not_keep_its_promise_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(text)
    assert message in str(refused.value)

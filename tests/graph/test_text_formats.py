"""Any text is read as a graph or refused with one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import GraphFileError
from tests.graph.texts import parsed


@pytest.mark.parametrize("text", [b"", b"# only a comment\n\n", b"\n \n", b"source,target\n"])
def test_a_list_without_a_link_is_refused(text: bytes) -> None:
    with pytest.raises(GraphFileError, match=r"graph\.txt: no links"):
        parsed(text, lines_at_once=1)


def test_the_first_line_with_content_decides_the_format() -> None:
    assert parsed(b"# a\tb\n\n1 2\n", lines_at_once=1).ids is not None
    assert parsed(b"# 1 2\n\na\tb\n", lines_at_once=1).ids is None


@pytest.mark.parametrize("line", [b"hello", b"hello world", b"PK\x03\x04", b"{}"])
def test_a_first_line_of_no_format_is_refused(line: bytes) -> None:
    with pytest.raises(GraphFileError, match=r"^graph\.txt, line 2: expected two page ids"):
        parsed(b"\n" + line + b"\n")


WORDS = st.sampled_from(
    [
        b"1",
        b"2",
        b" ",
        b"\t",
        b"\n",
        b"#",
        b"%",
        b"n 0 ",
        b"e 0 0",
        b"c ",
        b"p sp 1 1",
        b"a 1 1 2",
        b"|",
        b",",
        b'"',
        b"\xff",
        b"a",
    ]
)


@given(st.lists(WORDS).map(b"".join) | st.binary(max_size=60))
def test_any_text_is_read_or_refused_in_one_printable_line(text: bytes) -> None:
    try:
        found = parsed(text + b"\n").graph.graph
    except GraphFileError as error:
        assert str(error).isprintable()  # noqa: PT017 - most texts are refused, not all
    else:
        assert found.nodes > 0


@given(st.lists(WORDS).map(b"".join), st.integers(1, 3))
def test_the_number_of_lines_read_at_once_changes_nothing(text: bytes, at_once: int) -> None:
    def told(lines_at_once: int) -> object:
        try:
            (graph, weights), ids, names = parsed(text + b"\n", lines_at_once)
        except GraphFileError as error:
            return str(error)
        numbers = [None if column is None else column.tolist() for column in (weights, ids)]
        return graph.adjacency(), numbers, names

    assert told(at_once) == told(1000)

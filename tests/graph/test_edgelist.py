"""An edge list is read whole, or refused with the place and the line that is wrong."""

import gzip
from collections.abc import Callable
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import GraphFileError
from minicrawl.graph.edgelist import ID_LIMIT, EdgeList, parse

LARGEST = ID_LIMIT - 1


def links_of(edge_list: EdgeList) -> list[tuple[int, int]]:
    """The links by the ids of the list."""
    ids, graph = edge_list.ids, edge_list.graph
    sources, targets = ids[graph.sources()].tolist(), ids[graph.targets].tolist()
    return list(zip(sources, targets, strict=True))


def refusal(*lines: bytes | str) -> str:
    with pytest.raises(GraphFileError) as refused:
        parse(lines, "graph.txt")
    return str(refused.value)


def test_a_line_is_a_link_from_the_first_id_to_the_second() -> None:
    assert links_of(parse([b"0\t1\n", b"2 0\n"], "graph.txt")) == [(0, 1), (2, 0)]


def test_sparse_ids_become_dense_in_their_order() -> None:
    edge_list = parse([b"70 5", b"5 900"], "graph.txt")
    assert edge_list.ids.tolist() == [5, 70, 900]
    assert edge_list.graph.adjacency() == [[2], [0], []]


def test_ids_may_be_as_large_as_64_bits_allow() -> None:
    assert links_of(parse([f"0 {LARGEST}"], "graph.txt")) == [(0, LARGEST)]


def test_leading_zeros_do_not_make_an_id_large() -> None:
    assert links_of(parse(["0" * 5000 + "7 00"], "graph.txt")) == [(7, 0)]


@pytest.mark.parametrize(
    "line", ["1 2", "1\t2", "  1 \t 2  ", "1 2\n", "1 2\r\n", b"1 2", b"1\t2\r\n"]
)
def test_blanks_tabs_and_line_ends_only_separate(line: bytes | str) -> None:
    assert links_of(parse([line], "graph.txt")) == [(1, 2)]


def test_comments_and_empty_lines_say_nothing() -> None:
    lines = ["# from to\n", "\n", "1 2\n", "   \n", "  # 3 4\n", "#5 6\n", "2 1\n"]
    assert links_of(parse(lines, "graph.txt")) == [(1, 2), (2, 1)]


def test_text_and_bytes_may_be_mixed() -> None:
    assert links_of(parse([b"1 2\n", "3 4\n"], "graph.txt")) == [(1, 2), (3, 4)]


def test_a_repeated_link_counts_once_and_one_to_itself_is_kept() -> None:
    assert links_of(parse(["1 2", "1 2", "2 2"], "graph.txt")) == [(1, 2), (2, 2)]


def test_lines_may_come_from_an_iterator() -> None:
    assert links_of(parse(iter(["1 2"]), "graph.txt")) == [(1, 2)]


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "1",
        "1 2 3",
        "1 two",
        "-1 2",
        "+1 2",
        "1.0 2",
        "1e3 2",
        "1_000 2",
        "0x1 2",
        "1,2",
        "1 2 # a comment of its own line only",
        "\u0661 \u0662",
        "1\u00a02",
    ],
)
def test_a_line_that_is_not_two_whole_numbers_is_refused(line: str) -> None:
    assert refusal("1 2", "# fine", line, "3 4").startswith(
        "graph.txt, line 3: expected two page ids, found '"
    )


def test_the_refusal_quotes_the_line() -> None:
    assert refusal("1 2", "", "hello\n") == (
        "graph.txt, line 3: expected two page ids, found 'hello'"
    )


@pytest.mark.parametrize("ids", [f"0 {ID_LIMIT}", f"{ID_LIMIT} 0", "0 " + "9" * 20])
def test_an_id_beyond_64_bits_is_refused(ids: str) -> None:
    message = refusal("1 2", ids)
    assert message.startswith("graph.txt, line 2: page ids are below 2**63, found '9")


def test_an_id_of_absurd_length_is_refused_all_the_same() -> None:
    assert "line 1: page ids are below 2**63" in refusal("1 " + "9" * 10_000)


@pytest.mark.parametrize("line_number", [1, 255, 256, 257, 1000])
@pytest.mark.parametrize("comment_first", [False, True])
def test_the_line_number_is_exact_however_far_down(line_number: int, comment_first: bool) -> None:
    good = ["1 2"] * (line_number - 1)
    if comment_first and good:
        good[0] = "# a comment"
    assert refusal(*good, "bad", "1 2").startswith(f"graph.txt, line {line_number}: ")


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        (b"\x1b[31mred\x07", r"'\x1b[31mred\x07'"),
        (b"\xff\xfe", r"'\\xff\\xfe'"),
        ("caf\u00e9", "'caf\u00e9'"),
        ("a\u202eb", r"'a\u202eb'"),
        ("\udc80", r"'\\udc80'"),
        ("it's", '"it\'s"'),
    ],
)
def test_a_hostile_line_is_quoted_harmlessly(line: bytes | str, quoted: str) -> None:
    assert refusal(line) == f"graph.txt, line 1: expected two page ids, found {quoted}"


@pytest.mark.parametrize("line", [b"x" * 10_000_000, b"\x00" * 1000, "\u00e9" * 1000])
def test_a_long_line_is_shortened(line: bytes | str) -> None:
    message = refusal(line)
    assert message.endswith("…")
    assert len(message.partition("found ")[2]) == 40


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_line_is_read_or_refused_in_one_printable_line(line: bytes | str) -> None:
    try:
        parse([line, "1 2"], "graph.txt")
    except GraphFileError as error:
        assert str(error).isprintable()  # noqa: PT017 - most lines are refused, not all


@pytest.mark.parametrize("lines", [[], ["# only a comment\n", "\n"]])
def test_a_list_without_a_link_is_refused(lines: list[str]) -> None:
    assert refusal(*lines) == "graph.txt: no link in it; expected lines of two page ids"


def test_a_list_with_one_page_is_refused() -> None:
    assert refusal("7 7") == ("graph.txt: only one page in it; expected links between at least two")


IDS = st.integers(0, LARGEST) | st.integers(0, 9)


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=600))
def test_what_is_written_is_what_is_read(links: list[tuple[int, int]]) -> None:
    links = [*links, (0, 1)]
    edge_list = parse([f"{source}\t{target}\n" for source, target in links], "graph.txt")
    assert links_of(edge_list) == sorted(set(links))
    assert edge_list.ids.tolist() == sorted({page for link in links for page in link})


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=40), st.data())
def test_comments_change_nothing_wherever_they_stand(
    links: list[tuple[int, int]], data: st.DataObject
) -> None:
    lines = [f"{source} {target}" for source, target in [*links, (0, 1)]]
    plain = parse(lines, "graph.txt")
    for _ in range(3):
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(st.sampled_from(["", "# 1"])))
    assert links_of(parse(lines, "graph.txt")) == links_of(plain)


def test_it_agrees_with_networkx_on_a_real_graph(shared_graph: Callable[[str], Path]) -> None:
    with gzip.open(shared_graph("wiki-Vote.txt.gz")) as file:
        lines = file.readlines()
    oracle = networkx.parse_edgelist(
        (line.decode() for line in lines), create_using=networkx.DiGraph, nodetype=int
    )
    edge_list = parse(lines, "wiki-Vote.txt.gz")
    assert (edge_list.graph.nodes, edge_list.graph.edges) == (7115, 103_689)
    assert links_of(edge_list) == sorted(oracle.edges)


def test_a_large_real_graph_is_read_whole(shared_graph: Callable[[str], Path]) -> None:
    with gzip.open(shared_graph("cnr-2000.edges.txt.gz")) as file:
        edge_list = parse(file, "cnr-2000.edges.txt.gz")
    assert (edge_list.graph.nodes, edge_list.graph.edges) == (325_557, 3_216_152)
    assert edge_list.ids[[0, -1]].tolist() == [0, 325_556]

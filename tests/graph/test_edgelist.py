"""A list of links between ids is read whole, or refused with its place and the line."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import GraphFileError
from minicrawl.graph.text_formats import ID_LIMIT, ParsedGraph
from tests.graph import graphs
from tests.graph.texts import parsed

LARGEST = ID_LIMIT - 1


def parse(*lines: bytes | str, at_once: int = 1000) -> ParsedGraph:
    encoded = (line if isinstance(line, bytes) else line.encode() for line in lines)
    return parsed(b"".join(line + b"\n" for line in encoded), at_once)


def ids_of(found: ParsedGraph) -> list[int]:
    assert found.ids is not None
    return list(found.ids)


def links_of(found: ParsedGraph) -> list[tuple[int, int]]:
    """Links as pairs of ids."""
    ids, graph = ids_of(found), found.graph.graph
    return [(ids[source], ids[target]) for source, target in graphs.links_of(graph)]


def weights_of(found: ParsedGraph) -> list[float]:
    assert found.graph.weights is not None
    return list(found.graph.weights)


def refusal(*lines: bytes | str, at_once: int = 1000) -> str:
    with pytest.raises(GraphFileError) as refused:
        parse(*lines, at_once=at_once)
    return str(refused.value)


def test_sparse_ids_become_dense_in_their_order() -> None:
    found = parse("70 5", "5 900")
    assert ids_of(found) == [5, 70, 900]
    assert found.graph.graph.adjacency() == [[2], [0], []]


def test_ids_may_be_as_large_as_64_bits_allow() -> None:
    assert links_of(parse(f"0 {LARGEST}")) == [(0, LARGEST)]


def test_leading_zeros_do_not_make_an_id_large() -> None:
    assert links_of(parse("0" * 5000 + "7 00")) == [(7, 0)]


@pytest.mark.parametrize("line", ["1 2", "1\t2", "  1 \t 2  ", "1    2", "1 2 "])
def test_any_spaces_and_tabs_separate_ids(line: str) -> None:
    assert links_of(parse(line)) == [(1, 2)]
    assert links_of(parse("3 4", line)) == [(1, 2), (3, 4)]


@pytest.mark.parametrize("comment", ["# from to", "", "   ", "  # 3 4", "#5 6", "% sym", "%%M"])
def test_comments_and_empty_lines_are_skipped(comment: str) -> None:
    for lines in ([comment, "1 2", "2 1"], ["1 2", comment, "2 1"], ["1 2", "2 1", comment]):
        for at_once in (1, 1000):
            assert links_of(parse(*lines, at_once=at_once)) == [(1, 2), (2, 1)]


def test_the_third_column_is_the_weight_of_a_link() -> None:
    found = parse("5 6 2", "6 5 0.25", "5 5 1e3")
    assert links_of(found) == [(5, 5), (5, 6), (6, 5)]
    assert weights_of(found) == [1000, 2, 0.25]


def test_a_list_has_weights_in_all_lines_or_in_none() -> None:
    assert parse("1 2").graph.weights is None
    assert "line 2: expected two page ids, found '1 2 3'" in refusal("1 2", "1 2 3")
    assert "line 2: expected two page ids and a weight, found '1 2'" in refusal("1 2 3", "1 2")


@pytest.mark.parametrize(
    "weight", ["0", "-1", "0.0", "nan", "inf", "x", "1_0", "1-2", "1e39", "1e-46", "1e999", "."]
)
def test_a_weight_that_is_not_above_0_is_refused(weight: str) -> None:
    assert re.search(
        rf"line 2: .*weight.* '{re.escape(weight)}'", refusal("1 2 1", f"1 2 {weight}")
    )


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
        "one\ttwo",
        "1 2 # a comment of its own line only",
        "\u0661 \u0662",
        "1\u00a02",
    ],
)
def test_a_line_that_is_not_two_whole_numbers_is_refused(line: str) -> None:
    assert "line 3: expected two page ids" in refusal("1 2", "# fine", line, "3 4")


@pytest.mark.parametrize(("lines", "bad"), [(["1 2 3", " 4"], 1), ([" ", "1 2", "3 "], 3)])
def test_numbers_never_count_for_another_line(lines: list[str], bad: int) -> None:
    """The text has the right number of ids, but not on each line."""
    assert f"line {bad + 1}: expected" in refusal("1 2", *lines)


@pytest.mark.parametrize("ids", [f"0 {ID_LIMIT}", f"{ID_LIMIT} 0", "0 " + "9" * 20])
def test_an_id_beyond_64_bits_is_refused(ids: str) -> None:
    assert "line 2: page ids are below 2**63, found '9" in refusal("1 2", ids)


def test_an_id_of_10_000_digits_is_refused() -> None:
    assert "line 1: page ids are below 2**63" in refusal("1 " + "9" * 10_000)


@pytest.mark.parametrize("line_number", [2, 255, 256, 257, 1000])
@pytest.mark.parametrize("first", ["# a comment", "1 2"])
@pytest.mark.parametrize("at_once", [1, 10, 1000])
def test_the_line_number_is_exact(line_number: int, first: str, at_once: int) -> None:
    good = [first, *["1 2"] * (line_number - 2)]
    message = refusal(*good, "bad", "1 2", at_once=at_once)
    assert message.startswith(f"graph.txt, line {line_number}: ")


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        (b"\x1b[31mred\x07", r"'\x1b[31mred\x07'"),
        (b"\xff\xfe", r"'\\xff\\xfe'"),
        ("caf\u00e9", "'caf\u00e9'"),
        ("a\u202eb", r"'a\u202eb'"),
        ("it's", '"it\'s"'),
    ],
)
def test_a_hostile_line_is_quoted_harmlessly(line: bytes | str, quoted: str) -> None:
    assert refusal("1 2", line).endswith(f"found {quoted}")


@pytest.mark.parametrize("line", [b"x" * 10_000_000, b"\x00" * 1000, "\u00e9" * 1000])
def test_a_long_line_is_shortened(line: bytes | str) -> None:
    message = refusal(line)
    assert message.endswith("…")
    assert len(message.partition("found ")[2]) == 40


IDS = st.integers(0, LARGEST) | st.integers(0, 9)
LINKS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=60)
AT_ONCE = st.sampled_from([1, 2, 7, 1000])


@given(LINKS, AT_ONCE)
def test_written_links_are_read_back(links: list[tuple[int, int]], at_once: int) -> None:
    found = parse(*(f"{source}\t{target}" for source, target in links), at_once=at_once)
    assert links_of(found) == sorted(set(links))
    assert ids_of(found) == sorted({page for link in links for page in link})


@given(LINKS, st.data())
def test_weights_come_with_their_links(links: list[tuple[int, int]], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(links), max_size=len(links)))
    sums = dict.fromkeys(sorted(links), 0)
    for link, weight in zip(links, weights, strict=True):
        sums[link] += weight
    lines = (f"{source} {target} {w}" for (source, target), w in zip(links, weights, strict=True))
    found = parse(*lines, at_once=data.draw(AT_ONCE))
    assert dict(zip(links_of(found), weights_of(found), strict=True)) == sums


@given(LINKS, st.data())
def test_comments_change_nothing_anywhere(
    links: list[tuple[int, int]], data: st.DataObject
) -> None:
    lines = [f"{source} {target}" for source, target in links]
    plain = parse(*lines)
    for _ in range(3):
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(st.sampled_from(["", "# 1"])))
    assert links_of(parse(*lines, at_once=data.draw(AT_ONCE))) == links_of(plain)

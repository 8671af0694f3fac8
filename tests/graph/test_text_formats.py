"""Any text is read as a graph, whole, or refused with its place and the line."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.errors import GraphFileError
from minicrawl.graph.lists.edge_lists import ID_LIMIT, NumericNames
from tests.graph.texts import named_links, parsed

COUNTED = "3 2 1\n1 http://a/ \n2 http://b/\n3 7 \n1 2\n3 1\n"
LETTERED = "n 0 http://a/\nn 1 b b\nn 2 7\ne 0 1\ne 2 0\n"
ARCS = "c roads\np sp 4 3\na 1 2 5\nc more\na 2 1 7\na 3 1 1\n"
EDGES = "c\nc a triangle with a tail\np edge 5 4\ne 1 2\ne 2 3\ne 3 1\ne 3 4\n"
BOTH_WAYS = ["1>2", "2>1", "2>3", "3>2", "3>1", "1>3", "3>4", "4>3"]
LARGEST = ID_LIMIT - 1

at_once = pytest.mark.parametrize("at_once", [1, 2, 1000])
"""The number of lines that are read at once must change nothing."""


@at_once
@pytest.mark.parametrize(
    ("text", "links"),
    [
        *((f"{line}\n2 1\n", ["1>2", "2>1"]) for line in ("1 2", "1\t2", "  1 \t 2  ", "1   2 ")),
        ("0" * 5000 + "7 00\n", ["7>0"]),
        *(
            (text.replace("COMMENT", comment), ["1>2", "2>1"])
            for comment in ("# from to", "", "   ", "  # 3 4", "#5 6", "% sym", "%%M")
            for text in ("COMMENT\n1 2\n2 1\n", "1 2\nCOMMENT\n2 1\n", "1 2\n2 1\nCOMMENT\n")
        ),
        ("5 6 2\n6 5 0.25\n5 5 1e3\n", {"5>5": 1000, "5>6": 2, "6>5": 0.25}),
        ("New York\tOslo\n", ["New York>Oslo"]),
        ("a\tb\t2\nb\ta\t1\na\tb\t0.5\n", {"a>b": 2.5, "b>a": 1}),
        ("%C3%85land\tA%20B\n# no link\n%C3%85\t\u00c5\n", ["%C3%85land>A%20B", "%C3%85>\u00c5"]),
        ("Orwell\t1984\n1984\t1949\n", ["Orwell>1984", "1984>1949"]),
        *((f"{comment}\na\tb\n", ["a>b"]) for comment in ("# a\tb", "", "  # a\tb", "% a\tb")),
        ("source\ttarget\na\tb\n", ["a>b"]),
        ("source\ttarget\tweight\na\tb\t1\n", {"a>b": 1}),
        (
            "1996|a.uk|b.uk\t2\n1997|a.uk|b.uk\t3\n1996|b.uk|www. iko.no\t1\n",
            {"a.uk>b.uk": 5, "b.uk>www. iko.no": 1},
        ),
        ("source,target\nhttp://a/,http://b/\n", ["http://a/>http://b/"]),
        ('"source","target"\na,b\n', ["a>b"]),
        ("source,target,weight\n1,2,3\n2,1,0.5\n", {"1>2": 3, "2>1": 0.5}),
        ('source,target\n"a,b","say ""x"""\nc,d\n', ['a,b>say "x"', "c>d"]),
        (LETTERED, ["http://a/>b b", "7>http://a/"]),
        (ARCS, {"1>2": 5, "2>1": 7, "3>1": 1}),
        (EDGES, BOTH_WAYS),
        (EDGES.replace("edge", "col"), BOTH_WAYS),
    ],
)
def test_texts_that_are_graphs(
    text: str, links: list[str] | dict[str, float], at_once: int
) -> None:
    found = named_links(parsed(text.encode(), at_once))
    wanted = links if isinstance(links, dict) else dict.fromkeys(links)
    assert {f"{source}>{target}": weight for (source, target), weight in found.items()} == wanted


@pytest.mark.parametrize("at_once", [3, 1000])
def test_names_come_first_where_the_first_line_counts(at_once: int) -> None:
    """The first two lines tell the format, so they are read at once."""
    for text in (COUNTED, f"# old\n{COUNTED}\n"):
        found = parsed(text.encode(), at_once)
        assert found.names == [b"http://a/", b"http://b/", b"7"]
        assert list(named_links(found)) == [("http://a/", "http://b/"), ("7", "http://a/")]
    for text, message in (
        ("2 1 1\n1 a\n2 b\n0 1\n", "line 4: expected two numbers of nodes, found '0 1'"),
        ("2 1 1\n1 a\n3 b\n1 2\n", "line 3: expected the name of node 2, found '3 b'"),
        (f"{COUNTED}1 3\n", "3 nodes and 2 links as announced, found 3 and 3"),
        (COUNTED[:-4], "3 nodes and 2 links as announced, found 3 and 1"),
        ("3 2 1\n1 a\n", "3 nodes and 2 links as announced, found 1 and 0"),
    ):
        with pytest.raises(GraphFileError, match=message):
            parsed(text.encode(), at_once)


def test_nodes_are_numbered_in_the_order_of_their_first_line() -> None:
    assert parsed(b"c\ta\na\tb\nc\tb\n").names == [b"c", b"a", b"b"]
    assert parsed(b'source,target\n\xff,a\n"\xff",b\n').names == [b"\xff", b"a", b"b"]


def test_nodes_may_have_no_links_and_share_a_name() -> None:
    assert parsed(b"n 0 a\nn 1 a\nn 2 a\ne 0 1\n").graph.graph.adjacency() == [[1], [], []]
    assert [parsed(text.encode()).graph.graph.nodes for text in (ARCS, EDGES)] == [4, 5]


NO_IDS = (
    *("hello", "1", "1 2 3", "1 two", "-1 2", "+1 2", "1.0 2", "1e3 2", "1_000 2", "0x1 2"),
    *("1,2", "one\ttwo", "1 2 # no comment", "\u0661 \u0662", "1\u00a02"),
)
NO_WEIGHTS = ("0", "-1", "0.0", "nan", "inf", "x", "1_0", "1-2", "1e39", "1e-46", "1e999", ".")
NO_ARC = "line 2: expected `a from to weight` with numbers of nodes"
NO_EDGE = "line 2: expected `e one other` with numbers of nodes"
NO_PROBLEM = "expected `p sp nodes links` or `p edge nodes edges`, found"


@at_once
@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, "graph.txt: no links")
            for text in ("", "# comment\n\n", "\n \n", "source,target\n")
        ),
        *(
            (f"\n{line}\n", "graph.txt, line 2: expected two page ids")
            for line in ("hello", "hello world", "PK\x03\x04", "{}")
        ),
        *((f"1 2\n# fine\n{line}\n3 4\n", "line 3: expected two page ids") for line in NO_IDS),
        ("1 2\n1 2 3\n 4\n", "line 2: expected two page ids, found '1 2 3'"),
        ("Source,Target\na,b\n", "or CSV under the line source,target, found 'Source,Target'"),
        ("1 2\n \n1 2\n3 \n", "line 4: expected two page ids"),
        ("1 2 3\n1 2\n", "line 2: expected two page ids and a weight, found '1 2'"),
        *(
            (f"1 2 1\n1 2 {one}\n", f"line 2: expected a weight above 0, found '{one}'")
            for one in NO_WEIGHTS
        ),
        *(
            (f"1 2\n{ids}\n", "line 2: page ids are below 2**63, found '9")
            for ids in (f"0 {ID_LIMIT}", f"{ID_LIMIT} 0", "0 " + "9" * 20, "1 " + "9" * 10_000)
        ),
        *(
            (f"a\tb\n{line}\n", "graph.txt, line 2: expected two names")
            for line in ("a", "a b", "a\tb\tc", "\tb", "a\t", "1 2")
        ),
        ("a\tb\t1\nb\ta\t0\n", "line 2: expected a weight above 0, found '0'"),
        ("a\tb\tc\n", "line 1: expected a weight above 0, found 'c'"),
        *(
            (f"1996|a|b\t1\n{line}\n", "line 2: expected year|host|host")
            for line in ("a.uk\tb.uk\t1", "x|a|b\t1", "1996|a\tb|1", "1996|a|b", "||\t1")
        ),
        *(
            (f"source,target\n{line}\n", "line 2: expected two names with a comma between")
            for line in ("a", "a,b,c", "a,", '"a,b', '"a"x,b', '"a,b"', '"",b')
        ),
        *(
            (f"n 0 a\nn 1 b\ne 0 1\n{line}\ne 1 0\n", f"line 4: expected {wanted}, found '{line}'")
            for wanted, lines in (
                ("two numbers of nodes", ("e 0 2", "e 0", "0 1")),
                ("the name of node 2", ("n 3 c", "n 2")),
            )
            for line in lines
        ),
        ("n 0 a\n", "no links"),
        ("p sp 2 1\na 1 3 1\n", f"{NO_ARC} from 1 to 2, found 'a 1 3 1'"),
        ("p sp 2 1\na 0 1 1\n", NO_ARC),
        ("p sp 2 1\na 1 2\n", NO_ARC),
        ("p sp 2 1\na 1 2 0\n", "line 2: expected a weight above 0, found '0'"),
        ("p sp 2 1\na 1 2 x\n", "line 2: expected a weight above 0, found 'x'"),
        ("p edge 2 1\ne 1 3\n", NO_EDGE),
        ("p edge 2 1\na 1 2 1\n", NO_EDGE),
        ("p max 2 1\n", f"line 1: {NO_PROBLEM}"),
        ("c old\ne 1 2\n", f"line 2: {NO_PROBLEM}"),
        ("p sp 2 2\na 1 2 1\n", "2 links as announced, found 1"),
        ("c nothing\n", "a line `p`, found 0"),
        ("p edge 9000000 1\ne 1 2\n", "9,000,000 nodes are too many for 1 links"),
        ("p sp 1000000 1\na 1 2 1\n", "1,000,000 nodes are too many for 1 links"),
        ("p edge 80000 10000\n" + "e 1 80000\n" * 10000, "of 80,000 nodes only 2 have a link"),
        ("p edge 2 0\n", "no links; expected `e one other`"),
        ("p sp 0 0\n", "no links; expected `a from to weight`"),
    ],
)
def test_texts_that_are_no_graphs(text: str, message: str, at_once: int) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(text.encode(), at_once)
    assert message in str(refused.value)


@pytest.mark.parametrize("line_number", [2, 255, 256, 257, 1000])
@pytest.mark.parametrize("first", ["# a comment", "1 2"])
@pytest.mark.parametrize("at_once", [1, 10, 1000])
def test_the_line_number_is_exact(line_number: int, first: str, at_once: int) -> None:
    lines = [first, *["1 2"] * (line_number - 2), "bad", "1 2", ""]
    with pytest.raises(GraphFileError, match=rf"^graph\.txt, line {line_number}: "):
        parsed("\n".join(lines).encode(), at_once)


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        (b"\x1b[31mred\x07", r"'\x1b[31mred\x07'"),
        (b"\xff\xfe", r"'\\xff\\xfe'"),
        ("caf\u00e9".encode(), "'caf\u00e9'"),
        ("a\u202eb".encode(), r"'a\u202eb'"),
        (b"it's", '"it\'s"'),
    ],
)
def test_a_hostile_line_is_quoted_harmlessly(line: bytes, quoted: str) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(b"1 2\n" + line + b"\n")
    assert str(refused.value).endswith(f"found {quoted}")


@pytest.mark.parametrize("line", [b"x" * 10_000_000, b"\x00" * 1000, "\u00e9".encode() * 1000])
def test_a_long_line_is_shortened(line: bytes) -> None:
    with pytest.raises(GraphFileError) as refused:
        parsed(line + b"\n")
    assert str(refused.value).endswith("…")
    assert len(str(refused.value).partition("found ")[2]) == 40


IDS = st.integers(0, LARGEST) | st.integers(0, 9)
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=5
).filter(lambda name: name.strip() and name.strip()[0] not in '#%"')
AT_ONCE = st.sampled_from([1, 2, 7, 1000])


def summed(links: list[tuple[str, str, int]]) -> dict[tuple[str, str], int]:
    sums: dict[tuple[str, str], int] = {}
    for source, target, weight in links:
        sums[source, target] = sums.get((source, target), 0) + weight
    return sums


@pytest.mark.parametrize("has_weights", [True, False])
@given(links=st.lists(st.tuples(IDS, IDS, st.integers(1, 9)), min_size=1, max_size=60), n=AT_ONCE)
def test_written_ids_are_read_back(
    has_weights: bool, links: list[tuple[int, int, int]], n: int
) -> None:
    text = "".join(f"{one}\t{other} {w if has_weights else ''}\n" for one, other, w in links)
    found = parsed(text.encode(), n)
    sums = summed([(str(one), str(other), weight) for one, other, weight in links])
    assert named_links(found) == (sums if has_weights else dict.fromkeys(sums))
    assert found.ids is not None
    assert found.ids.tolist() == sorted({page for link in links for page in link[:2]})


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(1, 9)), min_size=1, max_size=15), AT_ONCE)
def test_written_csv_is_read_back(links: list[tuple[str, str, int]], at_once: int) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([("source", "target", "weight"), *links])
    assert named_links(parsed(file.getvalue().encode(), at_once)) == summed(links)


WORDS = st.sampled_from(
    [b"1", b"2", b" ", b"\t", b"\n", b"#", b"%", b"n 0 ", b"e 0 0", b"c ", b"p sp 1 1", b"a 1 1 2",
     b"|", b",", b'"', b"\xff", b"a"]
)  # fmt: skip


@given(st.lists(WORDS).map(b"".join) | st.binary(max_size=60), st.integers(1, 3))
def test_any_text_is_read_or_refused_in_one_printable_line(text: bytes, at_once: int) -> None:
    def told(lines_at_once: int) -> object:
        try:
            (graph, weights), ids, names = parsed(text + b"\n", lines_at_once)
        except GraphFileError as error:
            return str(error)
        numbers = [None if column is None else column.tolist() for column in (weights, ids)]
        assert graph.nodes > 0
        return graph.adjacency(), numbers, names

    found = told(1000)
    assert not isinstance(found, str) or found.isprintable()
    if b"\r" not in text:  # which ends a line here, and none of a file
        assert told(at_once) == found


def test_each_number_is_a_host_of_its_own() -> None:
    of_node, names = NumericNames(np.array([3, 70, 900])).hosts()
    assert (of_node.tolist(), list(names), len(names)) == ([0, 1, 2], ["3", "70", "900"], 3)


@pytest.mark.parametrize("name", ["4", "901", "0", "-3", "x", "", "²", "9" * 30, "9" * 5000])
def test_names_that_no_node_has_are_not_found(name: str) -> None:
    assert NumericNames(np.array([3, 70, 900])).find([name, "70"]) == [None, 1]

"""A list of links between names is read whole, or refused with its place and the line."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import GraphFileError
from tests.graph.texts import named_links, parsed


def links_of(text: str | bytes) -> dict[tuple[str, str], float | None]:
    """Links of a list, which must not depend on the number of lines read at once."""
    encoded = text if isinstance(text, bytes) else text.encode()
    found = named_links(parsed(encoded))
    assert named_links(parsed(encoded, lines_at_once=1)) == found
    return found


def refusal(text: str) -> str:
    with pytest.raises(GraphFileError) as refused:
        parsed(text.encode())
    return str(refused.value)


def test_names_have_a_tab_between() -> None:
    assert links_of("New York\tOslo\nOslo\tNew York\n") == {
        ("New York", "Oslo"): None,
        ("Oslo", "New York"): None,
    }


def test_nodes_are_numbered_in_the_order_of_appearance() -> None:
    assert parsed(b"c\ta\na\tb\nc\tb\n").names == [b"c", b"a", b"b"]


def test_a_third_field_is_the_weight() -> None:
    assert links_of("a\tb\t2\nb\ta\t1\na\tb\t0.5\n") == {("a", "b"): 2.5, ("b", "a"): 1}


def test_names_stay_as_they_are_written() -> None:
    assert list(links_of("%C3%85land\tA%20B\n# no link\n%C3%85land\t\u00c5land\n")) == [
        ("%C3%85land", "A%20B"),
        ("%C3%85land", "\u00c5land"),
    ]


def test_names_may_be_numbers_if_the_first_is_not() -> None:
    assert list(links_of("Orwell\t1984\n1984\t1949\n")) == [("Orwell", "1984"), ("1984", "1949")]


@pytest.mark.parametrize("comment", ["# a\tb", "", "  # a\tb", "% a\tb"])
def test_comments_and_empty_lines_are_skipped(comment: str) -> None:
    for text in (f"{comment}\na\tb\n", f"a\tb\n{comment}\n"):
        assert links_of(text) == {("a", "b"): None}


@pytest.mark.parametrize("line", ["a", "a b", "a\tb\tc", "\tb", "a\t", "1 2"])
def test_a_line_without_two_names_is_refused(line: str) -> None:
    assert refusal(f"a\tb\n{line}\n").startswith("graph.txt, line 2: expected two names")


def test_a_weight_that_is_not_above_0_is_refused() -> None:
    for text, line, weight in (("a\tb\t1\nb\ta\t0\n", 2, "0"), ("a\tb\tc\n", 1, "c")):
        assert re.search(rf"line {line}: .*weight.* '{weight}'", refusal(text))


@pytest.mark.parametrize(
    ("head", "end"), [("source\ttarget", ""), ("source\ttarget\tweight", "\t1")]
)
def test_a_header_with_tabs_is_no_link(head: str, end: str) -> None:
    weight = float(end) if end else None
    assert links_of(f"{head}\na\tb{end}\n") == {("a", "b"): weight}


# ---------------------------------------------------------------- hosts


def test_weights_of_all_years_are_summed() -> None:
    text = "1996|a.uk|b.uk\t2\n1997|a.uk|b.uk\t3\n1996|b.uk|www. iko.no\t1\n"
    assert links_of(text) == {("a.uk", "b.uk"): 5, ("b.uk", "www. iko.no"): 1}


@pytest.mark.parametrize("line", ["a.uk\tb.uk\t1", "x|a|b\t1", "1996|a\tb|1", "1996|a|b", "||\t1"])
def test_a_malformed_line_of_hosts_is_refused(line: str) -> None:
    assert "line 2: expected year|host|host" in refusal(f"1996|a|b\t1\n{line}\n")


# ---------------------------------------------------------------- commas


@pytest.mark.parametrize("head", ["source,target", '"source","target"'])
def test_a_header_with_commas_announces_csv(head: str) -> None:
    assert links_of(f"{head}\nhttp://a/,http://b/\n") == {("http://a/", "http://b/"): None}


def test_links_with_commas_may_have_weights() -> None:
    assert links_of("source,target,weight\n1,2,3\n2,1,0.5\n") == {("1", "2"): 3, ("2", "1"): 0.5}


def test_a_name_with_a_comma_is_quoted() -> None:
    text = 'source,target\n"a,b","say ""x"""\nc,d\n'
    assert list(links_of(text)) == [("a,b", 'say "x"'), ("c", "d")]


@pytest.mark.parametrize("line", ["a", "a,b,c", "a,", '"a,b', '"a"x,b', '"a,b"', '"",b'])
def test_a_row_without_two_names_is_refused(line: str) -> None:
    assert "line 2: expected two names with a comma between" in refusal(f"source,target\n{line}\n")


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=5
).filter(lambda name: name.strip() and name.strip()[0] not in '#%"')


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(1, 9)), min_size=1))
def test_written_csv_is_read_back(links: list[tuple[str, str, int]]) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([("source", "target", "weight"), *links])
    sums: dict[tuple[str, str], int] = {}
    for source, target, weight in links:
        sums[source, target] = sums.get((source, target), 0) + weight
    assert links_of(file.getvalue()) == sums


def test_bytes_that_are_not_utf_8_are_names_too() -> None:
    found = parsed(b'source,target\n\xff,a\n"\xff",b\n')
    assert found.names == [b"\xff", b"a", b"b"]

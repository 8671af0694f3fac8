"""Grades that people gave are read whole, or refused with the line."""

from io import BytesIO, TextIOWrapper

import pytest

from minicrawl.analysis.agreement import Label, read
from minicrawl.errors import UsageError


def labels(text: str) -> list[Label]:
    return read(text.splitlines(keepends=True), "labels.csv")


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as refused:
        labels(text)
    return str(refused.value)


def test_a_line_is_a_page_and_its_grade() -> None:
    assert labels('http://a.example/,4\n\n"http://b.example/x,y", 1\r\n,\n') == [
        Label("http://a.example/", 4, 1),
        Label("http://b.example/x,y", 1, 3),
    ]


@pytest.mark.parametrize("head", ["url,grade", "URL, Grade", "page,grade"])
def test_the_first_line_may_name_the_columns(head: str) -> None:
    assert labels(f"{head}\na,1\n") == [Label("a", 1, 2)]


@pytest.mark.parametrize(
    "bad", ["b,5", "b,0", "b,-1", "b,2.5", "b,", ",2", "b", "b,1,2", "b,four", "url,grade", "b,²"]
)
def test_what_is_no_grade_is_refused_with_its_line(bad: str) -> None:
    expected = "labels.csv, line 2: expected a URL and a grade from 1 to 4, found "
    assert refusal(f"a,1\n{bad}\n") == f"{expected}{bad!r}"


def test_the_first_line_is_not_passed_over_for_a_bad_grade() -> None:
    assert "line 1" in refusal("a,best\nb,1\n")


def test_a_long_line_is_not_quoted_whole() -> None:
    assert len(refusal("x" * 1000)) < 150


def test_quotes_that_do_not_end_are_refused_with_their_line() -> None:
    assert refusal('a,1\n"b,2\nc,3\n').startswith("labels.csv, line 3: unexpected end of data")


@pytest.mark.parametrize("text", ["", "url,grade\n", "\n\n"])
def test_without_grades_it_is_refused(text: str) -> None:
    assert "nothing is graded" in refusal(text)


def test_what_is_no_text_is_refused() -> None:
    lines = TextIOWrapper(BytesIO(b"a,1\n\xff\xfe,2\n"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"^labels\.csv is not UTF-8: "):
        read(lines, "labels.csv")

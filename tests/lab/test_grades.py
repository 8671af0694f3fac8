"""Grades by people are read whole, or refused with the line number."""

import re
from io import BytesIO, TextIOWrapper

import numpy as np
import pytest

from minicrawl.errors import UsageError
from minicrawl.lab.commands.agree import GradedPage, read_grades


def labels(text: str) -> list[GradedPage]:
    return read_grades(text.splitlines(keepends=True), "labels.csv").of_pages


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as refused:
        labels(text)
    return str(refused.value)


def test_a_line_is_a_page_and_its_grade() -> None:
    assert labels('http://a.example/,4\n\n"http://b.example/x,y", 1\r\n,\n') == [
        GradedPage("http://a.example/", (4,), 1),
        GradedPage("http://b.example/x,y", (1,), 3),
    ]


@pytest.mark.parametrize("head", ["url,grade", "URL, Grade", "name,grade", "url,ann", "Site,Ann"])
def test_the_first_line_may_name_the_columns(head: str) -> None:
    assert labels(f"{head}\na,1\n") == [GradedPage("a", (1,), 2)]


@pytest.mark.parametrize(
    "bad", ["b,5", "b,0", "b,-1", "b,2.5", "b,", ",2", "b", "b,1,2", "b,four", "url,grade", "b,²"]
)
def test_a_malformed_grade_is_refused_with_its_line(bad: str) -> None:
    assert re.match(rf"labels\.csv, line 2: .*{re.escape(repr(bad))}$", refusal(f"a,1\n{bad}\n"))


def test_a_first_line_with_a_bad_grade_is_no_header() -> None:
    for text in ("a,best\nb,1\n", "url,5\nb,1\n", "url\nb,1\n", "a,5,3\nb,1,2\n"):
        assert "line 1" in refusal(text)


def test_several_judges_have_a_column_each_and_may_leave_it_empty() -> None:
    found = read_grades(["url,anna,ben\n", "a,1,4\n", "b,,2\n"], "labels.csv")
    assert found.judges == ["anna", "ben"]
    assert [label.name for label in found.of_pages] == ["a", "b"]
    assert found.of_pages[0].grades == (1, 4)
    assert found.of_pages[1].grades[1] == 2
    assert np.isnan(found.of_pages[1].grades[0])
    assert read_grades(["a,1,4,3\n"], "labels.csv").judges == ["judge 1", "judge 2", "judge 3"]


@pytest.mark.parametrize("bad", ["b,,", "b,1", "b,1,2,3", "b,1,5", ",1,2"])
def test_a_line_has_a_column_for_each_judge_and_at_least_one_grade(bad: str) -> None:
    assert re.match(rf"labels\.csv, line 2: .* 2 grades .*{bad!r}$", refusal(f"a,1,2\n{bad}\n"))


def test_a_long_line_is_not_quoted_whole() -> None:
    assert len(refusal("x" * 1000)) < 150


def test_an_unclosed_quote_is_refused_with_its_line() -> None:
    assert refusal('a,1\n"b,2\nc,3\n').startswith("labels.csv, line 3: ")


@pytest.mark.parametrize("text", ["", "url,grade\n", "\n\n"])
def test_a_file_without_grades_is_refused(text: str) -> None:
    assert refusal(text).startswith("labels.csv ")


def test_a_file_that_is_not_utf_8_is_refused() -> None:
    lines = TextIOWrapper(BytesIO(b"a,1\n\xff\xfe,2\n"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"^labels\.csv .*UTF-8"):
        read_grades(lines, "labels.csv")

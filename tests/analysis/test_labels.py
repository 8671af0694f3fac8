"""Grades that people gave are read whole, or refused with the line."""

from pathlib import Path

import pytest

from minicrawl.analysis import labels
from minicrawl.analysis.labels import Label
from minicrawl.errors import UsageError


def read(folder: Path, text: str) -> list[Label]:
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return labels.read(path)


@pytest.mark.parametrize("head", ["", "url,grade\n", "\ufeffurl,grade\n", "\n"])
def test_a_line_is_a_page_and_its_grade(tmp_path: Path, head: str) -> None:
    found = read(tmp_path, f'{head}http://a.example/,4\n\n"http://b.example/x,y", 1\n')
    assert found == [Label("http://a.example/", 4), Label("http://b.example/x,y", 1)]


@pytest.mark.parametrize("bad", ["b,5", "b,0", "b,-1", "b,2.5", "b,", "b", "b,1,2", "b,four"])
def test_what_is_no_grade_is_refused_with_its_line(tmp_path: Path, bad: str) -> None:
    with pytest.raises(UsageError, match=r"labels\.csv, line 2: expected a page and a grade"):
        read(tmp_path, f"a,1\n{bad}\n")


def test_a_first_line_with_a_number_names_no_columns(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 1"):
        read(tmp_path, "a,5\nb,1\n")


def test_without_grades_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no page is graded"):
        read(tmp_path, "url,grade\n")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"labels\.csv cannot be read"):
        labels.read(path)

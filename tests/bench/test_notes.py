from pathlib import Path

import click
import pytest

from tests.bench.notes import head, kept, row, write_into


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "found.md"
    path.write_text("# Found\n<!-- one -->\nold\n<!-- end of one -->\nand more\n")
    return path


def test_new_lines_replace_old_ones_and_nothing_else(document: Path) -> None:
    for _ in range(2):
        write_into(document, "one", ["new", "newer"])
    text = "# Found\n<!-- one -->\nnew\nnewer\n<!-- end of one -->\nand more\n"
    assert document.read_text() == text


def test_a_document_without_the_part_is_an_error_and_stays_unchanged(document: Path) -> None:
    before = document.read_text()
    with pytest.raises(click.UsageError, match="has no lines <!-- other --> and"):
        write_into(document, "other", ["new"])
    assert document.read_text() == before


def test_tables_have_numbers_in_all_columns_but_the_first() -> None:
    table = [*head("", "found"), row("all", "1")]
    assert table == ["|  | found |", "| --- | ---: |", "| all | 1 |"]


def test_a_broken_limit_stands_out() -> None:
    assert (kept(True), kept(False)) == ("kept", "NOT KEPT")

"""A command writes its part of a document, and nothing else there."""

from pathlib import Path

import click
import pytest

from tests.bench.notes import head, kept, row, write_into


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "found.md"
    path.write_text("# Found\n<!-- one -->\nold\n<!-- end of one -->\nand more\n")
    return path


def test_new_lines_stand_in_place_of_old_ones(document: Path) -> None:
    for _ in range(2):
        write_into(document, "one", ["new", "newer"])
    assert document.read_text() == (
        "# Found\n<!-- one -->\nnew\nnewer\n<!-- end of one -->\nand more\n"
    )


def test_a_document_without_such_a_part_stays_as_it_is(document: Path) -> None:
    before = document.read_text()
    with pytest.raises(click.UsageError, match="has no lines <!-- other --> and"):
        write_into(document, "other", ["new"])
    assert document.read_text() == before


def test_tables_have_numbers_in_all_columns_but_the_first() -> None:
    assert [*head("", "found"), row("all", "1")] == [
        "|  | found |",
        "| --- | ---: |",
        "| all | 1 |",
    ]


def test_a_limit_is_kept_or_it_is_not() -> None:
    assert (kept(True), kept(False)) == ("kept", "NOT KEPT")

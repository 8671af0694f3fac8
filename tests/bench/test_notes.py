from pathlib import Path

import click
import pytest

from tests.bench.notes import write_into


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

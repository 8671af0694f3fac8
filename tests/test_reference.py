"""The reference in docs/reference agrees with the code."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from minicrawl import MinicrawlError
from minicrawl.cli import INTERRUPTED
from minicrawl.cli.crawl.session import NotFetched
from tests import reference


class TestCommittedPages:
    @pytest.mark.parametrize("name", reference.PAGES)
    def test_a_page_is_up_to_date(self, name: str) -> None:
        assert (reference.ROOT / name).read_text("utf-8") == reference.PAGES[name](), (
            "python -m tests.reference --write renews it"
        )

    def test_no_generated_page_is_left_over(self) -> None:
        generated = {
            f"docs/reference/{file.name}"
            for file in reference.FOLDER.glob("*.md")
            if reference.NOTICE in file.read_text(encoding="utf-8")
        }
        assert generated == {name for name in reference.PAGES if name.endswith(".md")}

    def test_every_exit_code_of_an_error_is_described(self) -> None:
        codes = {NotFetched.exit_code, click.UsageError.exit_code, INTERRUPTED}
        assert codes | set(_exit_codes(MinicrawlError)) <= set(reference.exit_codes())


def _exit_codes(error: type[MinicrawlError]) -> Iterator[int]:
    yield error.exit_code
    for special in error.__subclasses__():
        yield from _exit_codes(special)


class TestWriting:
    def test_a_stale_page_is_named_and_renewed(self, tmp_path: Path) -> None:
        reference.write(tmp_path)
        assert reference.stale(tmp_path) == []
        (tmp_path / "docs/reference/files.md").write_text("old", encoding="utf-8")
        assert reference.stale(tmp_path) == ["docs/reference/files.md"]
        reference.write(tmp_path)
        assert reference.stale(tmp_path) == []

"""The reference in docs/reference agrees with the code."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import minicrawl
from minicrawl.cli import INTERRUPTED
from minicrawl.cli.crawl_session import NotFetched
from minicrawl.config.parts import TABLE
from minicrawl.errors import MinicrawlError
from tests import reference
from tests.readme import command_tree, long_options


def page(name: str) -> str:
    return (reference.FOLDER / name).read_text(encoding="utf-8")


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

    def test_every_command_and_every_option_is_described(self) -> None:
        text = page("commands.md")
        for path, command in command_tree().items():
            _, _, section = text.partition(f"## `{path}`\n")
            section, _, _ = section.partition("\n## ")
            assert [name for name in long_options(command) if name not in section] == [], path

    def test_every_setting_is_described(self) -> None:
        text = page("settings.md")
        assert [row.name for row in TABLE if f"`{row.variable}`" not in text] == []

    def test_every_public_name_is_described(self) -> None:
        headings = page("python-api.md").splitlines()
        names = [name for name in minicrawl.__all__ if not name.startswith("_")]
        assert [name for name in names if f"## {name}" not in headings] == []

    def test_every_exit_code_of_an_error_is_described(self) -> None:
        codes = {NotFetched.exit_code, click.UsageError.exit_code, INTERRUPTED}
        assert codes | set(_exit_codes(MinicrawlError)) <= set(reference.exit_codes())


def _exit_codes(error: type[MinicrawlError]) -> Iterator[int]:
    yield error.exit_code
    for special in error.__subclasses__():
        yield from _exit_codes(special)


class TestMarkdown:
    @pytest.mark.parametrize(
        ("text", "markdown"),
        [
            ("HOST may be * or *.example", r"HOST may be \* or \*.example"),
            ("write `a_b` or a_b", r"write `a_b` or a\_b"),
            ("one\n  line [default: 3]", r"one line \[default: 3\]"),
        ],
    )
    def test_text_outside_of_code_is_escaped(self, text: str, markdown: str) -> None:
        assert reference.prose(text) == markdown

    def test_what_click_must_not_wrap_is_not_wrapped(self) -> None:
        assert reference.paragraphs("One.\n\n\b\n  a  b\n  c\n\nTwo.") == (
            "One.\n\n```text\na  b\nc\n```\n\nTwo."
        )


class TestWriting:
    def test_a_stale_page_is_named_and_renewed(self, tmp_path: Path) -> None:
        reference.write(tmp_path)
        assert reference.stale(tmp_path) == []
        (tmp_path / "docs/reference/files.md").write_text("old", encoding="utf-8")
        assert reference.stale(tmp_path) == ["docs/reference/files.md"]
        reference.write(tmp_path)
        assert reference.stale(tmp_path) == []

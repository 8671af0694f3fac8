"""The reference in docs/reference agrees with the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from minicrawl import MinicrawlError
from minicrawl.cli import INTERRUPTED
from minicrawl.cli.crawl.session import NotFetched
from tests import reference
from tests.reference.files import exit_codes
from tests.reference.markdown import NOTICE


class TestCommittedPages:
    @pytest.mark.parametrize("name", reference.PAGES)
    def test_a_page_is_up_to_date(self, name: str) -> None:
        assert (reference.ROOT / name).read_text("utf-8") == reference.PAGES[name](), (
            "python -m tests.reference --write renews it"
        )

    def test_no_generated_page_is_left_over(self) -> None:
        generated = {
            f"docs/reference/{file.name}"
            for file in (reference.ROOT / "docs/reference").glob("*.md")
            if NOTICE in file.read_text(encoding="utf-8")
        }
        assert generated == {name for name in reference.PAGES if name.endswith(".md")}

    def test_every_exit_code_of_an_error_is_described(self) -> None:
        codes = {NotFetched.exit_code, click.UsageError.exit_code, INTERRUPTED}
        assert codes | set(_exit_codes(MinicrawlError)) <= set(exit_codes())


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


class TestExamples:
    def test_what_examples_use_is_in_the_reference(self) -> None:
        """Each name of an example is documented: imports, and attributes of annotated arguments."""
        sections = _sections((reference.ROOT / "docs/reference/python-api.md").read_text("utf-8"))
        used = [
            (name, attribute)
            for file in sorted((reference.ROOT / "examples").glob("*/src/**/*.py"))
            for name, attribute in _names_used(ast.parse(file.read_text("utf-8")))
        ]
        assert used
        assert [use for use in used if use[1] not in sections.get(use[0], ())] == []


def _sections(page: str) -> dict[str, set[str]]:
    """Return the attributes in each section; "" is one of all."""
    return {
        title: {"", *re.findall(r"^(?:### |- )`(\w+)", text, re.MULTILINE)}
        for title, text in re.findall(
            r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL
        )
    }


def _names_used(example: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name of the API that an example imports, with the attributes that it uses."""
    nodes = list(ast.walk(example))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    public = {
        alias.name
        for node in imports
        for alias in node.names
        if node.module in ("minicrawl", "minicrawl.ext")
    }
    yield from ((name, "") for name in public)
    for function in nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            kinds = {
                argument.arg: ast.unparse(argument.annotation)
                for argument in function.args.args
                if argument.annotation is not None
            }
            for node in ast.walk(function):
                match node:
                    case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
                        kinds.get(name) in public
                    ):
                        yield kinds[name], attribute

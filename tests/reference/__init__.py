"""Generator of the reference: commands, settings, exit codes, files, columns, Python API.

    python -m tests.reference           say which pages are out of date
    python -m tests.reference --write   write them

Each page is a function that returns Markdown; `PAGES` lists them. Only headings, descriptions of
files and columns, and sentences before a list are written here. One page is for type checkers: the
types of the arguments of `Settings.of`.
"""

from collections.abc import Callable
from pathlib import Path

from tests.reference.commands import commands_page
from tests.reference.export import export_page
from tests.reference.files import exit_codes_page, files_page
from tests.reference.python_api import python_page
from tests.reference.settings import arguments_stub, settings_page

ROOT = Path(__file__).parents[2]

PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/commands.md": commands_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/exit-codes.md": exit_codes_page,
    "docs/reference/files.md": files_page,
    "docs/reference/export-columns.md": export_page,
    "docs/reference/python-api.md": python_page,
    "minicrawl/config/arguments.pyi": arguments_stub,
}


def stale(root: Path = ROOT) -> list[str]:
    """Return the names of pages that differ from what the code gives."""
    return [
        name
        for name, page in PAGES.items()
        if not (file := root / name).exists() or file.read_text(encoding="utf-8") != page()
    ]


def write(root: Path = ROOT) -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(page(), encoding="utf-8")

"""Find the test modules that need a room, by their imports and the commands that they name."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

ROOMS = ("audit", "cluster", "dashboard", "demo", "lab", "mcp", "ranks", "search", "text")
WORDS = {
    "audit": r"\"audit\"|minicrawl audit\b",
    "cluster": r"--cluster|\bnats\b|\"(?:node\"|cluster[\" ])",
    "dashboard": r"--dashboard|\"dashboard\"",
    "demo": r"--demo\b|\bdemo_web\b",
    "lab": r"\"lab\"|\blab (?:compare|convergence|eigenvector|freshness|graphs|order|windows)\b",
    "mcp": r"\"mcp\"|minicrawl mcp\b",
    "ranks": r"\"(?:rank|seed-set)\"|\brank [a-z]|seed-set",
    "text": r"\"--(?:main|markdown)\"|--with (?:main|markdown)",
    "search": r"\"(?:search|index)\"|--index\b|minicrawl (?:search|index)\b|\bindex --",
}
"""Patterns of tests that use a room from the command line."""

NEEDED_BY = {
    "audit": ("mcp",),
    "cluster": (),
    "dashboard": ("cluster", "mcp"),
    "demo": ("cluster",),
    "lab": (),
    "mcp": (),
    "ranks": ("lab",),
    "search": ("ranks", "lab", "mcp"),
    "text": (),
}
"""Other rooms that do not work without a room."""

OF_THE_WHOLE = (
    "tests/test_architecture.py",
    "tests/test_formulas.py",
    "tests/test_ext.py",
    "tests/test_pytest_plugin.py",
    "tests/test_readme.py",
    "tests/test_reference.py",
    "tests/cli/inert/",
    "tests/cli/test_damaged_stores.py",
    "tests/cli/test_every_command.py",
    "tests/cli/test_examples.py",
    "tests/golden/test_surface.py",
)
"""Tests of the whole project, with all rooms."""


def tests_without(rooms: Sequence[str], folder: Path, below: Sequence[str]) -> list[str]:
    """Return the files of the core's tests that do not need the rooms."""
    gone = {*rooms, *chain.from_iterable(NEEDED_BY[room] for room in rooms)}
    files = (
        file
        for path in map(folder.joinpath, below)
        for file in ([path] if path.suffix else sorted(path.rglob("test_*.py")))
    )
    chosen = []
    for file in files:
        name = file.relative_to(folder).as_posix()
        is_of_the_core = not name.startswith(OF_THE_WHOLE) and not imported_rooms(folder, file)
        if is_of_the_core and not gone & named_rooms(file):
            chosen.append(name)
    return chosen


@cache
def named_rooms(file: Path) -> frozenset[str]:
    """Return the rooms that a module of tests uses from the command line."""
    source = file.read_text(encoding="utf-8")
    return frozenset(room for room, words in WORDS.items() if re.search(words, source))


@cache
def imported_rooms(
    folder: Path, file: Path, above: frozenset[Path] = frozenset()
) -> frozenset[str]:
    """Return the rooms that a module of tests imports, directly or through other test modules."""
    source = file.read_text(encoding="utf-8")
    found = set(file.relative_to(folder).parts[1:2]) & set(ROOMS)
    for name in _imported(ast.parse(source)):
        parts = name.split(".")
        if parts[0] == "minicrawl" and len(parts) > 1 and parts[1] in ROOMS:
            found.add(parts[1])
        if parts[0] == "tests":
            path = folder.joinpath(*parts)
            modules = (path.with_suffix(".py"), path / "__init__.py")
            module = next((one for one in modules if one.is_file()), None)
            if module is None:
                found |= {room for room in parts[1:2] if room in ROOMS}
            elif module != file and module not in above:
                found |= imported_rooms(folder, module, above | {file})
    return frozenset(found)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

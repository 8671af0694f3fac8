"""Which modules of tests need a room: by what they import, and by the commands that they name."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOMS = ("cluster", "dashboard", "demo", "lab", "ranks", "search")
WORDS = {
    "cluster": r"--cluster|\bnats\b|\"(?:node\"|cluster[\" ])",
    "dashboard": r"--dashboard|\"dashboard\"",
    "demo": r"--demo\b|\bdemo_web\b",
    "lab": r"\"lab\"|\blab (?:agree|convergence|eigenvector|figures|graphs|judge|order|windows)\b",
    "ranks": r"\"(?:rank|compare|seed-set)\"|\b(?:rank|compare) [a-z]|seed-set",
    "search": r"\"(?:search|index)\"|--index\b|minicrawl (?:search|index)\b|\bindex --",
}
"""What tests write to use a room from the command line."""


def tests_without(room: str, folder: Path, below: Sequence[str]) -> list[str]:
    """Return the files of tests that do not need the room."""
    files = (file for name in below for file in sorted((folder / name).rglob("test_*.py")))
    needed = (file for file in files if room not in rooms_of(folder, file))
    return [str(file.relative_to(folder)) for file in needed]


@cache
def rooms_of(folder: Path, file: Path, above: frozenset[Path] = frozenset()) -> frozenset[str]:
    """Return the rooms that a module of tests needs, itself or by what it imports of tests."""
    source = file.read_text(encoding="utf-8")
    found = {room for room, words in WORDS.items() if re.search(words, source)}
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
                found |= rooms_of(folder, module, above | {file})
    return frozenset(found)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

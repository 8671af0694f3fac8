"""Calls of `minicrawl` in the process of the tests, and imports of one in a process of its own."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cli import main

Captured = pytest.CaptureFixture[str]
_USUAL = re.compile(r"^(?:(?:wrote|importance:) .*|[a-z ]+: \d+%)\n", re.MULTILINE)
"""Lines of an export, and of the progress of any task that takes 30 seconds on a busy machine."""


def printed(capsys: Captured, *arguments: str | Path, code: int = 0, said: str = "") -> str:
    """Run a command, and return its stdout; stderr has `said`, and only usual lines beside it."""
    capsys.readouterr()
    assert main([*map(str, arguments)]) == code
    out, err = capsys.readouterr()
    assert _USUAL.sub("", err) == said
    return out


def as_json(capsys: Captured, *arguments: str | Path, code: int = 0, said: str = "") -> Any:
    """Run a command with `--json`, and return the document that it prints."""
    return json.loads(printed(capsys, *arguments, "--json", code=code, said=said))


def refusal(capsys: Captured, *arguments: str | Path, code: int = 2) -> str:
    """Run a command that fails, and return the only line that it prints, on stderr."""
    capsys.readouterr()
    assert main([*map(str, arguments)]) == code
    out, err = capsys.readouterr()
    err = _USUAL.sub("", err)
    assert (out, err.count("\n"), err[:11]) == ("", 1, "minicrawl: ")
    return err


def ranked(capsys: Captured, *arguments: str | Path) -> Any:
    """Run a rank with `--json`, and return the document; stderr may have notes."""
    capsys.readouterr()
    assert main(["rank", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def scores(document: Any) -> dict[str, float]:
    return {score["node"]: score["score"] for score in document["scores"]}


HEAVY = {"asyncio", "httpx", "matplotlib", "numpy", "rich", "scipy", "sqlite3"}


def last_line_of(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def packages_imported_by(statement: str, folder: Path) -> set[str]:
    # Modules that are loaded before the statement belong to the measuring of coverage.
    script = (
        f"import sys\nbefore = set(sys.modules)\n{statement}\n"
        f"print('imported', *set(sys.modules) - before)"
    )
    _, *names = last_line_of(script, folder).split()
    return {name.partition(".")[0] for name in names}

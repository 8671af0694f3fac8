"""Imports of a command, found in a process of its own."""

import subprocess
import sys
from pathlib import Path

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

"""Who may import whom is checked with the tests, and the check itself is checked."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINT_IMPORTS = (
    "from importlinter.cli import lint_imports_command as command; command(['--no-cache'])"
)


def check_contracts(root: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker; what it prints comes without its colours, which not all of it leaves out."""
    done = subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS],
        cwd=root,
        env=os.environ | {"COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    done.stdout = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    return done


@pytest.fixture
def copied_house(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "minicrawl", tmp_path / "minicrawl", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_is_kept() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    checked = check_contracts(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"Contracts: {len(contracts)} kept, 0 broken." in checked.stdout
    for contract in contracts:
        assert re.search(rf"{re.escape(contract['name'])}\s+KEPT", checked.stdout)


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("opic/intruder.py", "import minicrawl.cli", "The house"),
        ("opic/intruder.py", "import minicrawl.web", "The house"),
        ("graph/intruder.py", "import minicrawl.opic", "The house"),
        ("stranger.py", "", "The house"),
        ("opic/intruder.py", "import time", "The algorithm is pure"),
        ("lab/intruder.py", "import rich.console", "Only cli talks to the terminal"),
        ("cli/intruder.py", "import sqlite3", "Only store speaks SQL"),
        ("lab/intruder.py", "import httpx", "Only fetch opens connections"),
    ],
)
def test_a_wrong_import_breaks_its_contract(
    copied_house: Path, module: str, line: str, broken: str
) -> None:
    (copied_house / "minicrawl" / module).write_text(f"{line}\n", encoding="utf-8")
    checked = check_contracts(copied_house)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert re.search(rf"{broken}[^\n]*BROKEN", checked.stdout)


@pytest.mark.parametrize(
    ("module", "line"), [("store", "import sqlite3"), ("fetch", "import httpx")]
)
def test_the_part_that_holds_something_alone_may_import_it(
    copied_house: Path, module: str, line: str
) -> None:
    package = copied_house / "minicrawl" / module
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(f"{line}\n", encoding="utf-8")
    checked = check_contracts(copied_house)
    assert checked.returncode == 0, checked.stdout + checked.stderr

"""Who may import whom, and that questions change nothing, is checked; so are the checks."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.questions import changes_in_questions

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
        ("opic/intruder.py", "import minicrawl.graph", "The house"),
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


# ---------------------------------------------------------------- questions change nothing


def test_no_question_changes_anything() -> None:
    """What is named is_, has_, may_, are_ or can_ may be asked at any time, or not at all."""
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted((ROOT / "minicrawl").rglob("*.py"))
        for name, line in changes_in_questions(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("is_known", "self.asked = True"),
        ("_has_rules", "clock.recalled, other = True, 1"),
        ("may_be_asked", "self.counts[host] += 1"),
        ("are_known", "del self.waiting[host]"),
        ("can_wait", "heappush(self.queue, host)"),
        ("can_wait", "heapq.heappush(self.queue, host)"),
        ("has_room", "self.waiting.add(host)"),
        ("has_room", "self.queues.setdefault(host, deque()).append(now)"),
        ("__is_due", "table.rows[0].values.pop()"),
        ("is_done", "self.share: float = 0.0"),
        ("is_any", "return any(map(self.seen.discard, pages))"),
    ],
)
def test_a_question_that_changes_something_is_found(name: str, body: str) -> None:
    source = f"class Planted:\n    def {name}(self, host):\n        {body}\n"
    assert set(changes_in_questions(source)) == {(name, 3)}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("is_known", "found = self.hosts.get(host)"),
        ("has_room", "hosts = []; hosts.append(host)"),
        ("may_be_asked", "seen = set(self.seen); seen.add(host)"),
        ("is_later", "return self.clock.now() > max(self.times)"),
        ("may_be_asked", "hosts = []; hosts.append(self.hosts[host])"),
        ("wait", "self.waiting.add(host)"),
        ("island", "self.waiting.add(host)"),
    ],
)
def test_a_question_that_only_looks_is_none_of_them(name: str, body: str) -> None:
    source = f"class Planted:\n    def {name}(self, host):\n        {body}\n"
    assert list(changes_in_questions(source)) == []

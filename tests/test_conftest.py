"""The configuration of pytest: a command that names files runs all their tests."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import settings

from tests import conftest
from tests.conftest import MARKERS, USUAL

ROOT = Path(__file__).parents[1]
FILE = str(Path(__file__))
MARKED = re.compile(rf"mark\.({'|'.join(MARKERS)})\b")


def test_the_default_markers_are_those_of_the_project_file() -> None:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"-m {USUAL}" in found["tool"]["pytest"]["ini_options"]["addopts"]


@pytest.mark.parametrize(
    ("args", "markexpr", "ran"),
    [
        ([f"{FILE}::test", FILE], USUAL, ""),
        ([FILE, str(ROOT / "tests")], USUAL, USUAL),
        ([FILE], "proof", "proof"),
        ([FILE], "slow", "slow"),
        ([FILE], f"{USUAL} and not large", f"{USUAL} and not large"),
        ([str(ROOT / "tests")], "", ""),
    ],
)
def test_a_file_that_is_named_runs_whole_unless_a_marker_is_named(
    args: list[str], markexpr: str, ran: str
) -> None:
    option = SimpleNamespace(markexpr=f" {markexpr}")
    config = cast(pytest.Config, SimpleNamespace(args=args, option=option))
    before = settings.get_current_profile_name()
    try:
        conftest.pytest_configure(config)
        profile = settings.get_current_profile_name()
    finally:
        settings.load_profile(before)
    assert option.markexpr.strip() == ran
    assert profile == ("usual" if "not proof" in ran or ran == "slow" else "whole")


@pytest.mark.parametrize(
    ("markexpr", "source", "is_left_out"),
    [
        ("proof or documents", "@pytest.mark.proof", None),
        ("proof or documents", "pytestmark = [pytest.mark.documents]", None),
        ("proof or documents", "@pytest.mark.anyio", True),
        ("documents", "@pytest.mark.proof", True),
        ("not proof", "@pytest.mark.proof", None),
        (USUAL, "", None),
        ("", "", None),
    ],
)
def test_files_without_a_wanted_marker_are_not_imported(
    markexpr: str, source: str, is_left_out: bool | None, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    config = cast(pytest.Config, SimpleNamespace(option=SimpleNamespace(markexpr=markexpr)))
    assert conftest.pytest_ignore_collect(tmp_path / "test_it.py", config) is is_left_out
    assert conftest.pytest_ignore_collect(tmp_path, config) is None


def test_no_helper_gives_tests_a_marker_that_a_plain_run_leaves_out() -> None:
    """Files of tests without the marker's name are not imported, so each must name its own."""
    for path in (ROOT / "tests").rglob("*.py"):
        if path.name.startswith("test_"):
            continue
        assert not MARKED.search(path.read_text(encoding="utf-8")), path

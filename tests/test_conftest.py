"""The configuration of pytest: tests that a command runs, processes, and reasons of skips."""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import settings

from tests import conftest
from tests.conftest import USUAL

ROOT = Path(__file__).parents[1]
FILE = str(Path(__file__))


def configured(args: list[str], markexpr: str = f" {USUAL}") -> pytest.Config:
    option = SimpleNamespace(markexpr=markexpr)
    return cast(pytest.Config, SimpleNamespace(args=args, option=option))


def test_the_default_markers_are_those_of_the_project_file() -> None:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"-m {USUAL}" in found["tool"]["pytest"]["ini_options"]["addopts"]


@pytest.mark.parametrize(
    ("args", "markexpr", "ran"),
    [
        ([FILE], USUAL, ""),
        ([f"{FILE}::test", FILE], USUAL, ""),
        ([FILE, str(ROOT / "tests")], USUAL, USUAL),
        ([FILE], "proof", "proof"),
        ([str(ROOT / "tests")], "", ""),
    ],
)
def test_a_file_that_is_named_runs_whole_unless_a_marker_is_named(
    args: list[str], markexpr: str, ran: str
) -> None:
    config, before = configured(args, markexpr), settings.get_current_profile_name()
    try:
        conftest.pytest_configure(config)
        profile = settings.get_current_profile_name()
    finally:
        settings.load_profile(before)
    assert config.option.markexpr == ran
    assert profile == ("usual" if ran == USUAL else "whole")


def test_only_folders_are_tested_in_several_processes() -> None:
    assert conftest.pytest_xdist_auto_num_workers(configured([FILE])) == 0
    assert conftest.pytest_xdist_auto_num_workers(configured([str(ROOT / "tests")])) >= 2


def test_each_reason_of_skipped_tests_is_one_line() -> None:
    reasons = ["no nginx", "no graphs", "no nginx"]
    reports = [SimpleNamespace(longrepr=(FILE, 1, f"Skipped: {reason}")) for reason in reasons]
    lines: list[str] = []
    reporter = SimpleNamespace(stats={"skipped": reports}, write_line=lines.append)
    conftest.pytest_terminal_summary(cast(Any, reporter))
    assert lines == ["SKIPPED 2: no nginx", "SKIPPED 1: no graphs"]

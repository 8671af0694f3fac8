"""The configuration of pytest: a command that names files runs all their tests."""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import settings

from tests import conftest
from tests.conftest import USUAL

ROOT = Path(__file__).parents[1]
FILE = str(Path(__file__))


def test_the_default_markers_are_those_of_the_project_file() -> None:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"-m {USUAL}" in found["tool"]["pytest"]["ini_options"]["addopts"]


@pytest.mark.parametrize(
    ("args", "markexpr", "ran"),
    [
        ([f"{FILE}::test", FILE], USUAL, ""),
        ([FILE, str(ROOT / "tests")], USUAL, USUAL),
        ([FILE], "proof", "proof"),
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
    assert profile == ("usual" if ran == USUAL else "whole")

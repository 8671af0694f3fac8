"""Shared files are found, or an error names the variable to set."""

from pathlib import Path

import pytest

from tests.shared import BESIDE_THE_PROJECT, VARIABLES, Absent, find

EACH_KIND = pytest.mark.parametrize("kind", VARIABLES)


@EACH_KIND
def test_a_file_is_found_where_the_variable_points(kind: str, tmp_path: Path) -> None:
    (tmp_path / "small.gz").touch()
    assert find(kind, "small.gz", {VARIABLES[kind]: str(tmp_path)}) == tmp_path / "small.gz"


@EACH_KIND
def test_an_absent_file_names_the_place_and_the_variable(kind: str, tmp_path: Path) -> None:
    with pytest.raises(Absent, match=rf"{tmp_path}.*{VARIABLES[kind]}"):
        find(kind, "small.gz", {VARIABLES[kind]: str(tmp_path)})


@EACH_KIND
@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable_files_are_beside_the_project(kind: str, value: str | None) -> None:
    environment = {} if value is None else {VARIABLES[kind]: value}
    with pytest.raises(Absent, match=f"{BESIDE_THE_PROJECT / kind};"):
        find(kind, "no such file", environment)

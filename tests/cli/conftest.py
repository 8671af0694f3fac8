"""Fixtures of all tests of the command line."""

from pathlib import Path

import pytest

from minicrawl.cli.options import CONFIG_VARIABLE
from minicrawl.config.table import TABLE
from tests.stores import filled_store


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of the test's own, without a variable that sets anything."""
    monkeypatch.chdir(tmp_path)
    for variable in (CONFIG_VARIABLE, *(row.variable for row in TABLE)):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def filled(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store that commands read if they name none."""
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    return filled_store(place / "crawl.db")

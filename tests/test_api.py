"""The Python API: what docs/how-to/use-from-python.md shows is what happens."""

import doctest
from pathlib import Path

import pytest

import minicrawl
from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb

MANUAL = Path(__file__).parents[1] / "docs" / "how-to" / "use-from-python.md"


def test_the_manual_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with DemoServer(DemoWeb(200)) as server:
        ran = doctest.testfile(
            str(MANUAL),
            module_relative=False,
            globs={"address": server.address},
            optionflags=doctest.REPORT_NDIFF,
        )
    assert ran.attempted > 10
    assert ran.failed == 0


def test_every_name_of_the_api_is_there() -> None:
    assert [name for name in minicrawl.__all__ if getattr(minicrawl, name, None) is None] == []


def test_a_name_that_is_not_there_is_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Spider'"):
        _ = minicrawl.Spider  # type: ignore[attr-defined]

"""The Python API: what docs/how-to/use-from-python.md shows is what happens."""

import doctest
import gc
from pathlib import Path

import pytest

import minicrawl
from minicrawl import memory
from minicrawl.demo.web import DemoServer, DemoWeb
from minicrawl.memory import GC_THRESHOLDS

MANUAL = Path(__file__).parents[1] / "docs" / "how-to" / "use-from-python.md"


@pytest.mark.documents
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


def test_a_crawl_leaves_the_process_of_its_caller_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "ctypes", None)  # to set malloc is for commands
    web = DemoWeb(100)
    before, during = gc.get_threshold(), set()
    with DemoServer(web) as server:
        settings = minicrawl.Settings.of(
            pages=3, delay=0, store=str(tmp_path / "crawl.db"), resolve=[f"*={server.address}"]
        )
        crawl = minicrawl.Crawl(web.seeds, settings)
        crawl.subscribe(lambda _event: during.add(gc.get_threshold()))
        crawl.run()
    assert gc.get_threshold() == before
    assert during == {GC_THRESHOLDS}

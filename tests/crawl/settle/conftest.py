"""What tests of settling share."""

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from minicrawl.crawl.settle.recorder import Recorder
from tests.crawl.fakes import keeping


@pytest.fixture(autouse=True)
def _no_host_is_expensive(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hosts cost is real processor time, and would decide which page is next."""
    monkeypatch.setattr("minicrawl.crawl.hosts.politeness.FREE_S", inf)
    monkeypatch.setattr("minicrawl.crawl.hosts.politeness.FREE_UNASKED_S", inf)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with keeping(tmp_path / "crawl.db") as recorder:
        yield recorder

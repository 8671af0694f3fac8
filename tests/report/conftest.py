"""A store without a crawl, for the tests of reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl.report.snapshot import Snapshot, snapshot
from tests.stores import filled_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


@pytest.fixture
def seen(store: Path) -> Iterator[Snapshot]:
    with snapshot(store) as found:
        yield found

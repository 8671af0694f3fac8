"""A store without a crawl, for the tests of reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl.report.snapshot import Snapshot, snapshot


@pytest.fixture
def store(filled: Path) -> Path:
    return filled


@pytest.fixture
def seen(store: Path) -> Iterator[Snapshot]:
    with snapshot(store) as found:
        yield found

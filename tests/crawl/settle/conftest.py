"""Fixtures for tests of settling."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl.crawl.record.recorder import Recorder
from tests.crawl.fakes import keeping
from tests.crawl.settle.desk import Desk


@pytest.fixture(autouse=True)
def _cheap_hosts(cheap_hosts: None) -> None: ...


@pytest.fixture
def recorder(path: Path) -> Iterator[Recorder]:
    with keeping(path) as recorder:
        yield recorder


@pytest.fixture
def desk(recorder: Recorder) -> Desk:
    return Desk(recorder)

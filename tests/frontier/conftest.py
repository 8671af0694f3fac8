"""Fixtures for tests of the frontier."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.stores import HandCrawl


@pytest.fixture
def crawl(path: Path) -> Iterator[HandCrawl]:
    with closing(HandCrawl(path)) as crawl:
        yield crawl

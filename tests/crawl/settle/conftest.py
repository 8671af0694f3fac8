"""What tests of settling share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl.crawl.settle.recorder import Recorder
from tests.crawl.fakes import keeping


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with keeping(tmp_path / "crawl.db") as recorder:
        yield recorder

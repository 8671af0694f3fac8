"""Settings of the tests of stores."""

from pathlib import Path

import pytest

from tests.stores import filled_store


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Return a store of six pages, two of which were read."""
    return filled_store(tmp_path / "crawl.db")

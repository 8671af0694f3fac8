"""Settings of the tests of archives."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the place of an archive that does not exist yet."""
    return tmp_path / "crawl.db-pages"

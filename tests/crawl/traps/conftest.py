"""What tests of traps share."""

from math import inf

import pytest


@pytest.fixture(autouse=True)
def _no_host_is_expensive(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hosts cost is real processor time, and would decide which page is next."""
    monkeypatch.setattr("minicrawl.crawl.hosts.politeness.FREE_S", inf)
    monkeypatch.setattr("minicrawl.crawl.hosts.politeness.FREE_UNASKED_S", inf)

"""Fixtures for tests of traps."""

import pytest


@pytest.fixture(autouse=True)
def _cheap_hosts(cheap_hosts: None) -> None: ...

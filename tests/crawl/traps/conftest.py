"""What tests of traps share."""

import pytest


@pytest.fixture(autouse=True)
def _cheap_hosts(cheap_hosts: None) -> None: ...

"""Coroutine functions are tests: the marker `anyio` runs them in an asyncio loop."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"

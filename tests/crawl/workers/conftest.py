"""Fixtures for tests of workers."""

import pytest


@pytest.fixture(params=["/nowhere/python", "/bin/false"])
def _python_that_cannot_work(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let children run a program that does not exist, or one that ends at once."""
    monkeypatch.setattr("minicrawl.memory.child_interpreter.OWN_PYTHON", (request.param,))

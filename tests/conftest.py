"""What all tests share: the same examples on every run, and real graphs where there are any."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.real_graphs import AbsentGraph, find_graph

# Derandomised: a test that passed yesterday and fails today has met a change, not a new die.
settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=100)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def shared_graph() -> Callable[[str], Path]:
    """Answer with the path of a real graph by its file name; skip the test where it is absent."""

    def find_or_skip(name: str) -> Path:
        try:
            return find_graph(name, os.environ)
        except AbsentGraph as absence:
            pytest.skip(str(absence))

    return find_or_skip

"""A crawl that is killed again and again loses nothing: `python -m tests.crash`, but shorter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.cutting import FINE, cut_often
from tests.crash.killing import kill_often
from tests.crash.memory import folder_in_memory
from tests.crash.web import Server, serving

KILLS, CUTS, SEED = 25, 300, 8


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_in_memory() as folder:
        yield folder


def test_a_crawl_that_is_killed_loses_nothing_and_does_little_twice(
    server: Server, folder: Path
) -> None:
    report = kill_often(server, folder, KILLS, SEED)
    assert report.wrong == []
    assert report.kills == KILLS


def test_a_write_ahead_log_that_is_damaged_passes_for_no_more_than_was_committed(
    server: Server, folder: Path
) -> None:
    found = cut_often(server, folder, CUTS, SEED)
    assert set(found) <= set(FINE)
    assert found.total() == CUTS

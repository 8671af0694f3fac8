"""A store after a crawl is, byte for byte, what it was before the code was changed."""

import pytest

from tests.crash.memory import folder_in_memory
from tests.golden.logs import CASES, Case, digests, golden, logs

_HOW = """\
The log is another one. `python -m tests.golden --dump FOLDER`, here and in a checkout of the commit
before, and `diff -r` show the rows. If this was meant: `python -m tests.golden --write`."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_crawl_and_a_killed_crawl_that_goes_on_leave_the_golden_logs(case: Case) -> None:
    with folder_in_memory() as folder:
        found = logs(case, folder)
    made, kept = digests(case, found), golden()
    assert made == {name: kept.get(name) for name in made}, _HOW
    if killed := found.get("killed"):
        _is_the_beginning(killed["steps"], found["fresh"]["steps"])
        _is_the_beginning(killed["urls"], found["fresh"]["urls"])
        _is_the_beginning(killed["steps"], found["resumed"]["steps"])


def _is_the_beginning(rows: list[str], of: list[str]) -> None:
    assert 0 < len(rows) < len(of)
    assert of[: len(rows)] == rows


def test_the_golden_logs_are_of_these_cases() -> None:
    assert sorted(golden()) == sorted(
        f"{case} {way}" for case in CASES for way in ("fresh", "resumed")
    )

import sys

import pytest

from tests.golden.logs import CASES, Case, digests, golden, logs
from tests.proofs.crash.memory import folder_in_memory

_RECORDED_ON = (3, 11)
_HOW = """\
A log has changed. To see the rows, run `python -m tests.golden --dump FOLDER` here and in a
checkout of the commit before, and `diff -r`. To accept them: `python -m tests.golden --write`."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_crawl_and_a_killed_and_resumed_crawl_leave_the_golden_logs(case: Case) -> None:
    with folder_in_memory() as folder:
        found = logs(case, folder)
    made, kept = digests(case, found), golden()
    if sys.version_info[:2] != _RECORDED_ON:
        # Other versions of asyncio run tasks in another order, so that a kill meets other requests.
        made = {name: digest for name, digest in made.items() if name.endswith(" fresh")}
    assert made == {name: kept.get(name) for name in made}, _HOW
    if killed := found.get("killed"):
        assert_begins_with(killed["steps"], found["fresh"]["steps"])
        assert_begins_with(killed["urls"], found["fresh"]["urls"])
        assert_begins_with(killed["steps"], found["resumed"]["steps"])


def assert_begins_with(beginning: list[str], rows: list[str]) -> None:
    assert 0 < len(beginning) < len(rows)
    assert rows[: len(beginning)] == beginning


def test_there_is_a_golden_log_of_every_case_and_no_other() -> None:
    assert sorted(golden()) == sorted(
        f"{case} {way}" for case in CASES for way in ("fresh", "resumed")
    )

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.opic.ledger import Step, StepKind
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import FetchRow
from tests.crawl.fakes import frontier_of, in_time, keeping
from tests.crawl.settle.recording import A, bear, steps_in, visit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


@pytest.fixture
def recorder(path: Path) -> Iterator[Recorder]:
    with keeping(path) as recorder:
        yield recorder


def test_the_original_of_a_page_is_kept_when_the_page_becomes_known(
    recorder: Recorder, path: Path
) -> None:
    bear(recorder, f"{A}/")
    originals = ((f"{A}/", f"{A}/?gclid=1"), (f"{A}/1", f"{A}/1?gclid=2"))
    recorder.meet([f"{A}/", f"{A}/1", f"{A}/2"], 0, originals)
    recorder.apply_step(Step(StepKind.BORN, born=2))
    in_time(recorder.committer.commit())
    with reading(path) as connection:
        found = [tables.original(connection, page) for page in range(3)]
    assert found == [None, f"{A}/1?gclid=2", None]


def test_a_step_is_applied_at_once_and_written_with_the_next_commit(
    recorder: Recorder, path: Path
) -> None:
    bear(recorder, f"{A}/", f"{A}/1")
    visit(recorder, 0, 1)
    assert recorder.frontier.last_seq == 2
    assert steps_in(path) == 0
    in_time(recorder.committer.commit())
    assert steps_in(path) == 2
    assert frontier_of(path).ledger.totals == recorder.frontier.ledger.totals


def test_mirrors_are_counted(recorder: Recorder, path: Path) -> None:
    for _ in range(3):
        recorder.record_mirror(1, 0)
    recorder.record(FetchRow(0, 0.0, "page", 200, 1, 0.1, ""))
    in_time(recorder.committer.commit())
    with reading(path) as connection:
        assert tables.mirrors(connection) == [(1, 0, 3)]
        assert len(tables.last_fetches(connection, 0, 9)) == 1

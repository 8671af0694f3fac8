import asyncio
from pathlib import Path
from threading import Event

import pytest

from minicrawl.crawl.settle import recorder as recording
from minicrawl.crawl.settle.recorder import COMMIT_EVERY_S, Recorder
from minicrawl.errors import NoRoom
from minicrawl.opic.ledger import Spending
from minicrawl.report.crawl_status import status
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch, StoreTerms
from tests.crawl.coroutines import in_jumping_time
from tests.crawl.fakes import Disk, frontier_of, in_time, keeping
from tests.crawl.settle.recording import A, bear, document, steps_in, visit


def test_without_news_nothing_is_written(recorder: Recorder, disk: Disk) -> None:
    disk.takes_batches = False
    in_time(recorder.committer.commit())
    assert disk.tries == 0


def test_steps_are_committed_at_intervals_and_at_the_end(recorder: Recorder, path: Path) -> None:
    async def work() -> None:
        committing = asyncio.create_task(recorder.committer.keep())
        await asyncio.sleep(0)
        bear(recorder, f"{A}/")
        await asyncio.sleep(COMMIT_EVERY_S / 2)
        assert steps_in(path) == 0
        await asyncio.sleep(COMMIT_EVERY_S)
        assert steps_in(path) == 1
        bear(recorder, f"{A}/1")
        recorder.committer.finish()
        await committing

    in_time(work())
    with reading(path) as connection:
        assert tables.saved(connection).watermark == tables.last_step(connection) == 2


@in_jumping_time
async def test_a_full_batch_is_committed_at_once(
    recorder: Recorder, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "STEPS_A_BATCH", 3)
    committing = asyncio.create_task(recorder.committer.keep())
    await asyncio.sleep(0)
    for number in range(3):
        bear(recorder, f"{A}/{number}")
    began = asyncio.get_running_loop().time()
    while not steps_in(path):
        await asyncio.sleep(0.01)
    assert asyncio.get_running_loop().time() - began < COMMIT_EVERY_S
    recorder.committer.finish()
    await committing


@pytest.mark.parametrize(
    ("urls", "chars"), [(recording.MANY_URLS, 3), (1000, recording.MANY_CHARS // 1000)]
)
@in_jumping_time
async def test_a_page_with_many_or_long_new_urls_waits_until_they_are_written(
    recorder: Recorder, urls: int, chars: int
) -> None:
    bear(recorder, *(f"{A}/{number:0{chars - 1}}" for number in range(urls - 1)))
    await recorder.committer.caught_up()  # returns at once, though nothing is written
    bear(recorder, f"{A}/last")
    bear(recorder, f"{A}/{'x' * chars}")
    waiting = asyncio.create_task(recorder.committer.caught_up())
    await asyncio.sleep(0)
    assert not waiting.done()
    writing = asyncio.create_task(recorder.committer.keep())
    await waiting
    recorder.committer.finish()
    await writing


def test_many_changed_rows_cause_a_checkpoint(
    recorder: Recorder, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "CHANGES_A_CHECKPOINT", 10)
    for number in range(8):
        bear(recorder, f"{A}/{number}")
    in_time(recorder.committer.commit())
    with reading(path) as connection:
        assert tables.saved(connection).watermark == 0
    for number in range(8, 16):
        bear(recorder, f"{A}/{number}")
    in_time(recorder.committer.commit())
    with reading(path) as connection:
        assert tables.saved(connection).watermark == 16


def test_without_links_a_checkpoint_forgets_where_cash_went(path: Path) -> None:
    with keeping(path, StoreTerms(links=False)) as recorder:
        bear(recorder, f"{A}/", f"{A}/1")
        visit(recorder, 0, 1)
        visit(recorder, 1, 0)
        in_time(recorder.committer.commit(checkpoint=True))
        with reading(path) as connection:
            assert [row.seq for row in tables.steps_after(connection, 0)] == [3]
        assert recorder.frontier.spendings.of(0) == Spending(())
    assert frontier_of(path).ledger.missing() == 0


def test_a_failed_commit_has_no_checkpoint(recorder: Recorder, path: Path, disk: Disk) -> None:
    bear(recorder, f"{A}/")
    in_time(recorder.committer.commit())
    bear(recorder, f"{A}/1")
    disk.takes_batches = False
    with pytest.raises(NoRoom):
        in_time(recorder.committer.commit(checkpoint=True))
    assert len(frontier_of(path)) == 1


@in_jumping_time
async def test_steps_during_a_commit_are_kept(recorder: Recorder, path: Path, disk: Disk) -> None:
    written = Event()

    def wait(_: Batch) -> None:
        written.wait()

    disk.before_commit = wait
    bear(recorder, f"{A}/")
    recorder.describe(document(0, "before"))
    writing = asyncio.create_task(recorder.committer.commit())
    await asyncio.sleep(0)
    recorder.describe(document(0, "after"))
    bear(recorder, f"{A}/1")
    written.set()
    await writing
    assert recorder.pages.document(0) == document(0, "after")
    assert recorder.pages.url_of(1) == f"{A}/1"
    assert steps_in(path) == 1
    await recorder.committer.commit()
    assert steps_in(path) == 2


def test_status_shows_the_counts_of_the_last_commit(recorder: Recorder, path: Path) -> None:
    bear(recorder, f"{A}/", f"{A}/1")
    in_time(recorder.committer.commit())
    before = status(path)
    visit(recorder, 0, 1)
    in_time(recorder.committer.commit())
    after = status(path)
    assert (before.pages_fetched, before.pages_unread, before.g) == (0, 2, 0)
    assert (after.pages_fetched, after.pages_unread, after.g) == (1, 1, 1)
    assert after.importance_gathered is None


def test_a_checkpoint_adds_up_the_importance_gathered(recorder: Recorder, path: Path) -> None:
    bear(recorder, f"{A}/", f"{A}/1")
    visit(recorder, 0, 1)
    in_time(recorder.committer.commit(checkpoint=True))
    shares = recorder.frontier.importance()
    assert status(path).importance_gathered == pytest.approx(float(shares[0]))


def test_counters_go_on_in_the_next_run(path: Path) -> None:
    for _ in range(2):
        with keeping(path) as recorder:
            recorder.counters.add("fetched", 2)
            bear(recorder, f"{A}/{recorder.counters.number('fetched')}")
            in_time(recorder.committer.commit())
    with keeping(path) as recorder:
        assert recorder.counters.number("fetched") == 4
        assert recorder.counters.number("never") == 0

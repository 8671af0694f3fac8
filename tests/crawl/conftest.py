"""Fixtures for tests of a crawl."""

from collections.abc import Iterator

import pytest

from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import StoreWriter
from tests.crawl.fakes import Disk
from tests.crawl.jumping_clock import work_takes_no_time


@pytest.fixture
def cheap_hosts() -> Iterator[None]:
    """Let hosts cost nothing: they cost real processor time, which would change the order."""
    with work_takes_no_time():
        yield


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Disk below every store that a test writes."""
    disk = Disk()
    commit, checkpoint = StoreWriter.commit, StoreWriter.checkpoint

    def try_to_commit(store: StoreWriter, batch: Batch) -> None:
        disk.take(disk.takes_batches)
        disk.before_commit(batch)
        commit(store, batch)

    def try_to_checkpoint(
        store: StoreWriter, rows: Checkpoint, *, forget_links: bool = False
    ) -> None:
        disk.take(disk.takes_checkpoints)
        disk.before_checkpoint(store)
        checkpoint(store, rows, forget_links=forget_links)

    monkeypatch.setattr(StoreWriter, "commit", try_to_commit)
    monkeypatch.setattr(StoreWriter, "checkpoint", try_to_checkpoint)
    return disk

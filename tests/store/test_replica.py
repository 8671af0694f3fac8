"""Calls that a writer makes to a replica of its store."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.errors import NoRoom
from minicrawl.opic.ledger import Totals
from minicrawl.store.reader import LOG, file_beside
from minicrawl.store.records import Checkpoint, StoreTerms
from minicrawl.store.writer import StoreWriter
from tests.cluster.documents import document, documents


class Replica:
    """Replica that records its calls, and has room for a limited number of commits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls: list[str] = []
        self.room = 1_000
        self.wants_one = False
        self.may_checkpoint_now = True

    def kept(self, begin: int, end: int) -> None:
        self.calls.append(f"pages from {begin} to {end}")

    def committed(self) -> None:
        if not self.room:
            raise NoRoom("the engine is full")
        self.room -= 1
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as other:
            self.calls.append(f"{len(documents(other))} documents")

    @property
    def last(self) -> int:
        return len(self.calls)

    def wants_checkpoint(self) -> bool:
        return self.wants_one and self.may_checkpoint_now

    def may_checkpoint(self) -> bool:
        return self.may_checkpoint_now

    def checkpointed(self, *, is_complete: bool) -> None:
        self.calls.append("folded" if is_complete else "somebody reads")

    def closing(self) -> None:
        self.calls.append("closing")


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    return Replica(tmp_path / "crawl.db")


@pytest.fixture
def store(replica: Replica) -> Iterator[StoreWriter]:
    with closing(StoreWriter.open(replica.path, replica)) as opened:
        yield opened


def wal_bytes(path: Path) -> int:
    return file_beside(path, LOG).stat().st_size


def test_a_replica_is_called_after_each_commit(store: StoreWriter, replica: Replica) -> None:
    store.agree(StoreTerms())
    store.commit(document(1))
    store.commit(document(2))
    store.compact()
    assert replica.calls == [*(f"{count} documents" for count in (0, 1, 2, 2)), "folded"]


def test_with_a_replica_all_rows_stay_in_the_write_ahead_log(
    store: StoreWriter, replica: Replica
) -> None:
    empty = replica.path.read_bytes()
    store.commit(document(1, 2_000_000))
    store.commit(document(2, 8_000_000))
    assert replica.path.read_bytes() == empty
    assert wal_bytes(replica.path) > 10_000_000


def test_a_batch_that_a_replica_had_no_room_for_is_written_once(
    store: StoreWriter, replica: Replica
) -> None:
    replica.room, first, second = 0, document(1), document(2)
    first.fetches = [(0, 0.0, "page", 200, 0, 0.0, "", None)]  # type: ignore[list-item]  # a row of the table
    for _ in range(3):
        with pytest.raises(NoRoom, match="the engine is full"):
            store.commit(first)
    replica.room = 1_000
    store.commit(first)
    store.commit(second)
    assert [number for number, _ in documents(store.connection)] == [1, 2]
    assert store.connection.execute("SELECT count(*) FROM fetches").fetchone() == (1,)
    assert replica.calls == ["1 documents", "2 documents"]


def test_a_checkpoint_that_had_no_room_is_written_once(
    store: StoreWriter, replica: Replica
) -> None:
    totals = Totals(**dict.fromkeys(Totals._fields, 0))
    rows = Checkpoint(watermark=7, totals=totals, born=[], turned=[], paid=[(0, 1, 0)])
    replica.room = 0
    with pytest.raises(NoRoom):
        store.checkpoint(rows)
    replica.room = 1
    store.checkpoint(rows)
    assert store.connection.execute("SELECT sum(inlinks) FROM frontier").fetchone() == (1,)
    (watermark,) = store.connection.execute("SELECT value FROM meta WHERE name = 'watermark'")
    assert watermark == ("7",)


def test_the_replica_decides_when_the_log_is_checkpointed(
    store: StoreWriter, replica: Replica
) -> None:
    replica.may_checkpoint_now = False
    store.commit(document(1))
    store.compact()
    assert "folded" not in replica.calls
    replica.may_checkpoint_now, replica.wants_one = True, True
    store.commit(document(2))
    assert replica.calls[-1] == "folded"
    assert wal_bytes(replica.path) == 0


def test_a_replica_is_told_of_a_checkpoint_that_a_reader_blocked(
    store: StoreWriter, replica: Replica
) -> None:
    store.connection.execute("PRAGMA busy_timeout = 1")
    store.commit(document(1))
    with closing(sqlite3.connect(replica.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        documents(reader)
        replica.wants_one = True
        store.commit(document(2))
        assert replica.calls[-1] == "somebody reads"
    store.commit(document(3))
    assert replica.calls[-1] == "folded"


def test_a_replica_is_called_before_the_file_is_closed(tmp_path: Path) -> None:
    replica = Replica(tmp_path / "crawl.db")
    store = StoreWriter.open(replica.path, replica)
    store.commit(document(1))
    length = wal_bytes(replica.path)
    seen: list[int] = []
    replica.closing = lambda: seen.append(wal_bytes(replica.path))  # type: ignore[method-assign]
    store.close()
    assert seen == [length]

"""A store is written in atomic batches, and copied to a replica."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from errno import EACCES, EDQUOT, ENOSPC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from minicrawl.errors import DamagedStore, NoRoom, StoreError, UsageError
from minicrawl.model import KeptAnswer
from minicrawl.opic.ledger.books import Step, StepKind
from minicrawl.opic.ledger.ledger import Totals
from minicrawl.store import step_log, tables
from minicrawl.store.disk import trouble
from minicrawl.store.disk.trouble import translating_derived_errors, translating_sqlite_errors
from minicrawl.store.reader import LOG, file_beside, reading
from minicrawl.store.records import Batch, Checkpoint, HostRow, StepRow, StoreTerms, UrlRow
from minicrawl.store.writer import StoreWriter, write_rows
from tests.cluster.documents import document, documents
from tests.processes import run_python
from tests.stores import HandCrawl, filled_store

ONE_PAGE = Batch(
    hosts=[HostRow(0, "http://a.example")],
    urls=[UrlRow(0, 0, "/", 0)],
    steps=[StepRow(1, 0, Step(StepKind.BORN, born=1))],
    counters={"fetched": 7},
)


def urls(connection: tables.Connection) -> list[UrlRow]:
    return list(map(UrlRow._make, connection.execute("SELECT * FROM urls ORDER BY id")))


@pytest.fixture
def store(path: Path) -> Iterator[StoreWriter]:
    with closing(StoreWriter.open(path)) as opened:
        yield opened


def test_a_store_is_created_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "data" / "deep" / "crawl.db"
    StoreWriter.open(path).close()
    assert path.is_file()


@pytest.mark.parametrize(
    "rows", [Batch(mirrors=[(1, 0)]), Batch(answers=[KeptAnswer(b"HTTP/1.1 200 OK", at=1.0)])]
)
def test_a_batch_of_any_rows_is_to_be_written(rows: Batch) -> None:
    assert rows
    assert not Batch(counters=ONE_PAGE.counters)


def test_a_window_is_named_without_its_size() -> None:
    windows = "static", "variable:16", "fixed:30d"
    names = [StoreTerms(window=window).window_name for window in windows]
    assert names == ["static", "variable", "fixed"]


def test_the_last_problem_of_a_host_is_kept_until_the_next(store: StoreWriter) -> None:
    for said, known in (("reset", "reset"), (None, "reset"), ("tls", "tls")):
        row = HostRow(0, "http://a.example", robots="", trouble=said)
        store.commit(Batch(hosts=[row]))
        assert tables.host(store.connection, 0) == row._replace(trouble=known)


def test_a_writer_that_failed_to_open_leaves_no_lock(path: Path) -> None:
    path.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    for _ in range(2):
        with pytest.raises(UsageError, match=str(path)):
            StoreWriter.open(path)
    path.unlink()
    StoreWriter.open(path).close()


@pytest.mark.parametrize(("name", "why"), [("", "directory"), ("file/crawl.db", "file/crawl.db")])
def test_a_path_where_no_file_can_be_is_refused(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=why):
        StoreWriter.open(tmp_path / name)


def test_a_batch_is_atomic(store: StoreWriter) -> None:
    twice = Batch(urls=[UrlRow(1, 0, "/1", 0), UrlRow(0, 0, "/", 0)])
    store.commit(ONE_PAGE)
    with pytest.raises(StoreError, match=r"crawl\.db.* safe"):
        store.commit(twice)
    assert urls(store.connection) == ONE_PAGE.urls
    store.commit(Batch(urls=twice.urls[:1]))
    assert len(urls(store.connection)) == 2


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.stores import HandCrawl
crawl = HandCrawl(Path(sys.argv[1]))
crawl.seeds(["http://a.example/"])
crawl.checkpoint()
crawl.read("http://a.example/", ["http://b.example/"])
crawl.commit()
crawl.read("http://b.example/", ["http://c.example/"])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_loses_exactly_what_was_not_committed(path: Path) -> None:
    done = run_python("-c", KILLED, path, folder=Path(__file__).parents[2])
    assert done.returncode == -signal.SIGKILL
    with closing(HandCrawl(path)) as again:
        frontier = again.loaded()
        assert frontier.urls.find("http://b.example/") == 1
        assert frontier.urls.find("http://c.example/") is None
    assert list(frontier.state) == [1, 0]
    assert frontier.ledger.missing() == 0


@pytest.mark.parametrize(
    ("terms", "again"),
    [
        (StoreTerms(small_edge=0.2, window="variable", width=4.0, links=False), None),
        # An old store keeps a width and measures that are no longer options.
        (StoreTerms(window="variable", width=4, measures=4), StoreTerms(window="variable")),
        (StoreTerms(window="variable:16"), None),
    ],
)
def test_a_new_store_saves_its_terms(
    store: StoreWriter, terms: StoreTerms, again: StoreTerms | None
) -> None:
    assert tables.terms(store.connection) is None
    store.agree(terms)
    store.agree(again or terms)
    assert tables.terms(store.connection) == terms


@pytest.mark.parametrize(
    ("other", "options"),
    [
        (StoreTerms(window="static"), ("--window interpolation", "--window static")),
        (StoreTerms(window="fixed:4"), ("--window interpolation", "--window fixed:4")),
        (StoreTerms(links=False), ("--links", "--no-links")),
        (StoreTerms(strip_marks=False), ("--strip-marks", "--keep-marks")),
    ],
)
def test_terms_cannot_be_changed_later(
    store: StoreWriter, other: StoreTerms, options: tuple[str, str]
) -> None:
    store.agree(StoreTerms())
    with pytest.raises(UsageError, match=" {}\\b.* {}\\b".format(*options)):
        store.agree(other)


def test_a_store_becomes_a_copy_of_another_without_its_archive(
    store: StoreWriter, tmp_path: Path
) -> None:
    original = filled_store(tmp_path / "original.db")
    with closing(StoreWriter.open(original)) as writer:
        writer.commit(Batch(counters={tables.ARCHIVE_END: 7, "fetched": 1}))
    store.commit(ONE_PAGE)
    with reading(original) as connection:
        store.become(connection)
        assert tables.archive_end(connection) == 7
    assert tables.last_step(store.connection) == 6
    assert tables.counters(store.connection) == {"fetched": 1}
    store.commit(Batch(hosts=[HostRow(9, "http://z.example")]))
    with reading(original) as connection:
        assert len(list(tables.hosts(connection))) == 3


def test_a_store_without_links_keeps_seeds_forwards_and_the_last_step(path: Path) -> None:
    with reading(filled_store(path, StoreTerms(links=False))) as connection:
        left = [(row.seq, row.step.kind) for row in step_log.steps_after(connection, 0)]
    assert left == [(2, StepKind.ENDOWED), (5, StepKind.FORWARD), (6, StepKind.DEAD_END)]


def test_compacting_empties_the_write_ahead_log(store: StoreWriter, path: Path) -> None:
    store.commit(ONE_PAGE)
    assert wal_bytes(path) > 0
    store.compact()
    assert wal_bytes(path) == 0


def test_compacting_does_not_wait_for_a_reader(store: StoreWriter, path: Path) -> None:
    with reading(path) as reader:
        assert urls(reader) == []
        store.commit(ONE_PAGE)
        # Longer than any test: compaction must not wait at all.
        store.connection.execute(f"PRAGMA busy_timeout = {3_600_000}")
        store.compact()
        assert urls(reader) == []
    with reading(path) as reader:
        assert urls(reader) == ONE_PAGE.urls


def test_a_store_without_terms_is_damaged(store: StoreWriter) -> None:
    store.agree(StoreTerms())
    store.commit(ONE_PAGE)
    store.connection.execute("DELETE FROM meta WHERE name = 'terms'")
    with pytest.raises(StoreError, match=r"crawl\.db.* damaged.* terms"):
        store.agree(StoreTerms())


def test_repeated_pages_are_counted_per_pair_of_hosts(store: StoreWriter) -> None:
    store.commit(Batch(mirrors=[(1, 0), (2, 0), (1, 0)]))
    store.commit(Batch(mirrors=[(1, 0)]))
    assert tables.mirrors(store.connection) == [(1, 0, 3), (2, 0, 1)]


def test_a_full_database_loses_nothing(store: StoreWriter) -> None:
    store.commit(ONE_PAGE)
    (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
    store.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(NoRoom, match=r"crawl\.db.* full"):
        store.commit(Batch(urls=[UrlRow(i, 0, "/" + "x" * 500, 0) for i in range(1, 999)]))
    store.connection.execute("PRAGMA max_page_count = 1000000")
    store.commit(Batch(urls=[UrlRow(1, 0, "/1", 0)]))
    assert len(urls(store.connection)) == 2


def test_writes_are_as_patient_after_a_log_that_could_not_be_folded(store: StoreWriter) -> None:
    def authorize(_: int, pragma: str | None, *_others: str | None) -> int:
        return sqlite3.SQLITE_DENY if pragma == "wal_checkpoint" else sqlite3.SQLITE_OK

    patience_ms = store.connection.execute("PRAGMA busy_timeout").fetchone()
    store.connection.set_authorizer(authorize)
    with pytest.raises(StoreError):
        store.compact()
    store.connection.set_authorizer(None)
    assert store.connection.execute("PRAGMA busy_timeout").fetchone() == patience_ms != (0,)


INSERT = "INSERT INTO numbers VALUES (?, ?, 7)"
UPSERT = f"{INSERT} ON CONFLICT (id) DO UPDATE SET value = value + excluded.value"


def new_table() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE numbers (id INTEGER PRIMARY KEY, value, seven)")
    return connection


def numbers(connection: sqlite3.Connection) -> list[tuple[int, int, int]]:
    return connection.execute("SELECT * FROM numbers ORDER BY id").fetchall()


@pytest.mark.parametrize("count", [0, 1, 5, 1024, 3003])
def test_all_rows_are_written_by_few_statements(count: int) -> None:
    statements: list[str] = []
    with closing(new_table()) as connection:
        connection.set_trace_callback(statements.append)
        write_rows(connection, INSERT, ((number, -number) for number in range(count)))
        assert len(statements) < 20
        assert numbers(connection) == [(number, -number, 7) for number in range(count)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=90))
def test_rows_with_the_same_key_are_written_in_order(rows: list[tuple[int, int]]) -> None:
    with closing(new_table()) as once, closing(new_table()) as singly:
        write_rows(once, UPSERT, rows)
        singly.executemany(UPSERT, rows)
        assert numbers(once) == numbers(singly)


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

    def moved(self) -> None:
        self.calls.append("segments were moved")

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
def replica(path: Path) -> Replica:
    return Replica(path)


@pytest.fixture
def replicated(replica: Replica) -> Iterator[StoreWriter]:
    with closing(StoreWriter.open(replica.path, replica)) as opened:
        yield opened


def wal_bytes(path: Path) -> int:
    return file_beside(path, LOG).stat().st_size


def test_a_replica_is_called_after_each_commit(replicated: StoreWriter, replica: Replica) -> None:
    replicated.agree(StoreTerms())
    replicated.commit(document(1))
    replicated.commit(document(2))
    replicated.compact()
    assert replica.calls == [*(f"{count} documents" for count in (0, 1, 2, 2)), "folded"]


def test_with_a_replica_all_rows_stay_in_the_write_ahead_log(
    replicated: StoreWriter, replica: Replica
) -> None:
    empty = replica.path.read_bytes()
    replicated.commit(document(1, 2_000_000))
    replicated.commit(document(2, 8_000_000))
    assert replica.path.read_bytes() == empty
    assert wal_bytes(replica.path) > 10_000_000


def test_a_batch_that_a_replica_had_no_room_for_is_written_once(
    replicated: StoreWriter, replica: Replica
) -> None:
    replica.room, first, second = 0, document(1), document(2)
    first.fetches = [(0, 0.0, "page", 200, 0, 0.0, "", None)]  # type: ignore[list-item]  # a row of the table
    for _ in range(3):
        with pytest.raises(NoRoom, match="the engine is full"):
            replicated.commit(first)
    replica.room = 1_000
    replicated.commit(first)
    replicated.commit(second)
    assert [number for number, _ in documents(replicated.connection)] == [1, 2]
    assert replicated.connection.execute("SELECT count(*) FROM fetches").fetchone() == (1,)
    assert replica.calls == ["1 documents", "2 documents"]


def test_a_checkpoint_that_had_no_room_is_written_once(
    replicated: StoreWriter, replica: Replica
) -> None:
    totals = Totals(**dict.fromkeys(Totals._fields, 0))
    rows = Checkpoint(watermark=7, totals=totals, born=[], turned=[], paid=[(0, 1, 0)])
    replica.room = 0
    with pytest.raises(NoRoom):
        replicated.checkpoint(rows)
    replica.room = 1
    replicated.checkpoint(rows)
    assert replicated.connection.execute("SELECT sum(inlinks) FROM frontier").fetchone() == (1,)
    (watermark,) = replicated.connection.execute("SELECT value FROM meta WHERE name = 'watermark'")
    assert watermark == ("7",)


def test_the_replica_decides_when_the_log_is_checkpointed(
    replicated: StoreWriter, replica: Replica
) -> None:
    replica.may_checkpoint_now = False
    replicated.commit(document(1))
    replicated.compact()
    assert "folded" not in replica.calls
    replica.may_checkpoint_now, replica.wants_one = True, True
    replicated.commit(document(2))
    assert replica.calls[-1] == "folded"
    assert wal_bytes(replica.path) == 0


def test_a_replica_is_told_of_a_checkpoint_that_a_reader_blocked(
    replicated: StoreWriter, replica: Replica
) -> None:
    replicated.connection.execute("PRAGMA busy_timeout = 1")
    replicated.commit(document(1))
    with closing(sqlite3.connect(replica.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        documents(reader)
        replica.wants_one = True
        replicated.commit(document(2))
        assert replica.calls[-1] == "somebody reads"
    replicated.commit(document(3))
    assert replica.calls[-1] == "folded"


def test_a_replica_is_called_before_the_file_is_closed(replica: Replica) -> None:
    store = StoreWriter.open(replica.path, replica)
    store.commit(document(1))
    length = wal_bytes(replica.path)
    seen: list[int] = []
    replica.closing = lambda: seen.append(wal_bytes(replica.path))  # type: ignore[method-assign]
    store.close()
    assert seen == [length]


IOERR_SHMSIZE = sqlite3.SQLITE_IOERR_SHMSIZE


def complaint(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


def kind_of(error: sqlite3.Error, path: Path) -> type[BaseException]:
    with pytest.raises(StoreError) as raised, translating_sqlite_errors(path, "all is safe"):
        raise error
    assert str(raised.value).startswith(f"{path}: ")
    assert "disk I/O error" in str(raised.value)
    assert ("disk is full" in str(raised.value)) == (raised.type is NoRoom)
    assert str(raised.value).endswith("; all is safe")
    return raised.type


def test_a_full_disk_is_distinguished_from_other_errors(path: Path) -> None:
    assert kind_of(complaint(sqlite3.SQLITE_FULL), path) is NoRoom
    assert kind_of(complaint(sqlite3.SQLITE_CORRUPT), path) is DamagedStore
    assert kind_of(complaint(IOERR_SHMSIZE), path) is StoreError
    assert kind_of(sqlite3.OperationalError("disk I/O error"), path) is StoreError
    assert list(path.parent.iterdir()) == []


def test_damaged_derived_data_is_no_damage_of_the_store(path: Path) -> None:
    with pytest.raises(StoreError, match="rebuilt") as raised, translating_derived_errors(path):
        raise complaint(sqlite3.SQLITE_CORRUPT)
    assert raised.type is StoreError


def test_a_full_disk_is_no_reason_to_delete_derived_data(path: Path) -> None:
    with pytest.raises(NoRoom) as raised, translating_derived_errors(path):
        raise complaint(sqlite3.SQLITE_FULL)
    assert str(raised.value).endswith("(disk I/O error)")


@pytest.mark.parametrize(
    ("code", "kind"), [(ENOSPC, NoRoom), (EDQUOT, NoRoom), (EACCES, StoreError)]
)
def test_an_unspecific_write_error_is_decided_by_a_trial_write(
    code: int, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(trouble, "TemporaryFile", fail)
    assert kind_of(complaint(IOERR_SHMSIZE), Path("crawl.db")) is kind

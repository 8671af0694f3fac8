"""Readers see a store as of its last commit, and change nothing."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from minicrawl.errors import MissingStoreError, StoreError, UsageError
from minicrawl.store import questions, request_log, step_log, tables
from minicrawl.store.disk import integrity
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch, HostRow
from minicrawl.store.schema import VERSION, check_version, prepare
from tests.stores import DEEP, NOON, A, B, HandCrawl, filled_store


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    path = filled_store(tmp_path / "shelf" / "crawl.db")
    path.parent.chmod(0o555)
    if os.access(path.parent, os.W_OK):
        path.parent.chmod(0o755)
        pytest.skip("nothing is read-only to this user")
    yield path
    path.parent.chmod(0o755)


def test_a_missing_store_is_refused_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path / 'x'}.*`minicrawl crawl`"):
        reading(tmp_path / "x").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_no_store(path: Path) -> None:
    path.touch()
    with pytest.raises(MissingStoreError):
        reading(path).__enter__()


def test_a_store_in_a_read_only_folder_can_be_read(read_only: Path) -> None:
    with reading(read_only) as connection:
        assert tables.url_of(connection, 0) == A
    assert [file.name for file in read_only.parent.iterdir()] == ["crawl.db", "crawl.db-lock"]


def test_a_path_may_have_special_characters_of_urls(tmp_path: Path) -> None:
    with reading(filled_store(tmp_path / "what?mode=rwc&a=%20#.db")) as connection:
        assert tables.url_of(connection, 0) == A


def test_a_reader_sees_a_consistent_snapshot_during_a_crawl(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.commit()
        with reading(crawl.path) as connection:
            assert integrity.steps_known(connection) == (1, 1)
            crawl.read(A, [B])
            crawl.commit()
            assert integrity.steps_known(connection) == (1, 1)
        with reading(crawl.path) as connection:
            assert integrity.steps_known(connection) == (2, 2)


def test_a_reader_cannot_write(filled: Path) -> None:
    refused = pytest.raises(StoreError, match="readonly")
    with refused, reading(filled) as connection:
        connection.execute("DELETE FROM urls")


def test_a_reader_sees_a_new_store_complete_or_not_at_all(tmp_path: Path) -> None:
    path, seen = tmp_path / "crawl.db", set[int]()

    def look(_: str) -> None:
        with suppress(MissingStoreError), reading(path) as found:
            seen.add(check_version(found, str(path)))

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.set_trace_callback(look)
        prepare(connection, str(path))
        look("")
    assert seen == {VERSION}


def test_questions_about_pages_are_answered(filled: Path) -> None:
    with reading(filled) as connection:
        documents = list(tables.all_documents(connection))
        assert [row.title for row in documents] == ["The first", "The second"]
        assert list(questions.documents(connection, [5, 1, 0, 2])) == documents
        assert tables.document(connection, 0) == documents[0]
        assert tables.document(connection, 5) is None
        assert questions.pages_read_by_host(connection) == {0: 1, 1: 1}
        assert questions.locations(connection, [3, 0, 1]) == (
            [DEEP, A, B],
            ["http://a.example", "http://a.example", "http://b.example"],
            [1, 0, 0],
        )
        assert request_log.last_values(connection, "status", [5, 2, 0, 3]) == [None, 301, 200, None]
        assert questions.find(connection, "http://b.example", "/gone") == 5
        assert questions.find(connection, "http://b.example", "/other") is None
        assert questions.find(connection, "https://b.example", "/gone") is None
        assert tables.host(connection, 1) == HostRow(1, "http://b.example")
        assert tables.host(connection, 99) is None


def test_only_the_first_seeds_are_named_and_all_are_counted(filled: Path) -> None:
    with reading(filled) as connection:
        assert step_log.first_seeds(connection, 1) == ([A], 2)


def test_pages_are_ordered_by_their_first_reading(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B])
        crawl.read(B)
        crawl.read(A)
        crawl.batch.documents[0] = crawl.batch.documents[0]._replace(last_at=NOON + 3)
        crawl.commit()
        connection = crawl.store.connection
        assert questions.pages_by_first_reading(connection) == [1, 0]
        assert questions.pages_read_since(connection, NOON + 2) == [(0, NOON + 2)]


def test_hosts_with_a_pause_or_a_trouble_are_listed(filled: Path) -> None:
    pausing = HostRow(0, "http://a.example", wait_until=7.0)
    troubled = HostRow(1, "http://b.example", trouble="slow")
    with closing(HandCrawl(filled)) as crawl:
        crawl.store.commit(Batch(hosts=[pausing, troubled]))
        waiting = questions.hosts_waiting(crawl.store.connection)
        assert waiting == {0: (7.0, ""), 1: (0.0, "slow")}


def test_words_of_a_title_are_found_in_any_case(filled: Path) -> None:
    with reading(filled) as connection:
        assert questions.pages_with(connection, ["THE", "Second"]) == [1]


def test_a_page_that_failed_had_a_turn(filled: Path) -> None:
    with reading(filled) as connection:
        seqs, pages = step_log.turns(connection)
    assert (seqs.tolist(), pages.tolist()) == ([3, 4, 5, 6], [0, 1, 2, 5])


def test_links_and_bytes_of_titles_are_counted(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B])
        crawl.read(A, [B, DEEP], title="Übersicht")
        crawl.read(B, [A, DEEP])
        crawl.checkpoint()
        assert questions.links_stored(crawl.store.connection)[0] == 4
        assert questions.documents_stored(crawl.store.connection) == (2, len("Übersicht".encode()))


def test_any_number_of_locations_can_be_requested(path: Path) -> None:
    urls = [f"http://a.example/{number}" for number in range(34_567)]
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(urls)
        crawl.commit()
        connection = crawl.store.connection
        assert questions.locations(connection, range(34_566, -1, -1)).urls == urls[::-1]
        assert questions.locations(connection, []) == ([], [], [])


@pytest.mark.parametrize("ids", [[0, 99], [0, 5]])
def test_a_page_with_no_location_or_two_is_refused(filled: Path, ids: list[int]) -> None:
    with closing(HandCrawl(filled)) as crawl:
        connection = crawl.store.connection
        connection.execute("UPDATE urls SET path = '/two' || char(10) || '/lines' WHERE id = 5")
        with pytest.raises(ValueError, match="2 pages"):
            questions.locations(connection, ids)


def left_by_a_killed_writer(path: Path) -> Path:
    """Create a store whose last commit is in its write-ahead log alone."""
    crawl = HandCrawl(path)
    crawl.seeds([A])
    crawl.commit()
    copy = path.with_name("copy")
    for suffix in ("", "-wal", "-lock"):
        shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    crawl.close()
    return copy


def without_wal_index(path: Path) -> dict[str, bytes]:
    """Prevent SQLite from creating the index of the log; return the files of the store."""
    index = path.with_name(f"{path.name}-shm")
    index.symlink_to(index.name)
    return contents(path)


def contents(path: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes()
        for file in path.parent.glob(f"{path.name}*")
        if file.is_file() and file.stat().st_size
    }


def test_a_store_is_read_if_the_index_of_its_log_cannot_be_created(filled: Path) -> None:
    before = without_wal_index(filled)
    with reading(filled) as connection:
        assert tables.url_of(connection, 0) == A
    assert contents(filled) == before


@pytest.mark.parametrize("has_lock", [True, False])
def test_commits_in_the_log_are_read_if_its_index_cannot_be_created(
    tmp_path: Path, has_lock: bool
) -> None:
    path = left_by_a_killed_writer(tmp_path / "crawl.db")
    if not has_lock:
        path.with_name("copy-lock").unlink()
    before = without_wal_index(path)
    assert before.keys() == {"copy", "copy-wal"}
    for _ in range(2):
        with reading(path) as connection:
            assert integrity.steps_known(connection) == (1, 1)
    assert contents(path) == before


def test_the_log_of_a_running_writer_is_not_read_without_its_index(tmp_path: Path) -> None:
    path = left_by_a_killed_writer(tmp_path / "crawl.db")
    without_wal_index(path)
    with path.with_name("copy-lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="copy cannot be read"):
            reading(path).__enter__()


def test_a_folder_in_the_place_of_the_log_is_refused(filled: Path) -> None:
    log = Path(f"{filled}-wal")
    log.mkdir()
    (log / "full").touch()
    with pytest.raises(UsageError, match=r"crawl\.db cannot be read"):
        reading(filled).__enter__()


@pytest.mark.parametrize("query", [request_log.changes, request_log.mended])
def test_requests_since_a_moment_are_read_in_their_order(
    filled: Path, query: Callable[[tables.Connection, float], list[tuple[int, float]]]
) -> None:
    """The index by page would lead to each request of a large store in random order."""
    with reading(filled) as connection:
        queries = list[str]()
        connection.set_trace_callback(queries.append)
        query(connection, 0.0)
        connection.set_trace_callback(None)
        plan = connection.execute(f"EXPLAIN QUERY PLAN {queries[0]}").fetchall()
    assert plan[0][-1] == "SCAN now"

"""A store has one writer, even if its file or its lock file is renamed, linked or removed."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.config import Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.record.store_with_archive import StoreWithArchive, open_keeping
from minicrawl.errors import MinicrawlError, StoreError, UsageError
from minicrawl.store.merging import mark
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import body, kept, url
from tests.processes import run_python


def refuses_a_writer(path: Path) -> bool:
    """Return whether another process fails to open the store for writing."""
    code = (
        "import sys; from pathlib import Path; from minicrawl.errors import MinicrawlError\n"
        "from minicrawl.store.writer import StoreWriter\n"
        "try: StoreWriter.open(Path(sys.argv[1]))\n"
        "except MinicrawlError: sys.exit(9)"
    )
    return run_python("-c", code, path).returncode == 9


def unchanged(path: Path) -> Path:
    return path


def lock_removed(path: Path) -> Path:
    path.with_name("crawl.db-lock").unlink()
    return path


def lock_moved(path: Path) -> Path:
    path.with_name("crawl.db-lock").rename(path.with_name("elsewhere"))
    return path


def hard_link(path: Path) -> Path:
    os.link(path, path.with_name("other.db"))
    return path.with_name("other.db")


def symbolic_link(path: Path) -> Path:
    path.with_name("link.db").symlink_to(path)
    return path.with_name("link.db")


def renamed(path: Path) -> Path:
    return path.rename(path.with_name("other.db"))


@pytest.mark.parametrize(
    "change", [unchanged, lock_removed, lock_moved, hard_link, symbolic_link, renamed]
)
def test_a_second_writer_is_refused(path: Path, change: Callable[[Path], Path]) -> None:
    with closing(StoreWriter.open(path)) as store:
        store.commit(Batch(counters={"a": 1}))
        assert refuses_a_writer(change(path))


@pytest.mark.parametrize("change", [lock_removed, lock_moved])
def test_a_writer_recreates_its_lost_lock_file(path: Path, change: Callable[[Path], Path]) -> None:
    with closing(StoreWriter.open(path)) as store:
        change(path)
        store.commit(Batch(counters={"a": 1}))
        assert path.with_name("crawl.db-lock").exists()
        assert refuses_a_writer(path)
    assert not path.with_name("crawl.db-lock").exists()
    assert not refuses_a_writer(path)


def replaced(path: Path) -> None:
    renamed(path)
    sqlite3.connect(path).close()


def taken_by_an_earlier_version(path: Path) -> None:
    lock_removed(path)
    code = (
        "import fcntl, os, sys; h = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "fcntl.flock(h, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, f"{path}-lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    other.stdout.readline()
    holders.append(other)


holders: list[subprocess.Popen[bytes]] = []


@pytest.mark.parametrize("change", [renamed, replaced, taken_by_an_earlier_version])
def test_a_writer_that_lost_its_lock_stops_writing(
    path: Path, change: Callable[[Path], object]
) -> None:
    storing = Storing(keep="pages")
    with (
        closing(StoreWriter.open(path)) as store,
        closing(open_keeping(store, storing, nobody_listens)) as keeping,
    ):
        both = StoreWithArchive(store, keeping)
        both.commit(Batch(answers=[kept(url(1), body(1))]))
        change(path)
        segment = archive_folder(path) / "segment-000001.pages"
        later = segment.read_bytes() + b"what another writer appended"
        segment.write_bytes(later)
        with pytest.raises(StoreError, match=path.name):
            both.commit(Batch(answers=[kept(url(2), body(2))]))
        with pytest.raises(StoreError, match=path.name):
            store.commit(Batch(counters={"a": 1}))
        with pytest.raises(StoreError, match=path.name):
            mark(store, 1)
    assert segment.read_bytes() == later
    while holders:
        holders.pop().communicate()


def test_the_archive_of_a_writer_is_locked_too(path: Path) -> None:
    storing = Storing(keep="pages")
    with (
        closing(StoreWriter.open(path)) as store,
        closing(open_keeping(store, storing, nobody_listens)),
    ):
        renamed(path)  # and a new database takes its place
        path.with_name("crawl.db-lock").unlink()
        with (
            closing(StoreWriter.open(path)) as other,
            pytest.raises(MinicrawlError, match="in use"),
        ):
            open_keeping(other, storing, nobody_listens)


def test_a_store_with_two_hard_links_is_read_only(path: Path) -> None:
    StoreWriter.open(path).close()
    hard_link(path)
    with reading(path):
        pass
    with pytest.raises(UsageError, match="2 names"):
        StoreWriter.open(path)


def test_a_reader_keeps_its_locks_when_a_writer_of_its_process_ends(path: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        store.commit(Batch(counters={"a": 1}))
    with reading(path) as connection:
        StoreWriter.open(path).close()
        code = (
            "import sqlite3, sys; other = sqlite3.connect(sys.argv[1], timeout=0)\n"
            "other.execute('PRAGMA journal_mode = DELETE')"
        )
        changed = run_python("-c", code, path)
        assert "locked" in changed.stderr, "SQLite ignored the lock of the reader"
        assert connection.execute("SELECT count(*) FROM meta").fetchone() is not None

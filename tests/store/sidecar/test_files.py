"""Files beside a store: temporary ones are removed, and the others move with it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from errno import EXDEV
from pathlib import Path

import pytest

from minicrawl.errors import StoreError, UsageError
from minicrawl.store.disk.files import bytes_of, files_of, move, set_aside
from minicrawl.store.reader import connect, reading
from minicrawl.store.writer import StoreWriter
from tests.stores import filled_store

PATIENCE_S = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store with an archive, ranks and a log beside it."""
    store = filled_store(tmp_path / "crawl.db")
    (tmp_path / "crawl.db-pages").mkdir()
    (tmp_path / "crawl.db-pages" / "1").write_text("abc")
    (tmp_path / "crawl.db-ranks").write_text("ranks")
    (tmp_path / "crawl.db.log.1").write_text("log")
    (tmp_path / "other.db").write_text("")
    return store


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


ALL = {"crawl.db", "crawl.db-pages", "crawl.db-ranks", "crawl.db.log.1"}


def test_the_last_of_two_readers_leaves_no_files(path: Path) -> None:
    with reading(path) as one:
        with reading(path):
            pass
        assert one.execute("SELECT count(*) FROM urls").fetchone()
    assert names(path.parent) == ALL | {"other.db"}


def test_a_reader_outlives_a_writer_and_then_removes_the_files(path: Path) -> None:
    with reading(path) as seen:
        before = seen.execute("SELECT count(*) FROM meta").fetchone()
        with closing(StoreWriter.open(path)) as store:
            store.connection.execute("INSERT INTO meta VALUES ('x', 'y')")
        assert seen.execute("SELECT count(*) FROM meta").fetchone() == before
    assert names(path.parent) == ALL | {"other.db"}
    with closing(connect(path)) as later:
        assert later.execute("SELECT value FROM meta WHERE name = 'x'").fetchone() == ("y",)


def test_the_log_of_a_killed_writer_stays_until_the_next_writer(path: Path) -> None:
    code = f"""
from pathlib import Path; import os, signal
from minicrawl.store.writer import StoreWriter
store = StoreWriter.open(Path({str(path)!r}))
store.connection.execute("INSERT INTO meta VALUES ('x', 'y')")
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE_S)
    with reading(path) as connection:
        assert connection.execute("SELECT value FROM meta WHERE name = 'x'").fetchone() == ("y",)
    assert {"crawl.db-wal", "crawl.db-lock"} <= names(path.parent)
    for was_cut_off in (True, False):
        with closing(StoreWriter.open(path)) as store:
            assert store.was_cut_off is was_cut_off
        assert names(path.parent) == ALL | {"other.db"}


def test_the_log_of_a_copy_without_its_lock_stays_until_the_next_writer(path: Path) -> None:
    copy, writer = path.with_name("other.db"), StoreWriter.open(path)
    with closing(writer):
        writer.connection.execute("INSERT INTO meta VALUES ('x', 'y')")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    with reading(copy) as connection:
        assert connection.execute("SELECT value FROM meta WHERE name = 'x'").fetchone() == ("y",)
    with closing(StoreWriter.open(copy)) as store:
        assert store.was_cut_off


def test_a_lock_file_that_its_owner_removes_meanwhile_is_not_used(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, opened = StoreWriter.open(path), os.open

    def late(file: Path, flags: int, mode: int = 0o777) -> int:
        handle = opened(file, flags, mode)
        monkeypatch.setattr(os, "open", opened)
        first.close()  # between the opening of the lock and its locking
        return handle

    monkeypatch.setattr(os, "open", late)
    with closing(StoreWriter.open(path)), pytest.raises(StoreError, match=r"crawl\.db.* in use"):
        StoreWriter.open(path)


def test_files_of_a_store_are_listed_and_their_sizes_add_up(path: Path) -> None:
    found = files_of(path)
    assert {file.name for file in found} == ALL
    assert found[-1] == path
    assert sum(map(bytes_of, found)) == path.stat().st_size + len("abc" + "ranks" + "log")


def test_a_store_moves_with_all_its_files(path: Path, tmp_path: Path) -> None:
    to = tmp_path / "deep" / "site.db"
    assert move(path, to)[-1] == to
    assert names(to.parent) == {name.replace("crawl", "site") for name in ALL}
    assert names(tmp_path) == {"other.db", "deep"}
    with reading(to) as connection:
        assert connection.execute("SELECT count(*) FROM urls").fetchone()


def test_a_store_moved_into_a_folder_keeps_its_name(path: Path, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    assert move(path, tmp_path / "old")[-1] == tmp_path / "old" / "crawl.db"
    assert names(tmp_path / "old") == ALL


def test_a_move_replaces_nothing(path: Path, tmp_path: Path) -> None:
    (tmp_path / "site.db-pages").mkdir()
    with pytest.raises(UsageError, match=r"site\.db-pages exists"):
        move(path, tmp_path / "site.db")
    assert names(tmp_path) >= ALL


def test_a_store_in_use_cannot_be_moved(path: Path, tmp_path: Path) -> None:
    with closing(StoreWriter.open(path)), pytest.raises(StoreError, match=r"crawl\.db.* in use"):
        move(path, tmp_path / "site.db")
    with reading(path), pytest.raises(StoreError, match=r"crawl\.db is being read"):
        move(path, tmp_path / "site.db")
    assert names(tmp_path) >= ALL


def refusing(after: int, error: BaseException) -> Callable[[Path, Path], Path]:
    """Return a rename that fails after a number of files."""
    done: list[Path] = []
    rename = Path.rename

    def refuse(file: Path, to: Path) -> Path:
        if len(done) == after:
            raise error
        done.append(to)
        return rename(file, to)

    return refuse


def test_an_interrupted_move_is_completed_by_repeating_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "new" / "crawl.db"
    for after in (0, 1, 2):
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", refusing(after, KeyboardInterrupt()))
            with pytest.raises(KeyboardInterrupt):
                move(path, to)
        assert path.exists()
        assert names(tmp_path) | names(tmp_path / "new") >= ALL
    assert move(path, to)[-1] == to
    assert names(tmp_path / "new") == ALL


def test_a_move_to_another_file_system_copies(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, to = Path.rename, tmp_path / "new" / "crawl.db"

    def refuse(file: Path, target: Path) -> Path:
        if file.parent != target.parent:
            raise OSError(EXDEV, "Invalid cross-device link")
        return rename(file, target)

    monkeypatch.setattr(Path, "rename", refuse)
    move(path, to)
    assert names(to.parent) == ALL
    assert names(tmp_path) == {"new", "other.db"}


def test_the_file_of_a_running_dashboard_is_not_set_aside(path: Path, tmp_path: Path) -> None:
    note = path.with_name(f"{path.name}-dashboard")
    note.write_text("token", encoding="ascii")
    assert set_aside(path)
    assert note.read_text(encoding="ascii") == "token"
    assert len([name for name in names(tmp_path) if "-dashboard" in name]) == 1


def test_all_files_are_set_aside_together(path: Path, tmp_path: Path) -> None:
    aside = set_aside(path)
    assert aside is not None
    assert names(tmp_path) == {aside.name + name.removeprefix("crawl.db") for name in ALL} | {
        "other.db"
    }

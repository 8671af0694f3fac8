"""Unusable indexes are rebuilt or reported in one line, and nothing is lost."""

import shutil
import sqlite3
from contextlib import closing
from errno import ENOSPC
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.errors import NoRoom
from minicrawl.search import indexing as index_folder
from minicrawl.search.index import index_errors
from minicrawl.search.indexing import bring_up_to_date, locked_folder
from minicrawl.search.notes import VERSION
from minicrawl.search.searching import IMPORTANCE
from minicrawl.store.reader import archive_folder, search_folder
from tests.search.stored.stores import PAGES, SEA, read_into

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    read_into(folder / "crawl.db", PAGES)
    bring_up_to_date(folder / "crawl.db")
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "crawl.db"


def searched(store: Path, capsys: Captured) -> tuple[int, str, list[str]]:
    capsys.readouterr()
    code = main(["search", "salt", "--store", str(store)])
    out, err = capsys.readouterr()
    return code, out, err.splitlines()


def test_an_index_of_an_older_version_is_rebuilt_with_a_message(
    store: Path, capsys: Captured
) -> None:
    with closing(sqlite3.connect(search_folder(store) / "notes.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = 1 WHERE name = 'version'")
    code, out, err = searched(store, capsys)
    assert code == 0
    assert SEA in out
    assert f"version 1 instead of {VERSION}" in err[0]
    assert searched(store, capsys)[2] == []


def test_during_a_write_searches_work_and_a_second_writer_is_refused(
    store: Path, capsys: Captured
) -> None:
    with locked_folder(search_folder(store)):
        code, out, err = searched(store, capsys)
        assert (code, err) == (0, [])
        assert SEA in out
        assert main(["index", "--store", str(store)]) == 1
        assert "another process" in capsys.readouterr().err


def test_fresh_refuses_if_the_archive_lacks_pages(store: Path, capsys: Captured) -> None:
    (archive_folder(store) / "segment-000001.pages").unlink()
    assert main(["index", "--fresh", "--store", str(store)]) == 2
    assert "segment-000001.pages of" in capsys.readouterr().err
    code, out, _ = searched(store, capsys)
    assert (code, SEA in out) == (0, True)


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        *((suffix, b"\xff" * 40) for suffix in ("store", "idx", "term", "pos", "fast")),
        ("store", b""),
        ("term", None),
    ],
)
def test_damaged_and_missing_files_are_repaired_by_a_fresh_index(
    store: Path, capsys: Captured, suffix: str, content: bytes | None
) -> None:
    for file in (search_folder(store) / "index").glob(f"*.{suffix}"):
        file.unlink()
        if content is not None:
            file.write_bytes(content)
    code, out, err = searched(store, capsys)
    assert code in (0, 1)
    assert (SEA in out) == (code == 0)
    assert not any("Traceback" in line for line in err)
    assert main(["index", "--fresh", "--store", str(store)]) == 0
    code, out, err = searched(store, capsys)
    assert (code, err) == (0, [])
    assert SEA in out


def test_a_damaged_table_of_near_duplicates_folds_nothing(store: Path, capsys: Captured) -> None:
    (search_folder(store) / "near-duplicates").write_bytes(b"likes 1\n\xff")
    code, out, _ = searched(store, capsys)
    assert code == 0
    assert SEA in out


def no_room(*_: object, **__: object) -> None:
    raise OSError(ENOSPC, "No space left on device")


def no_room_for_sqlite(*_: object) -> None:
    raise NoRoom("the disk is full (disk I/O error)")


def test_on_a_full_disk_searches_work_and_the_index_is_unchanged(
    store: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = search_folder(store)
    (folder / IMPORTANCE).unlink(missing_ok=True)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    monkeypatch.setattr(Path, "touch", no_room)
    monkeypatch.setattr(Path, "write_bytes", no_room)
    monkeypatch.setattr(index_folder, "Notes", no_room_for_sqlite)
    code, out, err = searched(store, capsys)
    assert code == 0
    assert SEA in out
    (line,) = err
    assert all(word in line for word in (IMPORTANCE, "No space left on device"))
    assert {file: file.read_bytes() for file in before} == before


def test_a_full_disk_while_indexing_is_not_called_damage(store: Path) -> None:
    full = ValueError("An IO error occurred: 'No space left on device (os error 28)'")
    with pytest.raises(NoRoom, match="full"), index_errors(search_folder(store) / "index"):
        raise full

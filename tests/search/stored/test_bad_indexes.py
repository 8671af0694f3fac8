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
from minicrawl.search.importance_file import IMPORTANCE
from minicrawl.search.index import index_errors
from minicrawl.search.indexing.index_folder import locked_folder
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.notes import VERSION
from minicrawl.store.reader import archive_folder, search_folder
from tests.cli.calls import Captured, refusal
from tests.search.stored.stores import PAGES, SEA, read_into


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


def searched(store: Path, capsys: Captured) -> list[str]:
    """Search for a page, and return the lines on stderr."""
    capsys.readouterr()
    assert main(["search", "salt", "--store", str(store)]) == 0
    out, err = capsys.readouterr()
    assert SEA in out
    return err.splitlines()


def test_an_index_of_an_older_version_is_rebuilt_with_a_message(
    store: Path, capsys: Captured
) -> None:
    with closing(sqlite3.connect(search_folder(store) / "notes.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = 1 WHERE name = 'version'")
    assert f"version 1 instead of {VERSION}" in searched(store, capsys)[0]
    assert searched(store, capsys) == []


@pytest.mark.slow
def test_during_a_write_searches_work_and_a_second_writer_is_refused(
    store: Path, capsys: Captured
) -> None:
    with locked_folder(search_folder(store)):
        assert searched(store, capsys) == []
        assert "another process" in refusal(capsys, "index", "--store", store, code=1)


def test_fresh_refuses_if_the_archive_lacks_pages(store: Path, capsys: Captured) -> None:
    (archive_folder(store) / "segment-000001.pages").unlink()
    said = refusal(capsys, "index", "--fresh", "--store", store)
    assert "segment-000001.pages of" in said
    searched(store, capsys)


@pytest.mark.slow
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
    code = main(["search", "salt", "--store", str(store)])
    out, err = capsys.readouterr()
    assert code in (0, 1)
    assert (SEA in out) == (code == 0)
    assert "Traceback" not in err
    assert main(["index", "--fresh", "--store", str(store)]) == 0
    assert searched(store, capsys) == []


def test_a_damaged_table_of_near_duplicates_folds_nothing(store: Path, capsys: Captured) -> None:
    (search_folder(store) / "near-duplicates").write_bytes(b"likes 1\n\xff")
    searched(store, capsys)


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
    monkeypatch.setattr("minicrawl.search.indexing.index_folder.Notes", no_room_for_sqlite)
    (line,) = searched(store, capsys)
    assert all(word in line for word in (IMPORTANCE, "No space left on device"))
    assert {file: file.read_bytes() for file in before} == before


def test_a_full_disk_while_indexing_is_not_called_damage(store: Path) -> None:
    full = ValueError("An IO error occurred: 'No space left on device (os error 28)'")
    with pytest.raises(NoRoom, match="full"), index_errors(search_folder(store) / "index"):
        raise full

"""Errors of SQLite become errors of the store; a full disk has a type of its own."""

import sqlite3
from errno import EACCES, EDQUOT, ENOSPC
from pathlib import Path
from typing import Any

import pytest

from minicrawl.errors import DamagedStore, NoRoom, StoreError
from minicrawl.store import records as trouble
from minicrawl.store.records import translating_derived_errors, translating_sqlite_errors

IOERR_SHMSIZE = sqlite3.SQLITE_IOERR_SHMSIZE


def complaint(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


def kind_of(error: sqlite3.Error, path: Path) -> type[BaseException]:
    with pytest.raises(StoreError) as raised, translating_sqlite_errors(path, "all is safe"):
        raise error
    reason = "the disk is full (disk I/O error)" if raised.type is NoRoom else "disk I/O error"
    assert str(raised.value) == f"{path}: {reason}; all is safe"
    return raised.type


def test_a_full_disk_is_distinguished_from_other_errors(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    assert kind_of(complaint(sqlite3.SQLITE_FULL), path) is NoRoom
    assert kind_of(complaint(sqlite3.SQLITE_CORRUPT), path) is DamagedStore
    assert kind_of(complaint(IOERR_SHMSIZE), path) is StoreError
    assert kind_of(sqlite3.OperationalError("disk I/O error"), path) is StoreError
    assert list(tmp_path.iterdir()) == []


def test_damaged_derived_data_is_no_damage_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db-ranks"
    with pytest.raises(StoreError, match="rebuilt") as raised, translating_derived_errors(path):
        raise complaint(sqlite3.SQLITE_CORRUPT)
    assert raised.type is StoreError


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

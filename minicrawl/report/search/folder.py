"""The folder of an index: whose it is, whether it can be used, and who writes it.

Law: all of it is derived, so what cannot be used is deleted and made again, and never an obstacle.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from minicrawl.archive.reader import ArchiveReader
from minicrawl.errors import StoreError
from minicrawl.search import near_duplicates
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.notes import VERSION, Notes
from minicrawl.store import tables
from minicrawl.store.trouble import translating_sqlite_errors


def has_index(folder: Path) -> bool:
    """Whether there is an index."""
    return (folder / FOLDER / "meta.json").is_file()


def why_useless(folder: Path, connection: tables.Connection) -> str:
    """Why an index that is there cannot be used; empty if it can be, or if there is none."""
    if not has_index(folder):
        return ""
    try:
        with errors_of(folder), closing(Notes(folder)) as notes:
            version, store = notes.version, notes.store
        if version != VERSION:
            return f"version {version} is made again as version {VERSION}"
        if store != tables.birth(connection):
            return "it is of another store, and is made again"
        SearchIndex(folder / FOLDER)
    except StoreError as error:
        return f"it is damaged and is made again ({error})"
    return ""


def why_pruned(folder: Path, archive: ArchiveReader) -> str:
    """The same of an archive from which answers were removed since: all others have moved."""
    if not has_index(folder):
        return ""
    with closing(Notes(folder)) as notes:
        is_behind = notes.watermark.place < archive.begin
    return "pages were removed from the archive, and it is made again" if is_behind else ""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process writes the index."""
    folder.mkdir(exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise StoreError(f"{folder} is being written by another process") from error
    finally:
        os.close(lock)


@contextmanager
def errors_of(folder: Path) -> Iterator[None]:
    """Say of an error which folder it is about."""
    with translating_sqlite_errors(folder, "delete it if need be: it can be made again"):
        yield


def clear(folder: Path) -> None:
    """Delete the index, and what was made with it."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    for file in (*folder.glob("notes.db*"), *folder.glob(f"{near_duplicates.FILE}*")):
        file.unlink()

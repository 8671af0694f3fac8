"""The folder of the search index of a store: the index, the notes, and a lock.

Law: one process writes it at a time. An index that cannot be used is made again, never mended.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from minicrawl.archive.reader import ArchiveReader
from minicrawl.errors import NoRoom, StoreError, UsageError
from minicrawl.report.snapshot import Snapshot
from minicrawl.search import near_duplicates
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.notes import VERSION, Notes
from minicrawl.store import tables
from minicrawl.store.trouble import translating_derived_errors


def has_index(folder: Path) -> bool:
    """Whether there is an index."""
    return (folder / FOLDER / "meta.json").is_file()


def why_useless(folder: Path, connection: tables.Connection) -> str:
    """Why an index that is there cannot be used; empty if it can be, or if there is none."""
    if not has_index(folder):
        return ""
    try:
        with folder_errors(folder), closing(Notes(folder)) as notes:
            version, store = notes.version, notes.store
        if version != VERSION:
            return f"version {version} is made again as version {VERSION}"
        if not tables.is_birth_of(store, tables.birth(connection)):
            return "it is of another store, and is made again"
        SearchIndex(folder / FOLDER)
    except NoRoom:
        return ""  # that nothing can be written says nothing of what is there
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


def refuse_if_lost(archive: ArchiveReader, folder: Path) -> None:
    """An index may be the last that is left of pages. Raises UsageError."""
    if lost := archive.segments.lost(archive.begin, archive.end):
        raise UsageError(
            f"{', '.join(lost)} of {archive.segments.folder} is gone, and the index still has "
            f"these pages: delete {folder} to make it of what is left"
        )


@contextmanager
def opened_index(folder: Path, seen: Snapshot) -> Iterator[tuple[SearchIndex, Notes]]:
    index = SearchIndex(folder / FOLDER)
    with closing(Notes(folder)) as notes:
        if notes.store != (birth := tables.birth(seen.connection)):
            notes.found(birth)
        index.write()
        with closing(index):
            yield index, notes


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except FileExistsError:
        raise StoreError(f"{folder} is where the index goes, and is no folder: move it") from None
    except OSError as error:
        raise UsageError(
            f"the index goes to {folder}, which cannot be written: {error.strerror}"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise StoreError(f"{folder} is being written by another process") from error
    finally:
        os.close(lock)


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    with translating_derived_errors(folder):
        yield


def clear_folder(folder: Path) -> None:
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    for file in (*folder.glob("notes.db*"), *folder.glob(f"{near_duplicates.FILE}*")):
        file.unlink()

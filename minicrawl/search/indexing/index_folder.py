"""Folder of a store's search index: the index, the notes and a lock.

Laws: one process writes it at a time. An unusable index is rebuilt, never repaired.
"""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.errors import NoRoom, StoreError, UsageError
from minicrawl.report.near_duplicates import NEAR_DUPLICATES_FILE
from minicrawl.report.progress.crawl_status import StoredPart
from minicrawl.report.snapshot import Snapshot
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.notes import VERSION, Notes
from minicrawl.store import questions, tables
from minicrawl.store.disk.files import bytes_of
from minicrawl.store.disk.trouble import translating_derived_errors
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.wording import counted


def has_index(folder: Path) -> bool:
    return (folder / FOLDER / "meta.json").is_file()


def why_useless(folder: Path, connection: tables.Connection) -> str:
    """Return why the existing index cannot be used, or ""."""
    if not has_index(folder):
        return ""
    try:
        with translating_derived_errors(folder), closing(Notes(folder)) as notes:
            version, store = notes.version, notes.store
        if version != VERSION:
            return f"it has version {version} instead of {VERSION}"
        if not tables.is_birth_of(store, tables.birth(connection)):
            return "it belongs to another store"
        SearchIndex(folder / FOLDER)
    except NoRoom:
        return ""  # a full disk says nothing about the existing index
    except StoreError as error:
        return f"it is damaged ({error})"
    return ""


def why_pruned(folder: Path, archive: ArchiveReader) -> str:
    """Return why the index must be rebuilt, or "". A pruning of the archive moves its records."""
    if not has_index(folder):
        return ""
    with closing(Notes(folder)) as notes:
        is_behind = notes.watermark.place < archive.begin
    return "pages were removed from the archive" if is_behind else ""


class Completeness(NamedTuple):
    """Share of a store's pages that the search can find."""

    pages: int
    """Number of pages in the index with their text and all texts of links to them."""
    of: int
    """Number of pages that will be in the index."""

    def __str__(self) -> str:
        return f"indexed {self.pages:,} of {counted(self.of, 'page')}"


def lack_of(store: Path) -> Completeness | None:
    """Return how far the index of a store is, or None if it is complete, or the store is gone."""
    folder = search_folder(store)
    if not (store.is_file() and has_index(folder)):
        return None
    with (
        reading(store) as connection,
        translating_derived_errors(folder),
        closing(Notes(folder)) as notes,
    ):
        place, end = notes.watermark.place, tables.archive_end(connection) or 0
        stale, by_links = notes.stale_counts()
        if place >= end and not (stale or by_links):
            return None
        waiting, archived = 0, archive_folder(store)
        if archived.is_dir() and place < end:
            with closing(ArchiveReader(archived, end)) as archive:
                rows = archive.index.between(place, end)
                waiting = len({row.key for row in rows if row.kind in WITH_PAGES})
        # Not the signatures in the notes: pages with few words have none.
        known = questions.documents_stored(connection)[0]
        of_all = known + max(by_links - waiting, 0)
        return Completeness(max(of_all - waiting - stale - max(by_links - waiting, 0), 0), of_all)


def refuse_if_lost(archive: ArchiveReader, folder: Path) -> None:
    """Raise UsageError if archive segments are lost: the index may be the last copy."""
    if lost := archive.segments.lost(archive.begin, archive.end):
        raise UsageError(
            f"{', '.join(lost)} of {archive.segments.folder} is gone, and the index still has "
            f"these pages: delete {folder} to index only what is left"
        )


@contextmanager
def opened_index(folder: Path, view: Snapshot) -> Iterator[tuple[SearchIndex, Notes]]:
    index = SearchIndex(folder / FOLDER)
    with closing(Notes(folder)) as notes:
        if notes.store != (birth := tables.birth(view.connection)):
            notes.record_store(birth)
        index.write()
        with closing(index):
            yield index, notes


_MOMENT_S = 1.0


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from writing the index in this folder, made if it is missing."""
    try:
        folder.mkdir(exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except FileExistsError:
        raise StoreError(f"the index goes to {folder}, which is not a folder: move it") from None
    except OSError as error:
        raise UsageError(
            f"the index goes to {folder}, which cannot be written: {error.strerror}"
        ) from error
    until = time.monotonic() + _MOMENT_S  # the child of a killed process may have it until then
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    why = f"{folder} is being written by another process"
                    raise StoreError(why) from None
            time.sleep(0.01)
        yield
    finally:
        os.close(lock)


def clear_folder(folder: Path) -> None:
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    for file in (*folder.glob("notes.db*"), *folder.glob(f"{NEAR_DUPLICATES_FILE}*")):
        file.unlink()


WITH_PAGES = (RecordKind.PAGE, RecordKind.TEXT, RecordKind.REVISIT, RecordKind.RENDERED)


def stored_parts(store: Path) -> Iterator[StoredPart]:
    folder = search_folder(store)
    if not has_index(folder):
        return
    index = folder / FOLDER
    yield StoredPart("index", _pages_of(index / "meta.json"), "pages", bytes_of(index))
    with translating_derived_errors(folder), closing(Notes(folder)) as notes:
        texts, size = notes.anchors_stored()
        yield StoredPart("anchors", texts, "texts", size)


def _pages_of(meta: Path) -> int:
    """Return the number of pages in the index segments, without deleted ones."""
    try:
        segments = json.loads(meta.read_bytes())["segments"]
        deleted = (
            (segment.get("deletes") or {}).get("num_deleted_docs", 0) for segment in segments
        )
        return int(sum(segment["max_doc"] for segment in segments) - sum(deleted))
    except (ValueError, KeyError, TypeError):
        return 0  # the index is damaged: the next search reports and rebuilds it

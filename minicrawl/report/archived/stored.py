"""What a store has stored, part by part: `status --stored`.

Law: this counts what is there, and so takes longer the more it is. A part that the store does not
have has no row.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.reader import ArchiveReader
from minicrawl.report.status import status
from minicrawl.store import questions, tables
from minicrawl.store.beside.files import bytes_of
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.written_links import WrittenLinks, written_bytes


class StoredPart(NamedTuple):
    """A part: how many of what, and their bytes; None where that cannot be told."""

    part: str
    number: int
    of: str
    bytes: int | None


def stored_parts(store: Path) -> list[StoredPart]:
    """All parts of a store, and what lies beside it."""
    found = status(store)
    failures = [
        StoredPart(f"failed: {kind}", pages, "pages", None)
        for kind, pages in (found.failures or {}).items()
    ]
    fetched = StoredPart("fetched", found.requests or 0, "requests", found.bytes)
    with reading(store) as connection, reporting_damage(store):
        parts = [
            *_repository(store, connection),
            *_index(search_folder(store)),
            StoredPart("links", *_with_unit(questions.links_stored(connection), "links")),
            *_written(connection),
            StoredPart("documents", *_with_unit(questions.documents_stored(connection), "pages")),
        ]
    return [fetched, *parts, *failures]


def _with_unit(counted: tuple[int, int], unit: str) -> tuple[int, str, int]:
    number, size = counted
    return number, unit, size


def _repository(store: Path, connection: tables.Connection) -> Iterator[StoredPart]:
    end, folder = tables.archive_end(connection), archive_folder(store)
    if end is None or not folder.is_dir():
        return
    with closing(ArchiveReader(folder, end)) as archive:
        records = sum(one.records for one in archive.index.totals(end))
    yield StoredPart("repository", records, "answers", bytes_of(folder))


def _written(connection: tables.Connection) -> Iterator[StoredPart]:
    if found := WrittenLinks(connection):
        yield StoredPart("link texts", len(found), "pages", written_bytes(connection))


def _index(folder: Path) -> Iterator[StoredPart]:
    """The index and its anchors. That tantivy is installed is not needed."""
    index = folder / "index"
    if not (index / "meta.json").is_file():
        return
    yield StoredPart("index", _pages_of(index / "meta.json"), "pages", bytes_of(index))
    from minicrawl.report.search.index_folder import folder_errors
    from minicrawl.search.notes import Notes

    with folder_errors(folder), closing(Notes(folder)) as notes:
        yield StoredPart("anchors", *_with_unit(notes.anchors_stored(), "texts"))


def _pages_of(meta: Path) -> int:
    """What the segments of the index have, but for what was deleted since."""
    try:
        segments = json.loads(meta.read_bytes())["segments"]
        deleted = ((one.get("deletes") or {}).get("num_deleted_docs", 0) for one in segments)
        return int(sum(one["max_doc"] for one in segments) - sum(deleted))
    except (ValueError, KeyError, TypeError):
        return 0  # it is damaged, which the next search says, and mends

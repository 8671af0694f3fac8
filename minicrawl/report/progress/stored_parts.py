"""Contents of a store, part by part: `status --stored`.

Laws: everything is counted, so large stores take longer. Parts that the store does not have are
omitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from minicrawl import ext
from minicrawl.archive.reader import ArchiveReader
from minicrawl.report.progress.crawl_status import status
from minicrawl.store import questions, tables
from minicrawl.store.files import bytes_of
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.written_links import WrittenLinks, written_bytes


class StoredPart(NamedTuple):
    """Part of a store: number of items, their unit, and their bytes if known."""

    part: str
    number: int
    of: str
    bytes: int | None


def stored_parts(store: Path) -> list[StoredPart]:
    """Return all parts of a store and of the files beside it."""
    progress = status(store)
    failures = [
        StoredPart(f"failed: {kind}", pages, "pages", None)
        for kind, pages in (progress.failures or {}).items()
    ]
    fetched = StoredPart("fetched", progress.requests or 0, "requests", progress.bytes)
    with reading(store) as connection, reporting_damage(store):
        parts = [
            *_repository(store, connection),
            # of packages, such as the search index
            *chain.from_iterable(stored(store) for stored in ext.loaded(ext.STORED)),
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
        records = sum(records for _, records, _ in archive.index.totals(end))
    yield StoredPart("repository", records, "answers", bytes_of(folder))


def _written(connection: tables.Connection) -> Iterator[StoredPart]:
    if links := WrittenLinks(connection):
        yield StoredPart("link texts", len(links), "pages", written_bytes(connection))

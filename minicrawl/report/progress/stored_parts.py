"""Contents of a store, part by part: `status --stored`.

Laws: everything is counted, so large stores take longer. Parts that the store does not have are
omitted.
"""

from __future__ import annotations

from contextlib import closing
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
    progress, folder = status(store), archive_folder(store)
    parts = [StoredPart("fetched", progress.requests or 0, "requests", progress.bytes)]
    with reading(store) as connection, reporting_damage(store):
        end = tables.archive_end(connection)
        if end is not None and folder.is_dir():
            with closing(ArchiveReader(folder, end)) as archive:
                records = sum(records for _, records, _ in archive.index.totals(end))
            parts.append(StoredPart("repository", records, "answers", bytes_of(folder)))
        series = tables.counters(connection).get(tables.WARC)
        if isinstance(series, dict) and (bodies := series.get("bodies")):
            saved_bytes = series.get("saved_bytes")
            parts.append(StoredPart("saved in WARC files", bodies, "bodies", saved_bytes))
        for stored in ext.loaded(ext.STORED):  # of packages, such as the search index
            parts += stored(store)
        number, size = questions.links_stored(connection)
        parts.append(StoredPart("links", number, "links", size))
        if links := WrittenLinks(connection):
            parts.append(StoredPart("link texts", len(links), "pages", written_bytes(connection)))
        number, size = questions.documents_stored(connection)
        parts.append(StoredPart("documents", number, "pages", size))
    failures = (progress.failures or {}).items()
    return parts + [StoredPart(f"failed: {kind}", pages, "pages", None) for kind, pages in failures]

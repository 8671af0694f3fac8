"""Sizes of what the search keeps beside a store, for `archive info`. Does not need Tantivy."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from minicrawl.report.crawl_status import StoredPart
from minicrawl.search.indexing import folder_errors
from minicrawl.search.notes import Notes
from minicrawl.store.files import bytes_of
from minicrawl.store.reader import search_folder


def stored_parts(store: Path) -> Iterator[StoredPart]:
    """Yield the index and its anchors."""
    folder = search_folder(store)
    index = folder / "index"
    if not (index / "meta.json").is_file():
        return
    yield StoredPart("index", _pages_of(index / "meta.json"), "pages", bytes_of(index))
    with folder_errors(folder), closing(Notes(folder)) as notes:
        texts, size = notes.anchors_stored()
        yield StoredPart("anchors", texts, "texts", size)


def _pages_of(meta: Path) -> int:
    """Return the number of pages in the index segments, without deleted ones."""
    try:
        segments = json.loads(meta.read_bytes())["segments"]
        deleted = ((one.get("deletes") or {}).get("num_deleted_docs", 0) for one in segments)
        return int(sum(one["max_doc"] for one in segments) - sum(deleted))
    except (ValueError, KeyError, TypeError):
        return 0  # damaged: the next search reports and rebuilds it

"""Removal of the URLs and texts of pages that were taken down."""

from collections.abc import Mapping

from minicrawl.store.trouble import translating_sqlite_errors
from minicrawl.store.writer import StoreWriter
from minicrawl.store.written_links import blank_written
from minicrawl.web.takedowns import Takedowns
from minicrawl.web.urls import split


def blank(store: StoreWriter, pages: Mapping[int, str], gone: Takedowns) -> None:
    """Remove URLs and texts of these pages from the store, also from its free space and its log.

    Their steps stay: they say where cash is.
    """
    ids = [(page,) for page in pages]
    with store.transaction():
        change = store.connection.executemany
        paths = [(split(gone.conceal(url))[1], page) for page, url in pages.items()]
        change("UPDATE urls SET path = ? WHERE id = ?", paths)
        change("DELETE FROM originals WHERE page = ?", ids)
        change("DELETE FROM own_requests WHERE page = ?", ids)
        change("UPDATE fetches SET detail = '' WHERE page = ?", ids)
        nothing = "title = '', etag = NULL, last_modified = NULL"
        change(f"UPDATE documents SET {nothing} WHERE page = ?", ids)
        blank_written(store.connection, pages)
    store.compact()
    with translating_sqlite_errors(store.path):
        store.connection.execute("VACUUM")  # pages of the file that were split have old rows, too
    store.compact()
